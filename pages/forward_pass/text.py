"""Step 1: the words, their pieces, their ids; a padded batch."""

import streamlit as st

from encoder import explain
from encoder.explain.text import Token
from encoder.figures.steps import padding_mask
from encoder.measure.tokens import sentences
from pages.components import plot
from pages.components.lazy import expander
from pages.core.frame import sidebar
from pages.core.stores import cache
from pages.core.view import selection
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View, state
from pages.core.words import formulas
from pages.forward_pass.params import Params

#: The longest text, in tokens, for the padded batch.
LONGEST_BATCH = 2_048
#: Attempts of WordPiece that are listed.
SHOWN_ATTEMPTS = 40


def show(view: View, params: Params) -> None:
    """The table of tokens, the pieces of the selected word; the padded batch, in a closed part."""
    place = selection.selected_place(view)
    step = explain.text_to_ids(view.trace, place.query)
    st.markdown(
        "The tokenizer splits the sentence into words and parts of words from its vocabulary. The id of a token is its "
        f"row among {step.vocab_size:,} entries. The tokenizer also adds special tokens such as `[CLS]`. From here on "
        "the model computes with numbers only."
    )
    selection.place_bar(view, place, query="Token")
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _table(step)
    with right:
        formulas.show_step(step.formula)
        _check(view, step)
        _pieces(view, step.tokens[place.query])
    if part := expander("Padding in a batch", "padding"):
        with part:
            _padding(view)


def _table(step: explain.TextToIds) -> None:
    tokens = step.tokens
    st.dataframe(
        {
            "#": [token.position for token in tokens],
            "In the text": [token.characters for token in tokens],
            "Token": [token.token for token in tokens],
            "Id": [token.id for token in tokens],
            "Word": ["" if token.word < 0 else str(token.word) for token in tokens],
            "Segment": [token.segment for token in tokens],
            "Kind": ["special" if token.special else "text" for token in tokens],
        },
        hide_index=True,
        width="stretch",
        height=min(520, 38 + 35 * len(tokens)),
        column_config={"Id": st.column_config.NumberColumn(format="%d")},
    )


def _check(view: View, step: explain.TextToIds) -> None:
    on = state.bound(
        st.toggle, PlaceParams.check, "Check this number",
        help="Looks up every token in the vocabulary again and compares the ids.",
    )  # fmt: skip
    if on:
        selection.show_checks(step.check(view.loaded.tokenizer))


def _pieces(view: View, token: Token) -> None:
    """How WordPiece splits the word of the selected token."""
    source = view.trace.source
    if source is None or token.word < 0:
        return
    members = [place for place, word in enumerate(source.words) if word == token.word]
    start, end = source.offsets[members[0]][0], source.offsets[members[-1]][1]
    text = source.pair if sentences(view.trace)[members[0]] == 1 else source.text
    attempts = explain.word_pieces(view.loaded.tokenizer, (text or "")[start:end])
    if not attempts:
        return
    rule = "The longest prefix in the vocabulary becomes a token; the rest is split the same way. "
    if len(attempts) == 1:
        st.markdown(f"{rule}This word is in the vocabulary.")
        return
    st.markdown(f"{rule}{len(attempts)} attempts; green ones are in the vocabulary:")
    badges = []
    for attempt in attempts[:SHOWN_ATTEMPTS]:
        piece = sidebar.plain(attempt.piece)
        badges.append(f":gray-badge[{piece}]" if attempt.id is None else f":green-badge[{piece} = {attempt.id}]")
    if len(attempts) > SHOWN_ATTEMPTS:
        badges.append("…")
    st.markdown(" ".join(badges))


def _padding(view: View) -> None:
    left, right = st.columns(2)
    with left:
        state.bound(st.text_input, PlaceParams.second, "Second sentence of the batch")
    with right:
        state.bound(st.text_input, PlaceParams.third, "Third sentence of the batch")
    if view.trace.n_tokens > LONGEST_BATCH:
        st.info(
            f"This text has {view.trace.n_tokens:,} tokens; a batch is limited to {LONGEST_BATCH:,}. Use a shorter "
            "text."
        )
        return
    texts = (view.text, *selection.second_texts())
    with st.spinner("Running the batch, each sentence alone, and the batch without its mask …", show_time=False):
        batch = cache.derived(
            view.model, view.text, None, ("padded", texts), lambda trace: explain.padded_batch(view.loaded, texts)
        )
    plot(
        padding_mask(batch.mask, batch.labels),
        key="padding",
        alt=f"The padding mask: {len(texts)} sentences, {batch.mask.shape[1]} positions; real tokens are filled.",
        height=90 + 56 * len(texts),
    )
    st.markdown(
        f"A batch is a rectangle, so shorter sentences are filled with {sidebar.plain(batch.pad)}. The mask sets the "
        "score of every padding token to −∞, so no real token attends to padding. " + _effect(batch)
    )
    st.dataframe(
        {
            "Sentence": [1 + index for index in range(len(texts))],
            "Real tokens": batch.mask.sum(axis=1),
            "Padding": (~batch.mask).sum(axis=1),
            "Largest weight on padding": [f"{value:g}" for value in batch.leaked],
            "Difference to the sentence alone": [f"{value:.1e}" for value in batch.difference],
            "Difference without the mask": [f"{value:.3f}" for value in batch.unmasked],
        },
        hide_index=True,
        width="stretch",
        column_config={
            "Largest weight on padding": st.column_config.TextColumn(
                help="In all layers and heads, of any real token."
            ),
            "Difference to the sentence alone": st.column_config.TextColumn(
                help="Largest difference in the output of a real token. Rounding alone can cause a small difference."
            ),
            "Difference without the mask": st.column_config.TextColumn(
                help="The same batch, with padding treated as words."
            ),
        },
    )


def _effect(batch: explain.PaddedBatch) -> str:
    """The largest differences that padding makes, in words."""
    if batch.mask.all():
        return "These sentences have the same length, so none is padded. Type a shorter or a longer one."
    masked, unmasked = float(batch.difference.max()), float(batch.unmasked.max())
    return (
        f"Largest change of a real token's output in this batch: **{formulas.number(masked, 4)}** with the mask, "
        f"**{formulas.number(unmasked, 4)}** without it."
    )
