"""The two inputs: their controls, offered pairs, and whether they align token by token."""

from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import Trace, causal, figures
from encoder.causal import Outcome, Where
from encoder.figures.layers import pair_labels
from pages.core.inputs import second_input
from pages.core.inputs.input_words import InputWords, words_of
from pages.core.stores import cache
from pages.core.view import View, ViewParams
from pages.core.widgets import outcomes
from pages.core.widgets.outcomes import OutcomeParams
from pages.core.words import plain
from pages.interventions import counterpart
from pages.interventions.params import WHERE, Params
from pages.state import state


@dataclass(frozen=True)
class Example:
    """A pair that aligns in BERT's vocabulary. word, minus: of the masked word, for models that predict it."""

    text: str
    other: str
    word: str = ""
    minus: str = ""


EXAMPLES = {
    "“it”: the animal or the street?": Example(
        "The animal didn't cross the street because it was too tired.",
        "The animal didn't cross the street because it was too wide.",
    ),
    "A pronoun: he or she": Example("The nurse said that he was late.", "The nurse said that she was late."),
    "Word order": Example("The dog bit the man.", "The man bit the dog."),
    "A negation": Example("The food was very good.", "The food was not good."),
    "“bank”, two meanings": Example("The bank by the river was closed.", "The bank by the office was closed."),
}
#: For the twins, which predict a hidden word.
MASKED_EXAMPLES = {
    "A hidden “his” or “her”": Example("she raised [MASK] hand", "he raised [MASK] hand", "his", "her"),
    "A hidden “was” or “were”": Example("they [MASK] in the garden", "he [MASK] in the garden", "was", "were"),
}


@dataclass(frozen=True)
class Pair:
    """The run that is changed, the run that vectors come from, and the outcome by which they are compared."""

    plain: Trace
    source: Trace
    text: str
    other: str
    outcome: Outcome

    @property
    def words(self) -> InputWords:
        """What the input and its parts are called."""
        return words_of(self.plain)

    @property
    def named_outcome(self) -> Outcome | str:
        """The outcome in names of stored values, which must not keep a trace."""
        return "similarity" if isinstance(self.outcome, causal.Similarity) else self.outcome

    @property
    def differs(self) -> np.ndarray:
        """[T]: where the tokens of both inputs differ: the first layer carries the difference there by construction."""
        return causal.differing(self.plain, self.source)

    @property
    def labels(self) -> list[str]:
        """One name for each position: "he / she" where the tokens differ."""
        return pair_labels(self.plain.labels, self.source.labels)


def draw(view: View, outcome: Outcome, controls: DeltaGenerator) -> Pair | None:
    """Draw the controls; None, and a box that says what to do, where the inputs do not align."""
    with controls:
        where: Where = state.segmented(
            Params.where, "Replaced", WHERE,
            help="Residual stream: a token's whole vector before the layer. Attention's or the FFN's output: what the "
            "sublayer adds to it. Heads: what one head passes on, at all tokens.",
        )  # type: ignore[assignment]  # fmt: skip
    other = _other_sentence(view, controls) if view.loaded.takes == "text" else _other_input(view)
    if isinstance(outcome, causal.SentenceVector):
        outcome = causal.Similarity(other if view.loaded.takes == "text" else cache.trace(view.model, other))
    pair = Pair(
        cache.trace(view.model, view.text),
        cache.trace(view.model, other, request=causal.patch_request(where)),
        view.text,
        other,
        outcome,
    )
    return pair if _aligns(pair) else None


