"""Entities by labels in words: the spans of the sentence that GLiNER gives a label, and the scores of all spans."""

from dataclasses import replace
from functools import partial

import streamlit as st

from encoder import classify
from encoder.classify import SpanScores
from encoder.inputs.label_prompt import names
from pages.components.button import button
from pages.core.inputs import edited
from pages.core.view import View, ViewParams
from pages.core.widgets import Export, class_head, title
from pages.core.words import about, errors_said, number, opening, plain
from pages.predict.params import EntityParams
from pages.state import links, state

#: Rows of the table in sight, and their height.
ROWS, ROW = 10, 35


def show(view: View) -> None:
    """The labels, the sentence with its entities, and a table of all spans."""
    opening("Which words of the sentence fit the labels that you type?")
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    with left:
        state.bound(
            st.text_input,
            EntityParams.labels,
            "Labels, with commas between",
            help="A label may have several words, such as date of birth.",
        )
    with right:
        threshold = state.bound(
            st.slider,
            EntityParams.threshold,
            "Least score",
            min_value=0.0,
            max_value=1.0,
            step=0.05,
            help="A span with a score above this is an entity. Each score is a probability of its own.",
        )
    if view.pair:
        st.caption("GLiNER uses one sentence: the second one is left out here.")
    with errors_said(st.info, icon=":material/edit:"):
        sentence = _sentence(view)
        labelled = _labelled(view, sentence)
        edited.mark(labelled)
        found = labelled.derived("span scores", lambda trace: classify.span_scores(labelled.loaded, trace))
        prompt = view.loaded.tokenizer.label_prompt
        n_words = len(prompt.words(sentence[prompt.end(sentence) :]))
        cut = f"Used: the first {len(found.words):,} of {n_words:,} words." if len(found.words) < n_words else ""
        _draw(labelled, found, threshold, cut)


def _sentence(view: View) -> str:
    """The text, or the part of it in the sliding window."""
    source = view.trace.source
    if view.run.of_text.window is None or source is None:
        return view.text
    places = [place for place, special in zip(source.offsets, source.special, strict=True) if not special]
    return view.text[places[0][0] : places[-1][1]] if places else ""


def _labelled(view: View, sentence: str) -> View:
    """The view of a sentence after its labels, with the edits of the recipe."""
    labels = names(str(state.newest(EntityParams.labels)))
    text = classify.with_labels(view.loaded, labels, sentence)
    return edited.applied(replace(view, run=view.run.but(text=text, pair=None, window=None, stride=None)))


def _draw(view: View, found: SpanScores, threshold: float, cut: str) -> None:
    """cut: what of a long sentence is used, "" for all."""
    entities = found.entities(threshold)
    st.markdown(_said(found, entities, threshold))
    class_head.underline(found.text, entities, found.labels, found.start)
    if links.exists("heads"):
        label = "What the tokens attend to, with the labels"
        button(label, "grid_view", "entities:heads", partial(_open, found.text), type="tertiary")
    before = plain(found.text[: found.start].strip())
    st.caption(
        f"The labels are part of the input: {before} come first, so tokens of the sentence and of "
        f"the labels attend to each other. {cut}"
    )
    table = found.table(threshold).drop(columns=["start", "end"])
    st.markdown(f"All {len(table):,} spans, the largest score first")
    three = st.column_config.NumberColumn(format="%.3f")
    scores = {name: three for name in table.columns if name.startswith("score")}
    st.dataframe(table, hide_index=True, height=ROW * (1 + min(ROWS, len(table))) + 3, column_config=scores)
    about.expander(__file__, "How spans are scored", width=view.loaded.entity_head.config.max_width)
    exported(view, found, threshold).draw()


def _open(text: str) -> None:
    """Let “Heads” open with the sentence after its labels. For callbacks."""
    state.put_all({ViewParams.text: text, ViewParams.pair: ""})
    links.open_later("heads")


def _said(found: SpanScores, entities: tuple[classify.Entity, ...], threshold: float) -> str:
    """The number of entities, and the surest one."""
    if not found.spans:
        return "The sentence has no words: type some."
    if not entities:
        largest = number(float(found.scores.max()))
        return f"No span has a score above {number(threshold, 2)}. Largest score: {largest}."
    surest = max(entities, key=lambda one: one.probability)
    what = "1 entity" if len(entities) == 1 else f"{len(entities)} entities"
    return (
        f"{what}. Largest score: **{plain(found.text[surest.start : surest.end])}**, {plain(surest.label)}, "
        f"{number(surest.probability)}."
    )


def exported(view: View, found: SpanScores, threshold: float) -> Export:
    """All spans with their scores. The trace is that of the sentence with its labels."""
    return Export(
        view,
        title(view, "Entities"),
        lambda: found.table(threshold),
        lines=f"from encoder import classify\nclassify.span_scores(model, trace).table({threshold:g})",
        settings={"Labels": ", ".join(found.labels), "Least score": threshold},
        verb="classify",
    )
