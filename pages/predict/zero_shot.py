"""Images and captions as a map, and templates and labels as another."""

import streamlit as st

from encoder import Trace, figures
from encoder.inputs import spoken_digits
from encoder.inputs.captions import PLAIN_TEMPLATES, TEMPLATES, UNSEEN_TEMPLATES, WORDS, filled
from encoder.measure import pair_scores
from pages.components import on_click, plot
from pages.core.words import gestures
from pages.predict import captions
from pages.predict.pair import Pair
from pages.predict.params import CELLS, CaptionParams
from pages.state import state

ROW, AROUND = 28, 130
PHOTO_LABELS = ("temple", "flower", "cat", "dog", "car", "person")
PHOTO_TEMPLATES = ("a photo of a {number}", "a {number}", "a painting of a {number}", "a small photo of a {number}")
#: Templates of the map: a few of those trained on, and all others.
SHOWN = ("a handwritten {number}", *TEMPLATES[:2], *PLAIN_TEMPLATES[:2], *UNSEEN_TEMPLATES)
SPOKEN = (*spoken_digits.TEMPLATES[6:8], *spoken_digits.TEMPLATES[:4], *spoken_digits.UNSEEN_TEMPLATES)
UNSEEN = {*UNSEEN_TEMPLATES, *spoken_digits.UNSEEN_TEMPLATES}


def images_and_captions(pair: Pair) -> None:
    """Every bundled image or sound with every caption; a cell opens that pair."""
    kind = pair.model.other.takes
    st.header(f"{kind.capitalize()}s and captions", anchor=False)
    cells = state.segmented(CaptionParams.cells, "Cells", CELLS, label_visibility="collapsed")
    found = pair_scores.scores(pair.model, pair.example_vectors(), pair.vectors(pair.texts), pair.times)
    values = (found.probabilities if cells == "probability" else found.cosines).numpy()
    names = list(pair.examples)
    figure = figures.pair_map(
        values,
        list(pair.examples.values()),
        pair.texts,
        titles=(kind, "caption"),
        measure=cells,
        limits=(0.0, 1.0) if cells == "probability" else (float(values.min()), float(values.max())),
        colours=pair.view.colours,
        selected=(names.index(pair.view.run.input.name), pair.chosen),
    )
    plot(
        figure,
        key="pair-map",
        alt=f"{CELLS[cells]} of {len(names)} {kind}s, downwards, with {len(pair.texts)} captions, to the right.",
        on_event=on_click(
            cell=lambda i, j: _open(pair, names[i], j),
            row=lambda i: pair.source.choose(names[i]),
            column=captions.select,
            clear=lambda: captions.select(None),
        ),
    )
    by_row = "Each row sums to 1." if pair.model.compares == "softmax" else "Each cell is a probability of its own."
    said = by_row if cells == "probability" else "Rows and columns sum to nothing in particular."
    gestures.caption(f"{said} {gestures.invitation(f'{gestures.CLICK} a cell to open its {kind} with its caption.')}")


def _open(pair: Pair, name: str, caption: int) -> None:
    pair.source.choose(name)
    captions.select(caption)


def templates(pair: Pair) -> None:
    """The same labels in different templates, for the image or sound above the page."""
    st.header("Zero-shot: the same labels in other words", anchor=False)
    rows, labels = (SHOWN, WORDS) if pair.takes_digits else (PHOTO_TEMPLATES, PHOTO_LABELS)
    rows = SPOKEN if pair.of_sound else rows
    if state.newest(CaptionParams.template) not in rows:
        state.put(CaptionParams.template, rows[0])
    at = rows.index(state.newest(CaptionParams.template))
    texts = [[filled(row, label) for label in labels] for row in rows]

    def make(trace: Trace) -> object:
        vectors = pair.vectors([text for row in texts for text in row]).view(len(rows), len(labels), -1)
        return pair_scores.by_template(pair.model, pair.model.other_vector(trace), vectors, pair.times).numpy()

    values = pair.view.derived(("templates", rows, pair.times), make)
    marked = [row.format(number="{}") + (" *" if row in UNSEEN else "") for row in rows]
    plot(
        figures.pair_map(
            values,
            marked,
            labels,
            titles=("template", "label"),
            measure="probability",
            colours=pair.view.colours,
            selected=(at, None),
        ),
        key="template-map",
        height=AROUND + ROW * len(rows),
        alt=f"Probability of {len(labels)} labels, to the right, in {len(rows)} templates, downwards.",
        on_event=on_click(
            cell=lambda i, j: _open_label(rows[i], texts[i][j]),
            row=lambda i: state.put(CaptionParams.template, rows[i]),
        ),
    )
    star = "A star marks templates that were in no training caption. " if pair.takes_digits else ""
    how = gestures.invitation(f"{gestures.CLICK} a cell to add its caption.")
    gestures.caption(
        f"No class has weights of its own: the captions of a row are the classes, and each row sums to 1. {star}{how}"
        if pair.model.compares == "softmax"
        else f"Each cell is a probability of its own. {how}"
    )


def _open_label(template: str, text: str) -> None:
    state.put(CaptionParams.template, template)
    captions.open_text(text)
