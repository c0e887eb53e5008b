"""The class that a classification head names, or the tag of each token; for an image, the patches that matter."""

import dataclasses

import pandas as pd
import streamlit as st

from encoder import classify, figures
from encoder.figures.numbers import in_words
from encoder.inputs.sound_files import wav_bytes
from encoder.measure import patches
from pages.components import plot
from pages.core.inputs import edited
from pages.core.view import View
from pages.core.widgets import Export, class_head, occlusion, over_image, title
from pages.core.words import errors_said, opening, plain
from pages.state import links

#: Classes with a bar, and the pixels of one.
SHOWN, ROW, AROUND = 12, 26, 60
PICTURE = {"size": 300, "on_event": None}


def show(view: View) -> None:
    """The classes of the input in this model, and what they depend on."""
    view = edited.applied(view)
    edited.mark(view)
    opening("Which class does the model name, and which part of the input does it depend on?")
    if view.loaded.takes == "text":
        class_head.draw(view)
        links.button(
            "contribution",
            "Which tokens raise a class?",
            "balance",
            "predict:class",
            {"beyond": "class"},
            type="tertiary",
        )
        if class_head.model_of(view).classifier is not None:
            exported(view, "").draw()
        return
    of_patches = patches.is_of_patches(view.trace)
    bars, *pictures = st.columns(3 if of_patches else 2, gap="medium")
    with bars:
        draw_bars(view)
    lines = ""
    if of_patches:
        with errors_said(st.info, icon=":material/info:"):
            lines = of_image(view, *pictures)
    else:
        with pictures[0]:
            st.audio(wav_bytes(view.given), format="audio/wav")
            links.button(
                "heads",
                "What does each part of the sound attend to?",
                "graphic_eq",
                "predict:heads",
                {"view": "text"},
                type="tertiary",
            )
    exported(view, lines).draw()


def draw_bars(view: View) -> None:
    """The most probable classes, each with its bar."""
    predicted = classify.predict(view.loaded, view.trace)
    found = dict(zip(predicted.labels, predicted.probabilities, strict=True))
    best = sorted(found, key=found.__getitem__, reverse=True)[:SHOWN]
    st.markdown(f"Class: **{plain(best[0])}**, probability {in_words(found[best[0]])}.")
    shown = [name for name in found if name in best]  # in the head's order, so that bars keep their places
    plot(
        figures.caption_bars(shown, [found[name] for name in shown], marked=best[0]),
        key="class-bars",
        height=AROUND + ROW * len(shown),
        mode_bar=False,
        alt=f"Probability of {len(shown)} classes. Highest: {best[0]}.",
    )
    if len(found) > SHOWN:
        st.caption(f"Shown: {SHOWN} of {len(found):,} classes.")


def of_image(view: View, left: st.delta_generator.DeltaGenerator, right: st.delta_generator.DeltaGenerator) -> str:
    """Attention next to occlusion, over the same image. Returns Python lines that give the falls."""
    whole = view.but(layer=view.loaded.config.n_layers - 1, query=None)  # all layers, of the first token
    with left:
        _, weights = over_image.weights_of(whole, "rollout")
        st.markdown(f"Attention rollout of {plain(view.trace.labels[0])}")
        over_image.draw_weights(whole, weights, "rollout", key="class-attention", **PICTURE)
    with right:
        above = st.container()
        covered = occlusion.controls(view)
        falls = covered.alone()
        if falls is None:
            return ""
        with above:
            st.markdown(f"Occlusion: fall of the {plain(covered.measured)}")
            over_image.draw_falls(whole, covered, falls, key="class-occlusion", **PICTURE)
    st.caption(
        occlusion.agreement(falls, weights.ravel(), "the rollout")
        + " Teal: covering this patch lowers the class. Orange: it raises it."
    )
    return covered.python_lines()


def exported(view: View, lines: str) -> Export:
    """The classes with their probabilities, or the tag of each token. lines: further lines of Python."""
    model = class_head.model_of(view)
    tags = model.classifier is not None and model.classifier.config.kind == "token"

    def frame() -> pd.DataFrame:
        if tags:
            return pd.DataFrame([dataclasses.asdict(one) for one in classify.tags(model, view.trace)])
        return classify.predict(model, view.trace).table()

    call = "tags" if tags else "predict"
    code = f"from encoder import classify\nfound = classify.{call}(model, trace)\n{lines}"
    return Export(view, title(view, "Classes"), frame, lines=code)
