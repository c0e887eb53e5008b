"""Probes: at which layer can a linear classifier read a label off the vectors?"""

import numpy as np
import pandas as pd
import streamlit as st

from encoder.figures.probes import ProbeCurve, layer_names, probe_curves
from encoder.probe import MOST_TOKENS, Curve, Task
from pages.components import on_click, plot
from pages.components.events import PlotEvent
from pages.components.lazy import expander
from pages.core.frame.frame import heading, show
from pages.core.view import View
from pages.core.widgets import Export, answer, title
from pages.core.words import about, errors_said, number, opening, plain, table
from pages.probes import controls, head, work
from pages.probes.params import PREDICTED, VECTORS, VIEWS, Params
from pages.state import next_page, state

Curves = dict[tuple[work.Subject, str], Curve]


def main(view: View) -> None:
    with heading(about.text(__file__, "What a probe shows"), badge=False):
        controls.choose_task()
    opening(f"Which layer’s vectors tell {PREDICTED[state.get(Params.task)]}?")
    task = None
    with errors_said():
        controls.options()
        task = controls.task()
        if task is None:
            st.info("Choose a file to begin.", icon=":material/upload_file:")
        else:
            subjects = controls.subjects(view)
            views = state.get(Params.views)
            first = st.container()  # of the picture, before the button that trains
            found, origin = work.curves(subjects, task, views), ""
            if found is None and (found := work.recorded(view, task, views)):
                subjects = [next(iter(found))[0]]
                here = f"of {plain(view.loaded.name_and_norms)}" if view.loaded.trained_placement else "here"
                origin = f"**Recorded with {plain(subjects[0].name)}.** The button below trains the probes {here}. "
            if found:
                with first:
                    selected = picture(view, task, subjects, found, origin)
                below(view, task, found, selected)
            else:
                st.caption(_about(task))
    head.opened(view)
    next_page("texts", "Which of your texts do these vectors find?")


def _about(task: Task) -> str:
    """The size of the task in one line."""
    return (
        f"Texts: {len(task):,}. Classes: {len(task.classes)}. Accuracy of the largest class: {task.majority:.1%}. "
        "Each text is predicted by a probe that did not train on it (5 folds)."
    )


def picture(view: View, task: Task, subjects: list[work.Subject], found: Curves, origin: str) -> tuple[int, int]:
    """The answer and the curves; returns the selected curve and layer. origin: of recorded curves, in Markdown."""
    names = list(found)
    place, layer = _selected(names, found)
    named = len(subjects) > 1 or bool(origin or view.loaded.trained_placement)
    with answer.area():
        _answer(task, names[place], found[names[place]], layer, named=named)
        plot(
            probe_curves([_drawn(one, found[one], subjects) for one in names], task.majority, (place, layer)),
            key="probe-curves",
            alt="Accuracy of a linear probe over the layers, one curve for each vector, with one control task dotted.",
            height=380,
            on_event=on_click(point=lambda event: _select(event, names)),
        )
    st.caption(f"{origin}{about.text(__file__, 'How to read the curves')} {_about(task)}")
    return place, layer


def below(view: View, task: Task, found: Curves, selected: tuple[int, int]) -> None:
    """What was cut, what one can conclude, the selected probe and the exports."""
    names = list(found)
    place, layer = selected
    if cut := max(one.n_cut for one in found.values()):
        st.caption(f"Texts longer than {MOST_TOKENS} tokens: {cut:,}. The probes use their beginnings only.")
    about.expander(__file__, "What one can conclude, and what not")
    if (part := expander("Which pooling is best for this task?", "probes-poolings")) is not None:
        with part:
            _poolings(view, task, layer)
    if (part := expander("Use this probe as a classification head", "probes-head")) is not None:
        with part:
            subject, pooled = names[place]
            head.save(view, task, pooled, layer, subject)
    _export(view, task, found)


def _drawn(name: tuple[work.Subject, str], found: Curve, subjects: list[work.Subject]) -> ProbeCurve:
    subject, view = name
    label = VIEWS[view] if len(subjects) == 1 else f"{subject.name}, {VIEWS[view]}"
    low, high = found.interval.T
    return ProbeCurve(label, found.accuracy, low, high, found.control)


def _selected(names: list[tuple[work.Subject, str]], found: Curves) -> tuple[int, int]:
    """(curve, layer): what was clicked, or the best point of the reader's model."""
    wanted, layer = state.get(Params.view), state.get(Params.layer)
    own = [place for place, (subject, _) in enumerate(names) if subject == names[0][0]]
    if layer is None:
        place = max(own, key=lambda one: found[names[one]].accuracy.max())
        return place, found[names[place]].best
    place = next((one for one in own if names[one][1] == wanted), own[0])
    return place, min(layer, len(found[names[place]].accuracy) - 1)


