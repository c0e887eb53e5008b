"""Feed-forward: the neurons of a layer, what the FFN adds beside attention, and what is lost without either."""

from __future__ import annotations

import streamlit as st

from encoder.errors import EncoderError, OutOfMemory
from pages.core import answer
from pages.core.frame import current_view, heading
from pages.core.glossary import opening
from pages.core.links import next_page
from pages.core.markdown import say_error
from pages.core.view import View
from pages.feed_forward import activations, neuron, updates
from pages.feed_forward.export import export_neurons


def main(view: View) -> None:
    heading()
    config = view.loaded.config
    opening(
        f"You see the {config.d_ffn:,} neurons of layer {view.layer}’s feed-forward network (FFN), for each token.  \n"
        "Look for neurons that are active at few tokens, and for layers where the FFN adds more than attention.  \n"
        "Attention moves information between tokens; the FFN transforms each token alone."
    )
    activations.controls()
    selected = activations.select(view)
    with answer.area():
        activations.draw(selected)
    neuron.draw(selected)
    drawn = updates.sizes(view, selected.token)
    try:
        lost = updates.left_out(view)
        if lost is not None:
            drawn["What is lost without attention, or without the FFN"] = lost[1]
    except OutOfMemory:
        raise
    except EncoderError as error:
        say_error(error, st.info, icon=":material/edit:")
    st.caption(
        "Limits: an activation’s size says little about its effect, which depends on the output vector and on later "
        "layers. A neuron can respond to several unrelated patterns."
    )
    export_neurons(selected, drawn)
    if view.loaded.takes == "text":
        next_page("masked_words", "Masked-word prediction, which word fits a blank")
    else:
        next_page("interventions", "Interventions, switch off a neuron and see what it causes")


main(current_view())
