"""Images and captions as a map, templates and labels as another, and the errors on held-out digits."""

import streamlit as st

from encoder import Trace, figures
from encoder.inputs import spoken_digits
from encoder.inputs.captions import PLAIN_TEMPLATES, TEMPLATES, UNSEEN_TEMPLATES, WORDS, filled
from encoder.inputs.digits import encode
from encoder.measure import pair_scores
from encoder.measure.zero_shot import ZeroShot, held_out_vectors, of_held_out
from pages.components import on_click, plot
from pages.core.inputs import image_input
from pages.core.stores import cache
from pages.core.words import gestures, plain
from pages.predict import captions
from pages.predict.pair import Pair
from pages.predict.params import CELLS, CaptionParams
from pages.state import state

ROW, AROUND = 28, 130
OF_IMAGES = "No image was in training; all ten words were."
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
        values, list(pair.examples.values()), pair.texts, titles=(kind, "caption"), measure=cells,
        limits=(0.0, 1.0) if cells == "probability" else (float(values.min()), float(values.max())),
        colours=pair.view.colours, selected=(names.index(pair.view.text), pair.chosen),
    )  # fmt: skip
    plot(
        figure, key="pair-map",
        alt=f"{CELLS[cells]} of {len(names)} {kind}s, downwards, with {len(pair.texts)} captions, to the right.",
        on_event=on_click(cell=lambda i, j: _open(pair, names[i], j), row=lambda i: pair.source.choose(names[i]),
                          column=captions.select, clear=lambda: captions.select(None)),
    )  # fmt: skip
    by_row = "Each row sums to 1." if pair.model.compares == "softmax" else "Each cell is a probability of its own."
    said = by_row if cells == "probability" else "Rows and columns sum to nothing in particular."
    gestures.caption(f"{said} {gestures.CLICK} a cell to open its {kind} with its caption.")


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
        figures.pair_map(values, marked, labels, titles=("template", "label"), measure="probability",
                         colours=pair.view.colours, selected=(at, None)),
        key="template-map", height=AROUND + ROW * len(rows),
        alt=f"Probability of {len(labels)} labels, to the right, in {len(rows)} templates, downwards.",
        on_event=on_click(cell=lambda i, j: _open_label(rows[i], texts[i][j]),
                          row=lambda i: state.put(CaptionParams.template, rows[i])),
    )  # fmt: skip
    star = "A star marks templates that were in no training caption. " if pair.takes_digits else ""
    gestures.caption(
        f"No class has weights of its own: the captions of a row are the classes, and each row sums to 1. {star}"
        f"{gestures.CLICK} a cell to add its caption."
        if pair.model.compares == "softmax"
        else f"Each cell is a probability of its own. {gestures.CLICK} a cell to add its caption."
    )


def _open_label(template: str, text: str) -> None:
    state.put(CaptionParams.template, template)
    captions.open_text(text)


def held_out(pair: Pair) -> None:
    """What the selected template names wrongly among the held-out digits; only for the model of digits."""
    if not pair.takes_digits:
        return
    template = str(state.newest(CaptionParams.template))
    found = _held_out(pair, template)
    n, wrong = len(found.truth), int((found.said != found.truth).sum())
    st.header("Errors on held-out digits", anchor=False)
    st.markdown(
        f"Template “{plain(template.format(number='{}'))}”: {n - wrong} of {n} held-out digits are named rightly "
        f"({found.accuracy:.1%}), {wrong} are not. "
        + ("No voice was in training; all ten words were." if pair.of_sound else OF_IMAGES)
    )
    counts = found.counts.numpy()
    plot(
        figures.pair_map(counts, WORDS, WORDS, titles=("digit", "best caption"), measure=f"{pair.model.other.takes}s",
                         digits=0, limits=(0.0, float(counts.max())), colours=pair.view.colours),
        key="held-out-map", height=AROUND + ROW * len(WORDS),
        alt=f"Held-out digits, downwards, by the caption that fits best, to the right: {wrong} off the diagonal.",
        on_event=on_click(cell=lambda i, j: _open_held_out(found, template, i, j)) if not pair.of_sound else None,
    )  # fmt: skip
    if not pair.of_sound:
        gestures.caption(f"{gestures.CLICK} a number to open the first of its images with its caption.")


def _held_out(pair: Pair, template: str) -> ZeroShot:
    key = pair.view.model
    vectors = cache.computed(("held-out vectors", key), lambda: held_out_vectors(pair.model))
    return cache.computed(("held out", key, template), lambda: of_held_out(pair.model, template, vectors))


def _open_held_out(found: ZeroShot, template: str, digit: int, said: int) -> None:
    image = found.first(digit, said)
    if image is not None:
        image_input.IMAGES.choose(encode(image))
        captions.open_text(filled(template, WORDS[said]))
