"""One neuron: its activation at each token, the words of its output vector, and a way to switch it off."""

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from encoder import causal
from encoder.documents.document import Section
from encoder.edits import Zero
from encoder.explain.neurons import PromotedWords, promoted_words
from encoder.figures.token_bars import signed_token_bars
from pages.components import plot
from pages.core.inputs.edited import EditParams, Step
from pages.core.view import token_rows
from pages.core.words import number, plain, references, token_names
from pages.feed_forward import examples
from pages.feed_forward.activations import Selected
from pages.state import links, state

#: What the reading leaves out.
LIMITS = (
    "After Geva et al. 2021, who studied a decoder. It leaves out later layers, so it fits best in the last one. A "
    "negative activation favours the words under Down."
)


def draw(selected: Selected) -> tuple[dict[str, go.Figure], Section | None]:
    """The tokens that activate the selected neuron, its words, and the button.

    Returns the figure by its title, and the report's part about example sentences."""
    view = selected.view
    st.header(f"Neuron {selected.neuron} of layer {view.layer}", anchor=False)
    drawn = _tokens(selected)
    places = examples.draw(selected)
    _words(selected)
    button = "Switch this neuron off in Interventions"
    links.button("interventions", button, "tune", "neuron:off", switched_off(selected))
    return drawn, places


def switched_off(selected: Selected) -> dict[str, Any]:
    """The values of Interventions, whose recipe switches this neuron off after all other edits."""
    off = Zero("ffn.hidden", layer=selected.view.layer, components=(selected.neuron,))
    steps = tuple(step for step in state.get(EditParams.recipe) if step.edit != off)
    return {"intervention": "ablation", "edits": (*steps, Step(off))}


def _tokens(selected: Selected) -> dict[str, go.Figure]:
    """The neuron's activation at each token, as bars."""
    values, labels = selected.layer.hidden[:, selected.neuron], selected.view.trace.labels
    rows = token_rows.part(len(labels), selected.token, "neuron-tokens")
    figure = signed_token_bars(values[rows], labels, "activation", selected.token, first=rows.start)
    plot(
        figure,
        key="neuron-tokens",
        height=220,
        mode_bar=False,
        alt=f"The activation of neuron {selected.neuron} at each token.",
    )
    return {f"Neuron {selected.neuron} at each token": figure}


def _words(selected: Selected) -> None:
    view = selected.view
    if view.loaded.mlm_head is None and view.loaded.takes != "text":
        return
    if view.loaded.mlm_head is None:
        st.caption(
            f"{view.loaded.name} has no masked-word head. Choose a twin above to see which words a neuron’s "
            "output vector favours."
        )
        return
    found: PromotedWords = view.derived(
        ("promoted words", view.layer, selected.neuron),
        lambda trace: promoted_words(view.loaded, view.layer, selected.neuron, trace),
    )
    st.markdown("**Words that its output vector favours**: an interpretation, not an effect")
    st.markdown("\n".join(_listed(name, words) for name, words in (("Up", found.highest), ("Down", found.lowest))))
    mask = plain(view.loaded.tokenizer.mask_token or "a mask token")
    if found.position is None:
        references.caption(
            "The output vector through the linear part of the masked-word head (dense map, centring, gain), times each "
            f"word’s vector. {LIMITS} Type {mask} in the sentence for a reading at that place, with a test."
        )
        return
    references.caption(
        f"How the head’s scores at the first {mask} change when the output vector is added there, to first order. "
        f"{LIMITS}"
    )
    _tested(selected, found, found.position)


def _listed(name: str, words: tuple[tuple[int, str, float], ...]) -> str:
    return f"- {name}: " + ", ".join(f"{plain(word)} {number(score)}" for _, word, score in words)


def _tested(selected: Selected, found: PromotedWords, position: int) -> None:
    """What switching the neuron off at the first mask does to the words of the reading."""
    view = selected.view
    edit = Zero("ffn.hidden", layer=view.layer, positions=(position,), components=(selected.neuron,))
    edited = view.but(edits=(*view.run.edits, edit)).trace
    up, down = (
        causal.word_changes(view.loaded, view.trace, edited, position, [one for one, _, _ in words]).mean()
        for words in (found.highest, found.lowest)
    )
    activation = float(selected.layer.hidden[position, selected.neuron])
    st.markdown(
        f"Test: its activation at {token_names.bold(view.trace.labels, position)} is {number(activation)}. Without it "
        f"there, the mean log probability of the words under Up changes by **{number(float(up))}**, under Down by "
        f"**{number(float(down))}**."
    )
