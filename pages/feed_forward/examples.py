"""The words of WordNet's example sentences at which the selected neuron is most active."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from encoder import TextEncoder, explain, probe
from encoder.documents.document import Section
from encoder.figures.numbers import three_digits
from encoder.trace import gradual
from pages.base.work import long_work
from pages.core.stores import results
from pages.core.widgets import shaded
from pages.core.words import errors_said, plain
from pages.feed_forward.activations import Selected, above

#: Sentences that are run; the bundled sample has more, and these take a few seconds in a small model.
SENTENCES = 1_000


def draw(selected: Selected) -> Section | None:
    """The places, or the button that finds them. Returns the part of the report; None without places."""
    view, model = selected.view, selected.view.loaded
    if not isinstance(model, TextEncoder):
        return None
    texts = probe.examples()[:SENTENCES]

    def work() -> long_work.Work[explain.NeuronExamples]:
        parts = explain.iter_neuron_examples(model, texts, view.layer)
        return gradual.reported(parts, lambda done: (done, f"Sentences: {done * len(texts):,.0f} of {len(texts):,}"))

    with errors_said(st.info):
        found = results.of_work(
            "neuron-examples",
            (view.model, view.layer),
            work,
            label="Find its words",
            ask=f"**On which words is it most active?** {plain(model.name)} processes {len(texts):,} example "
            f"sentences, once for all neurons of layer {view.layer}.",
        )
        return None if found is None else _places(selected, found)
    return None


def _places(selected: Selected, found: explain.NeuronExamples) -> Section:
    neuron = selected.neuron
    places = found.of(neuron)
    st.markdown(_answer(found, neuron, lambda word: f"**{plain(word)}**"))
    strongest = max((abs(one.activation) for one in places), default=1.0)
    lines = [
        shaded.paragraph(three_digits(one.activation), one.text, [(one.start, one.end, one.activation)], strongest)
        for one in places
    ]
    st.html(f'<div class="enc-shaded">{"".join(lines)}</div>')
    often = (
        f"Active ({above(selected)}) at {found.share[neuron]:.1%} of the {len(found.words):,} words in "
        f"{len(found.texts):,} example sentences of WordNet 3.0, Princeton University."
        f"{' Your edits are left out.' if selected.view.run.edits else ''}"
    )
    st.caption(often)
    table = pd.DataFrame(
        [(one.activation, one.word, one.text) for one in places], columns=["activation", "word", "sentence"]
    )
    title = f"Words on which neuron {neuron} of layer {found.layer} is most active"
    return Section(title, sentences=(_answer(found, neuron, str), often), table=table)


def _answer(found: explain.NeuronExamples, neuron: int, shown: Callable[[str], str]) -> str:
    """The words, each with its number of places, and what they do not say. shown: a word as it is written."""
    often = {name: f"{share[neuron]:.0%}" for name, share in found.special.items()}
    special = [f"{shown(name)} ({share} of them)" for name, share in often.items() if share != "0%"]
    at_special = f"Active at special tokens: {', '.join(special)}." if special else ""
    if not (n_places := len(found.of(neuron))):
        return f"Active on none of the {len(found.words):,} words. {at_special}"
    words = ", ".join(shown(word) + (f" ({count})" if count > 1 else "") for word, count in found.named(neuron))
    return f"Most active on: {words}. A hint from {n_places} places, not a definition. {at_special}"


def lines(selected: Selected) -> str:
    """Python that finds the same places."""
    return (
        "\nfrom encoder import probe\n"
        f"examples = explain.neuron_examples(model, probe.examples()[:{SENTENCES}], {selected.view.layer})\n"
        f"places = examples.of({selected.neuron})"
    )
