"""The block from 2017 to today: what differs between models, as one diagram, one table, and runs with five seeds."""

import dataclasses
from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from encoder.figures import placements as drawn
from encoder.train import blocks
from encoder.train.tasks import make
from pages.components import plot
from pages.components.button import button
from pages.core.widgets import Export, adjust, answer
from pages.core.words import about, opening
from pages.state import controlled, state
from pages.training import runs
from pages.training.params import Params

#: Positions that act in the attention of each layer, and on what; others are added once to the input.
IN_ATTENTION = {
    "rotary": "rotary positions on Q and K",
    "ALiBi": "ALiBi on the scores",
    "bias by distance": "bias by distance on the scores",
}


def show() -> None:
    """The page with this part."""
    opening("What changed in the block since 2017?")
    usual = [next(iter(blocks.PRESETS)), list(blocks.PRESETS)[-1]]
    with adjust.drawer("history", "Models"):
        names = controlled(
            st.pills,
            "Models",
            list(blocks.PRESETS),
            key="history-models",
            value=state.newest(Params.history) or usual,
            take=partial(state.put, Params.history),
            selection_mode="multi",
            help="Each has the mechanisms of that model’s block, at the sizes of this page. Data, tokenizer and "
            "training are not the model’s.",
        )
    names = names or usual
    with answer.area():
        answer.draw(changed_in_words(names), tasks_in_words())
    for place, name in zip(st.columns(len(names)) if len(names) <= 4 else st.columns(4) * 2, names, strict=False):
        with place:
            st.html(f'<section class="enc-block"><h3>{name}</h3><ol>{boxes(blocks.PRESETS[name])}</ol></section>')
    st.caption(
        "One layer of each, from the bottom up. “+” adds to the residual stream. Dashed: added once, at the input."
    )
    most = runs.MOST_PRESETS
    which = f"the {len(names)} selected" if len(names) <= most else f"the first {most} selected"
    button(
        f"Train {which} with {blocks.SEEDS} seeds",
        "play_arrow",
        "train-history",
        partial(runs.train_presets, names[:most]),
        type="primary",
    )
    st.header("What differs", anchor=False)
    table = pd.DataFrame({name: preset.row | {"Source": preset.source} for name, preset in blocks.PRESETS.items()}).T
    st.dataframe(table.rename_axis("Model"))
    results()
    about.expander(__file__, "What this shows, and what it does not", ":material/help:")


#: From this mean held-out accuracy on, a model has learned a task.
LEARNED = 0.99


def changed_in_words(names: Sequence[str]) -> str:
    """What differs between the first and the last of these blocks; of one, between it and the first of all."""
    every = list(blocks.PRESETS)
    shown = sorted(names, key=every.index)
    old, new = (shown[0] if len(shown) > 1 else every[0]), shown[-1]
    before, after = blocks.PRESETS[old].row, blocks.PRESETS[new].row
    changed = "; ".join(
        f"{part if part.isupper() else part.lower()} {was} → **{after[part]}**"
        for part, was in before.items()
        if after[part] != was
    )
    if not changed:
        return f"**{old}** and **{new}** have the same block." if old != new else f"**{old}** is the first block."
    return f"From **{old}** to **{new}**: {changed}."


def tasks_in_words() -> str:
    """Which recorded blocks learn each task, and what those have that learn it."""
    said = []
    for task, rows in blocks.recorded().accuracy.items():
        means = {name: blocks.Interval.of(values).mean for name, values in rows.items()}
        solved = [name for name, mean in means.items() if mean >= LEARNED]
        title = f"Task “{make(task).title}”"
        if len(solved) == len(means):
            said.append(f"{title}: all {len(means)} blocks learn it.")
            continue
        kinds = [
            list(dict.fromkeys(blocks.PRESETS[name].choices[0] for name in names))
            for names in (solved, [name for name in means if name not in solved])
        ]
        have, lack = (" or ".join(one) for one in kinds)
        rest = [mean for mean in means.values() if mean < LEARNED]
        said.append(
            f"{title}: **{len(solved)} of {len(means)}** blocks learn it, those with {have} positions. "
            f"With {lack}: **{min(rest):.0%} to {max(rest):.0%}**."
        )
    return " ".join(said)


def boxes(preset: blocks.Preset) -> str:
    """The steps of one layer as list items, from the input up; before it the positions that are added to the input."""
    positions, placement, norm, ffn = preset.choices
    inside = IN_ATTENTION.get(positions)
    attention = ", ".join(("attention", *([inside] if inside else ()), *preset.attention))
    found = []
    for sublayer in (attention, f"FFN, {ffn}"):
        before = [norm] if placement != "post" else []
        after = {"post": ["add", norm], "pre": ["add"], "sandwich": [norm, "add"]}[placement]
        found += [*before, sublayer, *after]
    at_input = f"{positions} positions"
    items = found if inside or positions == "none" else [at_input, *found]
    kinds = {"add": "add", norm: "norm", at_input: "once"}
    return "".join(f'<li class="{kinds.get(item, "part")}">{"+" if item == "add" else item}</li>' for item in items)


def results() -> None:
    """The recorded accuracies of all presets, with their intervals, and the export."""
    recording = blocks.recorded()
    found = {
        make(task).title: {name: blocks.Interval.of(values) for name, values in rows.items()}
        for task, rows in recording.accuracy.items()
    }
    st.header("On two small tasks", anchor=False)
    figure = drawn.intervals(found, "held-out accuracy")
    plot(figure, key="block-results", height=380, alt="Held-out accuracy of each model on each task, with intervals.")
    base = blocks.BASE
    st.caption(
        f"Recorded {recording.made}: {blocks.SEEDS} seeds each, means and 95% intervals (Student’s t). {base.n_layers} "
        f"layers, {base.n_heads} heads, width {base.d_model}, {base.steps} steps. “{make('reverse').title}” needs each "
        f"token’s place; “{make('previous').title}” needs a distance of one. A causal block sees no later token."
    )
    rows = [
        {"task": task, "model": name, "accuracy": one.mean, "half interval": one.half, "seeds": one.n}
        for task, of_task in found.items()
        for name, one in of_task.items()
    ]
    Export(
        None,
        "The block from 2017 to today",
        lambda: pd.DataFrame(rows),
        figures=lambda: {"Accuracy": figure},
        program="from encoder.train import blocks\nfound = blocks.recorded().accuracy\n"
        "means = {task: {name: blocks.Interval.of(values).mean for name, values in rows.items()}\n"
        "         for task, rows in found.items()}\n",
        settings={name: value for name, value in dataclasses.asdict(base).items() if isinstance(value, int | float)},
    ).draw()
