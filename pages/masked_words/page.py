"""Masked-word prediction: the words that a model expects at each [MASK], for both twins side by side."""

from __future__ import annotations

import streamlit as st

from encoder.errors import EncoderError
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.figures.words import word_bars
from encoder.mlm import MaskedPrediction
from pages.core import cache, norm_pair, sidebar
from pages.core.frame import current_view, heading
from pages.core.links import next_page
from pages.core.markdown import plain
from pages.core.url_state import state
from pages.core.view import ViewParams
from pages.masked_words import prediction
from pages.masked_words.export import export_predictions
from pages.masked_words.params import LEAST_WORDS, MOST_WORDS, Params

#: More words than this are offered as a list, not as buttons. More masks than this are not drawn.
MOST_BUTTONS, MOST_MASKS = 40, 8

view = current_view()
model = view.loaded
params = state.read(Params)

#: Name of a model -> its prediction at one mask.
Predictions = dict[str, MaskedPrediction]


def main() -> None:
    heading()
    if model.mlm_head is None:
        no_head()
        return
    mask = model.tokenizer.mask_token or "[MASK]"
    st.markdown(
        f"You see the words that the model predicts at **{plain(mask)}**, with their probabilities.  \n"
        "Hide a word of your sentence, and look at its rank among all words of the vocabulary.  \n"
        "Encoders such as BERT learn by this task: predict hidden tokens from the tokens on both sides."
    )
    with st.expander("How training selects the tokens"):
        st.markdown(
            "BERT selects 15 % of the tokens for prediction. Of these, 80 % become [MASK], 10 % become a random token, "
            "and 10 % stay unchanged (Devlin et al. 2019). The twins follow this recipe. "
            "Other models differ: ModernBERT selects 30 % (Warner et al. 2024)."
        )
    choose_word(mask)
    try:
        keys = models()
        found = {name: prediction.predictions(key, view.text, view.pair, params.top) for name, key in keys.items()}
    except EncoderError as error:
        st.info(str(error), icon=":material/edit:")
        return
    show({name: cache.model(key).config.norm_placement for name, key in keys.items()}, found)
    export_predictions(view, state.get(Params.top))
    next_page("pre_post", "Pre-norm vs post-norm, how the twins differ inside")


def no_head() -> None:
    """Why the page cannot show a prediction, and what to do."""
    if view.model.scratch is not None:
        why = "its weights are random"
    elif view.model.source.startswith(cache.TRAINED):
        why = "it was trained for another task"
    else:
        why = "it was trained for another task, or its checkpoint lacks the head"
    st.info(
        f"{model.name} has no masked-word head: {why}. Choose a twin: both were trained to predict masked words.",
        icon=":material/block:",
    )
    st.button(
        "Use the twins",
        key="use-twins",
        type="primary",
        icon=":material/compare:",
        on_click=state.put,
        args=(ViewParams.model, "twin-pre"),
    )


def choose_word(mask: str) -> None:
    """Controls that hide a word and restore it."""
    words = prediction.words(view.trace, mask)
    key = f"hide:{view.text}"
    if words:
        options = {"format_func": lambda index: words[index].text, "key": key, "on_change": hide, "args": (key, mask)}
        if len(words) <= MOST_BUTTONS:
            st.pills("Hide a word", range(len(words)), **options)
        else:
            st.selectbox("Hide a word", range(len(words)), index=None, **options)
    if params.hidden and mask in view.text:
        label = f"Restore “{params.hidden}”"
        st.button(label, key="restore-word", icon=":material/undo:", on_click=restore, args=(mask,))


def hide(key: str, mask: str) -> None:
    """Replace the chosen word by the mask, and restore the word that was hidden before."""
    index = st.session_state.get(key)
    if index is None:
        return
    word = prediction.words(view.trace, mask)[index]
    # A placeholder: the first mask of the text may be the word hidden before.
    text = prediction.hide(view.text, word, "\0")
    if params.hidden:
        text = text.replace(mask, params.hidden, 1)
    state.put(ViewParams.text, text.replace("\0", mask))
    state.put(Params.hidden, word.text)
    sidebar.select(None, None)


