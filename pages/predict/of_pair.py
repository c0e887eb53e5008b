"""How well captions fit an image or a sound: bars, their arithmetic, and the words of one over the image."""

import dataclasses

import numpy as np
import streamlit as st

from encoder import figures
from encoder.documents import tables
from encoder.figures.colours import signed_lut
from encoder.figures.numbers import three_digits
from encoder.inputs.sound_files import wav_bytes
from encoder.measure import patches
from encoder.run import code
from pages.components import on_click, plot
from pages.core.inputs import edited
from pages.core.stores import model_store
from pages.core.view import View
from pages.core.widgets import Export, answer, origin, over_image, title
from pages.core.words import about, gestures, opening, plain
from pages.predict import captions, of_page, zero_shot
from pages.predict.pair import Pair, of
from pages.predict.params import SCALES, CaptionParams
from pages.state import links, state

ROW, AROUND = 26, 60
#: Tokens that are offered as buttons.
MOST_BUTTONS = 16


def show(view: View) -> None:
    """The page with this task: the captions, their bars, the words over the image, and zero-shot classification."""
    model = model_store.joint(view.model)
    if model is not None and model.compares == "MaxSim":
        of_page.show(view, model)
        return
    edited.mark(view)
    if model is not None:
        captions.fit(model)
    opening(f"Which caption fits the {view.loaded.takes} best?")
    with answer.area():
        line = st.container()
        with st.container(key="pair-page"), st.container(key="pair-body"):
            image_side, text_side = st.container(key="pair-left"), st.container(key="pair-right")
    pair = of(view)
    with text_side:
        captions.controls(pair.model)
        captions.note_unknown(pair.model, pair.texts)
        draw_bars(pair)
    with line:  # the selected caption may be changed by the controls
        draw_answer(pair)
    with image_side:
        if pair.of_sound:
            st.audio(wav_bytes(view.given), format="audio/wav")
            links.link("heads", "What each part of the sound attends to", "graphic_eq")
        else:
            draw_words(pair)
            limits_of_words(pair)
    arithmetic(pair)
    zero_shot.images_and_captions(pair)
    zero_shot.templates(pair)
    exported(pair).draw()


def exported(pair: Pair) -> Export:
    """The captions with their numbers, and the lines that give the numbers of the bars from the run of the image."""
    found = pair.scores
    whole = dataclasses.replace(origin(pair.view.model)[0], tower="", norm="trained")
    return Export(
        pair.view,
        title(pair.view, "Captions"),
        lambda: tables.captions_frame(pair.texts, found),
        figures=lambda: {"Captions": figures.caption_bars(pair.texts, found.probabilities[0].numpy())},
        lines="from encoder.measure import pair_scores\n"
        f"{code.model_lines(whole, 'pair')}\n"
        f"texts = {list(pair.texts)!r}\n"
        "vectors = pair.other_vector(trace)[None], pair.embed_texts(texts)\n"
        f"found = pair_scores.scores(pair, *vectors, times={pair.times:g})\n"
        "found.cosines, found.logits, found.probabilities",
        settings={"Scale": f"{found.scale:.4g}", "Bias": f"{found.bias:.4g}", "Probabilities": pair.model.compares},
    )


def draw_answer(pair: Pair) -> None:
    """The line of the selected caption, of the one that fits best where none is."""
    found, at = pair.scores, pair.chosen
    picked = state.newest(CaptionParams.caption) is not None
    answer.draw(
        f"**{plain(pair.texts[at]) or '(empty)'}**: {answer.weight(found.probabilities[0], at)}, cosine "
        f"{three_digits(float(found.cosines[0, at]))}.",
        clear=(lambda: captions.select(None)) if picked else None,
    )


