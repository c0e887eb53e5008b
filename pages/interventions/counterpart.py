"""The counterpart of the reader's sentence: one word is replaced by another with as many tokens."""

from functools import partial

import streamlit as st

from encoder import Trace
from encoder.load import BUNDLED
from pages.core.stores import cache, model_store
from pages.core.view import View, text_words
from pages.core.view.text_words import Word
from pages.interventions.params import Params
from pages.state import controlled, state

#: Words that are tried in place of one, and those that are offered. More words of a sentence than this are a list.
TRIED, OFFERED, MOST_BUTTONS = 60, 6, 40
#: A model that predicts words, where the reader's does not.
PREDICTS = next(name for name in BUNDLED if name.startswith("twin"))


def draw(view: View, known: str | None) -> str:
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
        st.pills if few else st.selectbox, "Replace one word of your sentence", range(len(words)), key="patching:word",
        value=number, take=_choose, format_func=lambda one: words[one].text,
        **({"required": True, "width": "content"} if few else {}),
    )  # fmt: skip
    if number is None:
        return view.text
    word = words[number]
    offered = list(dict.fromkeys(filter(None, (other, *offers(view, word)))))
    controlled(
        st.selectbox, f"by, with as many tokens as “{word.text}”", offered, key="patching:by", value=other or None,
        take=partial(_replace, number), accept_new_options=True, width=280, placeholder="Type a word",
    )  # fmt: skip
    return word.replaced_by(other, view.text) if other else view.text


def offers(view: View, word: Word) -> list[str]:
    """Words that a masked-word model expects in place of one, with as many tokens in the reader's model."""
    own = view.loaded.mlm_head is not None
    key = view.model.of_model if own else cache.ModelKey(PREDICTS, device=view.model.device, dtype=view.model.dtype)
    model, n_tokens = model_store.model(key), cache.trace(view.model, view.text).n_tokens
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

    return cache.derived(key, hidden, None, ("counterparts", view.model.of_model, word), make)  # type: ignore[no-any-return]


def _difference(words: list[Word], text: str, known: str) -> tuple[int | None, str]:
    """The word in which an offered pair differs, and what replaces it; None where more than one word does."""
    for number, word in enumerate(words):
        end = len(known) - (len(text) - word.end)
        if word.replaced_by(known[word.start : end], text) == known:
            return number, known[word.start : end]
    return None, ""


def _choose(number: int | None) -> None:
    state.put(Params.word, number)
    state.put(Params.by, "")


def _replace(number: int, by: str | None) -> None:
    state.put(Params.word, number)
    state.put(Params.by, by or "")