def restore(mask: str) -> None:
    """Put the hidden word back."""
    state.put(ViewParams.text, view.text.replace(mask, params.hidden, 1))
    state.put(Params.hidden, "")


def models() -> dict[str, cache.ModelKey]:
    """Name -> model: both twins, or the selected model alone."""
    if view.model.source in norm_pair.TWINS:
        return {f"twin-{placement}": key for placement, key in norm_pair.pair_of(view).keys.items()}
    return {model.name: view.model}


def show(placements: dict[str, str], found: dict[str, tuple[MaskedPrediction, ...]]) -> None:
    """Bars for every mask, the models side by side."""
    top = state.bound(
        st.slider, Params.top, "Words", min_value=LEAST_WORDS, max_value=MOST_WORDS, width=320,
        help="Number of words shown for each mask.",
    )  # fmt: skip
    by_mask = [dict(zip(found, entries, strict=True)) for entries in zip(*found.values(), strict=True)]
    if len(by_mask) > MOST_MASKS:
        st.info(f"This text has {len(by_mask):,} masks. Shown: the first {MOST_MASKS}.")
    for index, predictions in enumerate(by_mask[:MOST_MASKS]):
        if len(by_mask) > 1:
            position = next(iter(predictions.values())).position
            st.subheader(f"Mask {index + 1} (token {position})", anchor=False)
        hidden = params.hidden if len(by_mask) == 1 else ""
        bars(index, top, placements, predictions, hidden)
        st.caption(" ".join([*in_words(predictions, top), *rank_in_words(predictions, hidden)]))


def bars(index: int, top: int, placements: dict[str, str], predictions: Predictions, hidden: str) -> None:
    """The most probable words at one mask, on the same scale for every model."""
    largest = max(entry.probabilities[0] for entry in predictions.values())
    for column, (name, entry) in zip(st.columns(len(predictions), gap="medium"), predictions.items(), strict=True):
        placement, rank = placements[name], prediction.rank(entry, hidden) if hidden else None
        with column:
            st.markdown(f"**{plain(name)}** ({PLACEMENT_NAMES[placement]})")
            st.plotly_chart(
                word_bars(
                    [prediction.readable(token) for token in entry.tokens[:top]],
                    entry.probabilities[:top],
                    placement=placement,
                    largest=largest,
                    marked=prediction.readable(entry.tokens[rank[0] - 1]) if rank else None,
                ),
                key=f"words-{name}-{index}",
                height=70 + 30 * top,
                config={"displayModeBar": False},
                alt=f"The {top} most probable words at token {entry.position} in {name}, with their probabilities.",
            )


def in_words(predictions: Predictions, top: int) -> list[str]:
    """The most probable word of each model, and the words that both models share."""
    sentences = []
    for name, entry in predictions.items():
        word = plain(prediction.readable(entry.tokens[0]))
        total = sum(entry.probabilities[:top])
        sentences.append(f"{name}: “{word}” {entry.probabilities[0]:.3f}; the {top} words together: {total:.1%}.")
    if len(predictions) == 2:
        first, second = (set(entry.tokens[:top]) for entry in predictions.values())
        sentences.append(f"Words in both lists: {len(first & second)} of {top}.")
    return sentences


def rank_in_words(predictions: Predictions, hidden: str) -> list[str]:
    """Rank and probability of the hidden word."""
    if not hidden:
        return []
    ranks = {name: prediction.rank(entry, hidden) for name, entry in predictions.items()}
    listed = [f"rank {rank[0]:,}, probability {rank[1]:.4f} in {name}" for name, rank in ranks.items() if rank]
    word = f"Hidden word “{plain(hidden)}”:"
    if not listed:
        return [f"{word} no rank, as it is no single entry of the vocabulary."]
    return [f"{word} {'; '.join(listed)}."]


main()