def draw_bars(pair: Pair) -> None:
    """The probability of each caption."""
    probabilities, at = pair.scores.probabilities[0], pair.chosen
    plot(
        figures.caption_bars(pair.texts, probabilities.numpy(), marked=pair.texts[at]),
        key="caption-bars",
        alt=f"Probability of each of {len(pair.texts)} captions. Highest: {pair.texts[int(probabilities.argmax())]}.",
        height=AROUND + ROW * len(pair.texts),
        on_event=on_click(
            point=lambda event: _select(pair, event["point"]),
            row=lambda i: _select(pair, i),
            clear=lambda: captions.select(None),
        ),
    )
    how = gestures.invitation(f"{gestures.CLICK} a bar to select its caption.")
    gestures.caption(f"{about.text(__file__, pair.model.compares)} {how}")


def _select(pair: Pair, place: int) -> None:
    captions.select(place if place < len(pair.texts) else None)


def arithmetic(pair: Pair) -> None:
    """From the cosine of the selected caption to its probability, with a scale to change."""
    trained, found, at = pair.model.scale, pair.scores, pair.chosen
    st.header("From cosine to probability", anchor=False)
    left, right = st.columns([2, 3], gap="large", vertical_alignment="center")
    with left:
        names = {times: three_digits(trained * float(times)) for times in SCALES}
        names["1"] += " (trained)"
        state.bound(
            st.select_slider,
            CaptionParams.scale,
            "Scale (1 / temperature)",
            list(SCALES),
            format_func=names.get,
            help="The model learned one scale. A larger one makes the probabilities more extreme; the order stays.",
        )
    cosine, logit, probability = (float(values[0, at]) for values in (found.cosines, found.logits, found.probabilities))
    with right:
        st.markdown(
            f"logit = scale × cosine + bias = {three_digits(found.scale)} × {three_digits(cosine)} + "
            f"{three_digits(found.bias)} = **{three_digits(logit)}**  \n{_last_step(pair, logit, probability)}"
        )


def _last_step(pair: Pair, logit: float, probability: float) -> str:
    if pair.model.compares == "sigmoid":
        return f"probability = 1 / (1 + exp(−logit)) = **{three_digits(probability)}**"
    others = float(pair.scores.logits[0].max())
    total = float((pair.scores.logits[0] - others).exp().sum())
    return (
        f"probability = exp(logit − largest) / sum of all = exp({three_digits(logit - others)}) / "
        f"{three_digits(total)} = **{three_digits(probability)}**"
    )


def draw_words(pair: Pair) -> None:
    """The image with the cosines of one token, and the tokens to choose from."""
    view, trace = pair.view, pair.caption.trace
    maps, token = pair.over_patches(), _token(pair)
    over_image.draw(
        view,
        maps[token],
        f"their cosine with {trace.labels[token]}",
        key="word-map",
        colorscale=signed_lut(),
        label=f"cosine with {trace.labels[token]}",
        opacity=state.newest(CaptionParams.opacity),
        top=float(np.abs(maps).max()),
        signed=True,
        size=300,
    )
    names = dict(enumerate(trace.labels))
    control = state.segmented if len(names) <= MOST_BUTTONS else state.selectbox
    control(CaptionParams.word, f"Word of the caption ({plain(trace.labels[-1])}: all of it)", names)
    state.bound(st.slider, CaptionParams.opacity, "Opacity", min_value=0.0, max_value=1.0, step=0.05, width=200)
    if trace.source is not None and trace.source.cut:
        st.caption(f"The model processes {trace.n_tokens} tokens: the end of this caption is cut.")


def _token(pair: Pair) -> int:
    """The selected token of the caption; at first the last one, whose vector is the caption's."""
    asked, last = state.newest(CaptionParams.word), pair.caption.trace.n_tokens - 1
    if not isinstance(asked, int) or asked > last:
        state.put(CaptionParams.word, last)
        return last
    return asked


def limits_of_words(pair: Pair) -> None:
    """What such a map can mean."""
    ends = plain(pair.caption.trace.labels[-1])
    special = plain(", ".join(patches.grid(pair.view.trace).before)) or "the pooled image"
    causal = "With a causal mask, a word’s vector also holds the words before it." * pair.model.text.config.causal
    st.caption(about.text(__file__, "Limits of a word over patches", special=special, ends=ends, causal=causal))
