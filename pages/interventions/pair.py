"""The two inputs: their controls, pairs to try, the counterpart of a sentence, and whether both align by token."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from encoder import Trace, causal, figures
from encoder.checkpoints import BUNDLED
from encoder.figures.layers import pair_labels
from encoder.run import ModelSpec, Run, Text
from pages.components.button import button
from pages.core.inputs import second_input
from pages.core.inputs.input_words import InputWords, words_of
from pages.core.stores import cache, model_store
from pages.core.view import View, ViewParams, text_words
from pages.core.widgets import examples, outcomes
from pages.core.words import plain
from pages.interventions.params import Params
from pages.state import controlled, state

#: Words that are tried in place of one, and those that are offered. More words of a sentence than this are a list.
TRIED, OFFERED, MOST_BUTTONS = 60, 6, 40
#: A model that predicts words, where the reader's does not.
PREDICTS = next(name for name in BUNDLED if name.startswith("twin"))


@dataclass(frozen=True)
class Pair:
    """The run that is changed, the run that vectors come from, and the outcome by which they are compared."""

    plain: Trace
    source: Trace
    text: str
    other: str
    outcome: causal.Outcome

    @property
    def words(self) -> InputWords:
        """What the input and its parts are called."""
        return words_of(self.plain)

    @property
    def named_outcome(self) -> causal.Outcome | str:
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


def draw(view: View, outcome: causal.Outcome) -> Pair | None:
    """Draw the controls; None, and a box that says what to do, where the inputs do not align."""
    where: causal.Where = state.newest(Params.where)
    other = _other_sentence(view) if view.loaded.takes == "text" else _other_input(view)
    if isinstance(outcome, causal.SentenceVector):
        outcome = causal.Similarity(other if view.loaded.takes == "text" else view.about(other).trace)
    pair = Pair(
        view.about(view.run.input.name).trace,
        cache.trace(view.run.about(other), request=causal.patch_request(where)),
        view.run.input.name,
        other,
        outcome,
    )
    return pair if _aligns(pair) else None


def _other_sentence(view: View) -> str:
    """The controls of the sentence that vectors come from, and that sentence."""
    group = "pairs" if view.loaded.mlm_head is None else "masked"
    with st.container(key="controls-pair", horizontal=True, vertical_alignment="bottom"):
        if state.newest(Params.other).strip():
            other = state.bound(
                st.text_input,
                Params.other,
                "Take vectors from this sentence",
                help="Each vector of your sentence's run can be replaced by the vector of this sentence's run at the "
                "same layer and position. Empty: your sentence with one word replaced.",
            )
        else:
            known = {one["text"]: one["patch_with"] for one in examples.read(__file__, group).values()}
            other = choose_counterpart(view, known.get(view.run.input.name))
        examples.draw(__file__, group, "patching:example", then=_use_example, placeholder="Try a pair", width=170)
    return other


def _other_input(view: View) -> str:
    """The same for images and sounds, which are chosen."""
    name = words_of(view.trace).input
    return second_input.choose(
        view,
        Params.other_input,
        f"Take vectors from this {name}",
        help=f"Your {name} is above the page. Each vector of its run can be replaced by the vector of this {name}'s "
        "run at the same layer and position.",
    )


def outcomes_of_pair(view: View) -> list[str]:
    """The kinds of outcome by which two inputs are compared."""
    head = view.loaded.classifier
    of_head = ["word"] * (view.loaded.mlm_head is not None)
    return ["sentence", "token", *of_head, *["class"] * (head is not None and head.config.reads_output)]


def unit(view: View, outcome: causal.Outcome) -> str:
    """The name of the outcome's number on this page."""
    return "Cosine to the other vector" if isinstance(outcome, causal.Similarity) else outcomes.unit(view, outcome)


def forget_place() -> None:
    """Select no place. For callbacks."""
    state.put(Params.layer, None)
    state.put(Params.place, None)