def _select(event: PlotEvent, names: list[tuple[work.Subject, str]]) -> None:
    curve = event.get("trace", 0) % len(names)
    if event.get("trace", 0) < 2 * len(names) and names[curve][0] == names[0][0]:
        state.put(Params.view, names[curve][1])
        state.put(Params.layer, event.get("point"))


def _answer(task: Task, name: tuple[work.Subject, str], found: Curve, layer: int, *, named: bool) -> None:
    """The selected probe in numbers, and its easiest and hardest classes. named: whether to name its model, which may
    be another than the reader's."""
    subject, view = name
    score, control = found.scores[layer], found.control[layer]
    low, high = score.interval
    places = layer_names(len(found.scores) - 1)
    chosen = state.get(Params.layer) is not None
    place = f"**{places[layer]}**, from {VECTORS[view]}"
    said = f"**{plain(subject.name)}.** " if named else ""
    said += f"Selected: {place}" if chosen else f"Easiest to predict at the {place}"
    alike = [places[at] for at, one in enumerate(found.accuracy) if at != layer and low <= one <= high]
    also = f" Within this interval, too: {', '.join(alike)}." if alike and not chosen else ""
    first = f"{said}: **{score.accuracy:.1%}** right (95% interval: {low:.1%} to {high:.1%}).{also}"
    # Of the numbers on the screen, so that they add up.
    selectivity = round(100 * score.accuracy, 1) - round(100 * control, 1)
    against = f"Control task: {control:.1%}, so selectivity is {number(selectivity, 1)} points."
    targets = np.array([score.classes.index(label) for label in task.labels])
    recall = {label: float(score.right[targets == place].mean()) for place, label in enumerate(score.classes)}
    order = sorted(recall, key=lambda label: -recall[label])
    ends = order if len(order) <= 6 else [*order[:3], *order[-3:]]
    shown = [f"{plain(label)} {recall[label]:.0%}" for label in ends]
    if len(order) > 6:
        shown.insert(3, "…")
    answer.draw(
        first,
        f"{against} Right by class: {', '.join(shown)}.",
        clear=(lambda: state.put(Params.layer, None)) if chosen else None,
    )


def _poolings(view: View, task: Task, layer: int) -> None:
    """The accuracy of each pooling of the reader's model before the selected layer."""
    where = layer_names(view.loaded.config.n_layers)[min(layer, view.loaded.config.n_layers)]
    st.markdown(
        f"Vectors: {where}, {plain(view.loaded.name_and_norms)}. Attention pooling scores each token with one trained "
        "vector, and weights the tokens by the softmax of the scores."
    )
    found = work.poolings(view, task, min(layer, view.loaded.config.n_layers))
    if found is None:
        return
    names = {"cls": "[CLS]", "mean": "Mean", "max": "Maximum", "attention": "Attention pooling (trained)"}
    rows = []
    for pooled, score in sorted(found.items(), key=lambda item: -item[1].accuracy):
        low, high = score.interval
        rows.append((names[pooled], f"{score.accuracy:.1%}", f"{low:.1%} to {high:.1%}"))
    st.markdown(table(("Pooling", "accuracy", "95% interval"), rows))
    if task.spans is not None:
        st.caption("This task's label belongs to one word. A pooled vector does not say which word is meant.")


def _export(view: View, task: Task, found: Curves) -> None:
    """The numbers and the Python lines."""

    def frame() -> pd.DataFrame:
        of_each = {(subject.name, pooled): curve.table() for (subject, pooled), curve in found.items()}
        return pd.concat(of_each, names=["model", "vector"]).reset_index(level=[0, 1])

    named = state.get(Params.task)
    made = f"task = probe.bundled({named!r})"
    if named == "file":
        made = (
            "from pathlib import Path\ntask = probe.read_task(Path('your-file.csv').read_bytes(), 'your-file.csv').task"
        )
    Export(
        view,
        title(view, "Probes"),
        frame,
        figures=lambda: {
            "Accuracy by layer": probe_curves(
                [_drawn(one, found[one], list({subject: None for subject, _ in found})) for one in found], task.majority
            )
        },
        lines=(
            f"from encoder import probe\n{made}\nfeatures = probe.extract(model, task)\n"
            f"curve = probe.accuracy_by_layer(features, task, {next(iter(found))[1]!r})\n"
            "curve.accuracy, curve.interval, curve.control"
        ),
        settings={"Task": task.title, "Texts": len(task), "Classes": len(task.classes)},
    ).draw()


show(main)