def _other_sentence(view: View, controls: DeltaGenerator) -> str:
    """The controls of the sentence that vectors come from, and that sentence."""
    offered = EXAMPLES | (MASKED_EXAMPLES if view.loaded.mlm_head is not None else {})
    controls.selectbox(
        "Example", list(offered), index=None, key="patching:example", placeholder="Try a pair",
        on_change=_use_example, width=240,
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if state.newest(Params.other).strip():
            other = state.bound(
                st.text_input, Params.other, "Take vectors from this sentence",
                help="Each vector of your sentence's run can be replaced by the vector of this sentence's run at the "
                "same layer and position. Empty: your sentence with one word replaced.",
            )  # fmt: skip
        else:
            pairs = {one.text: one.other for one in reversed(offered.values())}
            other = counterpart.draw(view, pairs.get(view.text))
    return other


def _other_input(view: View) -> str:
    """The same for images and sounds, which are chosen."""
    name = words_of(view.trace).input
    return second_input.choose(
        view, Params.other_input, f"Take vectors from this {name}",
        help=f"Your {name} is above the page. Each vector of its run can be replaced by the vector of this {name}'s "
        "run at the same layer and position.",
    )  # fmt: skip


def outcomes_of_pair(view: View) -> list[str]:
    """The kinds of outcome by which two inputs are compared."""
    head = view.loaded.classifier
    of_head = ["word"] * (view.loaded.mlm_head is not None)
    return ["sentence", "token", *of_head, *["class"] * (head is not None and head.config.reads_output)]


def unit(outcome: Outcome) -> str:
    """The name of the outcome's number on this page."""
    return "Cosine to the other vector" if isinstance(outcome, causal.Similarity) else outcomes.unit(outcome)


def forget_place() -> None:
    """Select no place. For callbacks."""
    state.put(Params.layer, None)
    state.put(Params.place, None)


def _use_example() -> None:
    chosen = (EXAMPLES | MASKED_EXAMPLES).get(st.session_state.get("patching:example"))
    if chosen is None:
        return
    state.put(ViewParams.text, chosen.text)
    state.put(ViewParams.pair, "")
    one_word = (
        len(chosen.text.split()) == len(chosen.other.split())
        and sum(ours != theirs for ours, theirs in zip(chosen.text.split(), chosen.other.split(), strict=True)) == 1
    )
    state.put(Params.other, "" if one_word else chosen.other)
    state.put(Params.word, None)
    state.put(Params.by, "")
    state.put(OutcomeParams.outcome, "word" if chosen.word else "sentence")
    if chosen.word:
        state.put(OutcomeParams.word, chosen.word)
        state.put(OutcomeParams.minus, chosen.minus)
    forget_place()


def _aligns(pair: Pair) -> bool:
    """Whether both inputs have the same number of tokens and differ; otherwise a box says what to do."""
    plain_labels, other_labels = pair.plain.labels, pair.source.labels
    if pair.plain.source is None:
        return _inputs_align(pair)
    if pair.plain.ids == pair.source.ids:
        said = "Both sentences are the same. Change a word of the other sentence, or choose a pair."
    elif len(plain_labels) != len(other_labels):
        said = (
            f"The sentences do not align: yours has {len(plain_labels)} tokens, the other {len(other_labels)}. A "
            "vector is replaced by the one at the same position. Change words until both have the same number "
            "of tokens, or choose a pair."
        )
    else:
        return True
    st.info(said, icon=":material/align_horizontal_left:")
    for name, labels in (("Yours", plain_labels), ("The other", other_labels)):
        st.caption(f"{name}: " + " · ".join(plain(figures.isolated(label)) for label in labels))
    if state.newest(Params.other):
        st.button(
            "Replace one word of my sentence", icon=":material/find_replace:", key="patching:one-word",
            on_click=state.put, args=(Params.other, ""),
        )  # fmt: skip
    return False


def _inputs_align(pair: Pair) -> bool:
    """The same for images and sounds. Sounds of some models have a token for each step of time."""
    n, theirs, name = pair.plain.n_tokens, pair.source.n_tokens, pair.words.input
    if n == theirs and pair.differs.any():
        return True
    said = (
        f"Both {pair.words.inputs} are the same: choose another {name}."
        if n == theirs
        else f"The {pair.words.inputs} do not align: yours has {n} tokens, the other {theirs}. Choose another {name}."
    )
    st.info(said, icon=":material/align_horizontal_left:")
    return False