def _use_example() -> None:
    """Of two sentences that differ in one word, show the word and what replaces it. For callbacks."""
    ours, other = state.get(ViewParams.text).split(), state.get(Params.other).split()
    if len(ours) == len(other) and sum(map(str.__ne__, ours, other)) == 1:
        state.put(Params.other, "")
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
        button(
            "Replace one word of my sentence", "find_replace", "patching:one-word", partial(state.put, Params.other, "")
        )
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


def choose_counterpart(view: View, known: str | None) -> str:
    """The controls, and the sentence. known: the counterpart of an offered pair, until the reader chooses a word."""
    words = text_words.words(view.trace)
    chosen, by = state.newest(Params.word), state.newest(Params.by).strip()
    if chosen is None and known is not None:
        number, other = _difference(words, view.text, known)
    elif chosen is not None and chosen < len(words):
        number, other = chosen, by or next(iter(offers(view, words[chosen])), "")
    else:
        tried = ((one, offers(view, words[one])) for one in text_words.by_meaning(words))
        number, found = next(((one, found) for one, found in tried if found), (None, []))
        other = by or (found[0] if found else "")
    few = len(words) <= MOST_BUTTONS
    controlled(
        st.pills if few else st.selectbox,
        "Replace one word",
        range(len(words)),
        key="patching:word",
        value=number,
        take=_choose,
        format_func=lambda one: words[one].text,
        **({"required": True, "width": "content"} if few else {}),
    )
    if number is None:
        return view.text
    word = words[number]
    offered = list(dict.fromkeys(filter(None, (other, *offers(view, word)))))
    controlled(
        st.selectbox,
        "by",
        offered,
        key="patching:by",
        value=other or None,
        take=partial(_replace_by, number),
        accept_new_options=True,
        width=160,
        placeholder="Type a word",
        help=f"The other word has as many tokens as “{word.text}”, so that the sentences align.",
    )
    return word.replaced_by(other, view.text) if other else view.text


def offers(view: View, word: text_words.Word) -> list[str]:
    """Words that a masked-word model expects in place of one, with as many tokens in the reader's model."""
    own = view.loaded.mlm_head is not None
    key = view.model if own else ModelSpec(PREDICTS, device=view.model.device, dtype=view.model.dtype)
    model, n_tokens = model_store.model(key), view.about(view.text).trace.n_tokens
    hidden = word.replaced_by(model.tokenizer.mask_token or "", view.text)

    def make(trace: Trace) -> list[str]:
        if trace.source is None or model.tokenizer.mask_token not in trace.tokens:  # cut from a long text
            return []
        starts = trace.source.offsets
        here = [one for one in model.predict_masked(trace, TRIED) if starts[one.position][0] == word.start]
        likely = (token.lstrip("Ġ▁") for one in here for token in one.tokens)
        cased = [one.capitalize() if word.text[:1].isupper() else one for one in likely if one.isalpha()]
        return [one for one in dict.fromkeys(cased) if one.lower() != word.text.lower() and aligned(one)][:OFFERED]

    def aligned(one: str) -> bool:
        return len(view.loaded.tokenize(word.replaced_by(one, view.text)).tokens) == n_tokens

    return cache.derived(Run(key, Text(hidden)), ("counterparts", view.model, word), make)  # type: ignore[no-any-return]


def _difference(words: list[text_words.Word], text: str, known: str) -> tuple[int | None, str]:
    """The word in which an offered pair differs, and what replaces it; None where more than one word does."""
    for number, word in enumerate(words):
        end = len(known) - (len(text) - word.end)
        if word.replaced_by(known[word.start : end], text) == known:
            return number, known[word.start : end]
    return None, ""


def _choose(number: int | None) -> None:
    state.put(Params.word, number)
    state.put(Params.by, "")


def _replace_by(number: int, by: str | None) -> None:
    state.put(Params.word, number)
    state.put(Params.by, by or "")
