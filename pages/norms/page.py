"""Norms: every token's mean and standard deviation at every LayerNorm, and one LayerNorm in detail."""

from collections.abc import Sequence

import streamlit as st

from encoder import figures
from encoder.documents import tables
from encoder.documents.document import Section
from encoder.measure import norms, patches
from encoder.model.layers import NORM_NAMES
from pages.core.frame.frame import heading, show
from pages.core.view import View
from pages.core.view.place import PlaceParams
from pages.core.widgets import Export, norm_parts, title
from pages.core.words import opening, plain
from pages.norms import patch_norms
from pages.norms.one_norm import gain_and_bias
from pages.norms.outliers import outlier_dimensions
from pages.norms.params import MOMENTS, PARTS, Params
from pages.norms.selected import Figures, Selected, choose_norm
from pages.norms.token_statistics import overview, three_norms
from pages.state import next_page, state

#: Part -> the question that its picture answers.
QUESTIONS = {
    "every": "What does each {norm} do to the vector of each token?",
    "one": "Which components does one {norm} scale or shift most?",
    "others": "Which components raise the standard deviation?",
}


def main(view: View) -> None:
    statistics = view.derived("norm statistics", norms.statistics)
    with heading():
        norm_parts.choose(state.params["sides"], norm_parts.NORMS)
    part = state.newest(Params.part)
    opening(QUESTIONS[part].format(norm=name_of(view)))
    picture = st.container(key="norms-picture", gap="xsmall")
    with picture, st.container(key="controls-part", horizontal=True):
        state.segmented(Params.part, "Part of the page", PARTS, label_visibility="collapsed")
        if part == "every":
            state.segmented(Params.moment, "Vectors", MOMENTS, label_visibility="collapsed")
    token = view.i if view.i is not None else min(1, view.trace.n_tokens - 1)
    norm = chosen_norm(view, statistics.names, statistics.widest_of(token))
    selected = Selected(view, statistics, norm, token, chosen_component(view, norm))
    with picture:
        shown = DRAW[part](selected)
    if part == "every":
        choose_norm(selected)
    exported(selected, shown).draw()
    st.caption(placement(selected))
    next_page("training", "From which step is the task solved?")


def name_of(view: View) -> str:
    """The name of the model's norms: LayerNorm, RMSNorm."""
    return NORM_NAMES[view.loaded.config.norm_kind]


def placement(selected: Selected) -> str:
    """Where the norms of this model are."""
    view = selected.view
    config, norm = view.loaded.config, name_of(view)
    place = f"**pre-norm**: {norm} precedes each sublayer, x ← x + f({norm}(x))"
    if config.norm_placement == "post":
        place = f"**post-norm**: {norm} follows each sum, x ← {norm}(x + f(x))"
    if config.conformer is not None:
        place += f"; one more {norm} closes each layer, x ← {norm}(x)"
    which = "This model is"
    if trained := view.loaded.trained_placement:
        which = f"It was trained with {trained}-norm; with the norms moved, it is"
    return (
        f"**{plain(view.loaded.name)}** has {len(selected.statistics.names)} {norm}s. Each gives every vector "
        f"{selected.effect}, then applies its {selected.origin} {selected.parameters}. {which} {place}."
    )


def others(selected: Selected) -> Figures:
    """What raises a standard deviation, and two other norms."""
    drawn = outlier_dimensions(selected) | three_norms(selected)
    if patches.is_of_patches(selected.trace):
        patch_norms.draw(selected.view)
    return drawn


#: Part -> what draws it. Only the open part is computed.
DRAW = {"every": overview, "one": gain_and_bias, "others": others}


#: Part -> Python that gives the numbers of its first lines.
LINES = {
    "every": (
        "found = norms.statistics(trace)",
        "before, after = found.before[{at}], found.after[{at}]  # [0]: means, [1]: standard deviations",
        'ends = {{place: (before[place], after[place]) for place in found.ends("{moment}", "{statistic}")}}',
        'at = found.names.index("{norm}"), {token}',
        "pair = before[at], after[at]",
    ),
    "one": ('found = norms.parameters(trace, "{norm}")',),
    "others": ('found = norms.outlier_dimensions(trace).at("{norm}")', "found.order[0], found.ratio[found.order[0]]"),
}


def exported(selected: Selected, shown: Figures) -> Export:
    """Mean and standard deviation of every token at every LayerNorm; in the report also one token at one."""
    view, trace, token = selected.view, selected.trace, selected.token
    statistic = state.newest(Params.statistic)

    def sections() -> list[Section]:
        step = selected.step
        parts = [Section(heading, figure=figure) for heading, figure in shown.items()]
        components = figures.token_steps(step.input, step.normalised, step.gain, step.bias, step.output, step.mean)
        parts.append(Section(f"Token {token} at {selected.label}, component by component", table=components))
        return [*parts, Section(f"Every token at every {selected.kind}", table=tables.norms_frame(trace))]

    return Export(
        view,
        title(view, selected.kind),
        lambda: tables.norms_frame(trace),
        sections=sections,
        settings={selected.kind: selected.label, "Token": f"{token}, {trace.labels[token]}"},
        lines="\n".join(["from encoder.measure import norms", *LINES[state.newest(Params.part)]]).format(
            norm=selected.norm,
            token=token,
            at=int(statistic == "std"),
            moment=state.newest(Params.moment),
            statistic=statistic,
        ),
    )


def chosen_norm(view: View, names: Sequence[str], usual: str) -> str:
    """The selected LayerNorm. usual: where none is selected."""
    norm, at = name_of(view), state.get(Params.at)
    if at not in names:
        if at:
            st.warning(f"No {norm} {plain(at[:60])} in this model. Shown: {figures.norm_label(usual)}.")
            state.put(Params.at, "")
        at = usual
    return at


def chosen_component(view: View, norm: str) -> int | None:
    """The selected component, if this LayerNorm has it."""
    component, width = state.get(PlaceParams.component), len(view.trace.norms[norm].gain)
    if component is None or component < width:
        return component
    st.warning(f"No component {component} at this LayerNorm: choose 0 to {width - 1}. None is selected.")
    state.put(PlaceParams.component, None)
    return None


show(main)
