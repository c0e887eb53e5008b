"""How well each caption fits the image: bars, and the arithmetic of the selected one."""

import streamlit as st

from encoder import figures
from encoder.figures.numbers import three_digits
from pages.components import on_click, plot
from pages.core.widgets import answer
from pages.core.words import about, gestures, plain
from pages.predict import captions
from pages.predict.pair import Pair
from pages.predict.params import SCALES, CaptionParams
from pages.state import state

ROW, AROUND = 26, 60


def draw(pair: Pair) -> None:
    """The line of the selected caption, the bars, the scale and the arithmetic."""
    found, at = pair.scores, pair.chosen
    probabilities = found.probabilities[0]
    picked = state.newest(CaptionParams.caption) is not None
    answer.draw(
        f"**{plain(pair.texts[at]) or '(empty)'}**: {answer.weight(probabilities, at)}.",
        f"Cosine {three_digits(float(found.cosines[0, at]))}. " + ("" if picked else "It fits best. Select another."),
        clear=(lambda: captions.select(None)) if picked else None,
    )
    plot(
        figures.caption_bars(pair.texts, probabilities.numpy(), marked=pair.texts[at]),
        key="caption-bars",
        alt=f"Probability of each of {len(pair.texts)} captions. Highest: {pair.texts[int(probabilities.argmax())]}.",
        height=AROUND + ROW * len(pair.texts),
        on_event=on_click(
            point=lambda event: _select(pair, event["point"]), row=lambda i: _select(pair, i),
            clear=lambda: captions.select(None),
        ),
    )  # fmt: skip
    gestures.caption(f"{about.text(__file__, pair.model.compares)} {gestures.CLICK} a bar to select its caption.")


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
            st.select_slider, CaptionParams.scale, "Scale (1 / temperature)", list(SCALES), format_func=names.get,
            help="The model learned one scale. A larger one makes the probabilities more extreme; the order stays.",
        )  # fmt: skip
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
