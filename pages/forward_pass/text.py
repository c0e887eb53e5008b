"""Step 1: the words, their pieces, their ids; a padded batch."""

from __future__ import annotations

import streamlit as st

from encoder import explain
from encoder.figures.steps import padding_mask
from pages.components import plot
from pages.core import cache, formulas, selection, sidebar
from pages.core.view import View, state

#: The longest text, in tokens, that is run as a padded batch.
LONGEST_BATCH = 2_048


def show(view: View) -> None:
    """The table of tokens, the pieces of the selected one, the padded batch."""
    place = selection.selection(view)
    step = explain.text_to_ids(view.trace, place.query)
    st.markdown(
        "The sentence is cut into pieces that the vocabulary knows, and each piece becomes a number: its row "
        f"among {step.vocab_size:,}. `[CLS]` and its like are added by the tokenizer. From here on the model sees "
        "numbers only."
    )
    selection.place_bar(view, place, query="Token")
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _table(step)
    with right:
        formulas.show_step(step.formula)
        _check(view, step)
        _pieces(view, step.tokens[place.query])
    st.subheader("A batch needs padding", anchor=False)
    _padding(view)


def _table(step: explain.TextToIds) -> None:
    st.dataframe(
        {
            "position": [token.position for token in step.tokens],
            "characters": [token.characters for token in step.tokens],
            "token": [token.token for token in step.tokens],
            "id": [token.id for token in step.tokens],
            "word": ["" if token.word < 0 else str(token.word) for token in step.tokens],
            "segment": [token.segment for token in step.tokens],
            "kind": ["special" if token.special else "text" for token in step.tokens],
        },
        hide_index=True,
        width="stretch",
        height=min(520, 38 + 35 * len(step.tokens)),
        column_config={
            "position": "#",
            "characters": "In the text",
            "token": "Token",
            "id": st.column_config.NumberColumn("Id", format="%d"),
            "word": "Word",
            "segment": "Segment",
            "kind": "Kind",
        },
    )


def _check(view: View, step: explain.TextToIds) -> None:
    on = state.bound(
        st.toggle, "check", "Check this number", help="Looks every token up in the vocabulary and compares the ids."
    )
    if on:
        selection.show_checks(step.check(view.loaded.tokenizer))


def _pieces(view: View, token: explain.text.Token) -> None:
    """How WordPiece came to the pieces of the selected token's word."""
    source = view.trace.source
    if source is None or token.word < 0:
        return
    members = [place for place, word in enumerate(source.words) if word == token.word]
    start, end = source.offsets[members[0]][0], source.offsets[members[-1]][1]
    text = source.pair if source.segments[members[0]] == 1 and source.pair is not None else source.text
    attempts = explain.word_pieces(view.loaded.tokenizer, (text or "")[start:end])
    if not attempts:
        return
    st.markdown(
        "The longest beginning that the vocabulary has becomes a piece; then the same with the rest. "
        + ("This word is in the vocabulary as it is." if len(attempts) == 1 else f"{len(attempts)} tries:")
    )
    if len(attempts) > 1:
        tries = [
            f":gray-badge[{_plain(item.piece)}]"
            if item.id is None
            else f":green-badge[{_plain(item.piece)} = {item.id}]"
            for item in attempts[:40]
        ]
        st.markdown(" ".join(tries) + (" …" if len(attempts) > 40 else ""))


def _plain(piece: str) -> str:
    return sidebar.plain(piece)


def _proof(batch: explain.PaddedBatch) -> str:
    """What the padding of this batch changes, in words."""
    if batch.mask.all():
        return "These sentences are of one length: nothing had to be filled up. Type a shorter or a longer one."
    return (
        f"So padding changes nothing: between the batch and each sentence alone, no output number of a real token "
        f"differs by more than **{formulas.number(float(batch.difference.max()), 4)}**, which is rounding. With the "
        f"mask left out it is **{formulas.number(float(batch.unmasked.max()), 4)}**."
    )


def _padding(view: View) -> None:
    left, right = st.columns(2)
    with left:
        state.bound(st.text_input, "second", "Second sentence of the batch")
    with right:
        state.bound(st.text_input, "third", "Third sentence of the batch")
    if view.trace.n_tokens > LONGEST_BATCH:
        st.info(
            f"This text is {view.trace.n_tokens:,} tokens; a batch runs three times at the length of its "
            f"longest sentence and is offered up to {LONGEST_BATCH:,}. Take a shorter text."
        )
        return
    texts = (view.text, *selection.second_texts())
    with st.spinner("Running the batch, each sentence alone, and the batch without its mask …", show_time=False):
        batch = cache.derived(
            view.model, view.text, None, ("padded", texts), lambda trace: explain.padded_batch(view.loaded, texts)
        )
    longest = batch.mask.shape[1]
    plot(
        padding_mask(batch.mask, batch.labels),
        key="padding",
        alt=f"The padding mask: {len(texts)} sentences, {longest} positions, real tokens filled, padding empty.",
        height=90 + 56 * len(texts),
    )
    st.markdown(
        f"A batch is a rectangle, so shorter sentences are filled up with {sidebar.plain(batch.pad)}. The mask keeps "
        "every real token from looking at padding: its scores there become −∞ and its weights 0. " + _proof(batch)
    )
    st.dataframe(
        {
            "sentence": [1 + index for index in range(len(texts))],
            "real": batch.mask.sum(axis=1),
            "padding": (~batch.mask).sum(axis=1),
            "leaked": [f"{value:g}" for value in batch.leaked],
            "difference": [f"{value:.1e}" for value in batch.difference],
            "unmasked": [f"{value:.3f}" for value in batch.unmasked],
        },
        hide_index=True,
        width="stretch",
        column_config={
            "sentence": "Sentence",
            "real": "Real tokens",
            "padding": "Padding",
            "leaked": st.column_config.TextColumn(
                "Largest weight on padding", help="Among all layers and heads, from any real token."
            ),
            "difference": st.column_config.TextColumn(
                "Difference to the sentence alone",
                help="The largest difference of any output number of a real token. What remains is rounding.",
            ),
            "unmasked": st.column_config.TextColumn(
                "The same without the mask", help="The batch run once more, with the padding taken for words."
            ),
        },
    )
