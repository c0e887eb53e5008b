"""Masked-word prediction: the words that a model expects at each [MASK], for both twins side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import MaskedPrediction
from encoder.figures.numbers import in_words
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.figures.token_bars import word_bars
from encoder.run import TRAINED, ModelSpec, Run
from encoder.run.code import model_lines, trace_call
from pages.components import plot
from pages.core.inputs import edited
from pages.core.stores import model_store
from pages.core.view import View, norm_pair, text_words, typed_text
from pages.core.widgets import Export, adjust, origin
from pages.core.words import about, errors_said, opening, plain
from pages.predict import prediction
from pages.predict.params import LEAST_WORDS, MOST_WORDS, Params
from pages.state import controlled, state

#: More words than this are offered as a list, not as buttons. More masks than this are not drawn.
MOST_BUTTONS, MOST_MASKS = 40, 8
#: So many words of one mask are drawn as high as the window has room.
FEW = 6

#: Name of a model -> its prediction at one mask.
Predictions = dict[str, MaskedPrediction]


MASK = "[MASK]"


@dataclass(frozen=True)
class Shown:
    """A sentence with a mask in the models that predict what it hides."""

    #: Name of a model -> the sentence in it.
    runs: dict[str, Run]
    #: The mask token of the models.
    mask: str
    #: The word that the mask replaces, and its number among the words of the sentence.
    hidden: str = ""
    word: int | None = None

    @property
    def text(self) -> str:
        """The sentence with the mask."""
        return next(iter(self.runs.values())).text

    def view(self, view: View) -> View:
        """The view with this sentence, in the reader's model if that predicts, otherwise in the first one."""
        first = next(iter(self.runs.values()))
        run = next((run for run in self.runs.values() if run.model == view.model), first)
        return replace(view, run=replace(run, place=view.run.place))


def shown(view: View, params: Params) -> Shown:
    """What the page shows for this view. A model without a masked-word head is replaced by the twins."""
    specs = models(view)
    mask = model_store.model(next(iter(specs.values()))).tokenizer.mask_token or MASK
    words = text_words.words(view.trace, mask)
    number = params.word if params.word is not None and params.word < len(words) else None
    if number is None and mask not in f"{view.text}{view.pair or ''}":
        number = usual(view, words)
    if number is None:
        return Shown(_in_each(specs, view.run), mask)
    word = words[number]
    return Shown(_in_each(specs, view.run.but(text=word.replaced_by(mask, view.text))), mask, word.text, number)


def _in_each(specs: Mapping[str, ModelSpec], run: Run) -> dict[str, Run]:
    """Name -> the run in that model."""
    return {name: replace(model_store.run_on(run.of_pass, spec), edits=()) for name, spec in specs.items()}


def usual(view: View, words: Sequence[text_words.Word]) -> int | None:
    """The word that is hidden until the reader chooses: that of the selected token, else a long one."""
    source = view.trace.source
    if source is None or not words:
        return None
    start, end = source.offsets[view.i] if view.i is not None else (0, 0)
    of_token = [number for number, word in enumerate(words) if word.start <= start < end <= word.end]
    return (of_token or text_words.by_meaning(words))[0]


def with_edits(chosen: Shown, view: View) -> Shown:
    """The same models with the recipe's edits, where they fit; not for another model than the reader's."""
    if view.loaded.mlm_head is None:
        return chosen
    active = edited.applied(chosen.view(view)).run.edits
    return replace(chosen, runs={name: run.but(edits=active) for name, run in chosen.runs.items()})


def of_text(view: View) -> View:
    """The view itself; of a model that accepts no text, the typed sentence in the pre-norm twin."""
    if view.loaded.takes == "text":
        return view
    return replace(view, run=Run(_twin(view), typed_text()))


def _twin(view: View) -> ModelSpec:
    """The pre-norm twin, where the reader's model runs."""
    return ModelSpec("twin-pre", device=view.model.device, dtype=view.model.dtype)


def models(view: View) -> dict[str, ModelSpec]:
    """Name -> model: the selected model only, or both twins for a twin and for a model that cannot predict."""
    if view.loaded.mlm_head is not None and view.model.source not in norm_pair.TWINS:
        return {view.loaded.name: view.model}
    if view.loaded.mlm_head is None:
        view = replace(view, run=model_store.run_on(view.run, _twin(view)))
    return {f"twin-{placement}": spec for placement, spec in norm_pair.pair_of(view).specs.items()}


def show(view: View) -> None:
    """The page with this task: a word to hide, and the words that the models predict there."""
    own, view = view, of_text(view)
    chosen = with_edits(shown(view, state.read(Params)), own)
    edited.mark(chosen.view(view))
    opening(f"Which words fit at **{plain(chosen.mask)}**, given the tokens on both sides?")
    with adjust.drawer("words"):
        top = state.bound(
            st.slider,
            Params.top,
            "Words",
            min_value=LEAST_WORDS,
            max_value=MOST_WORDS,
            help="Number of words shown for each mask.",
        )
    answer = st.container(key="predict-answer")
    with st.container(key="masked-text"):
        st.markdown(plain(chosen.text).replace(plain(chosen.mask), f"**{plain(chosen.mask)}**"))
    with st.container(key="controls-word", horizontal=True):
        choose_word(view, chosen)
    predict(chosen, top, answer)
    if own.loaded.mlm_head is None:
        with answer:
            st.caption(f"The twins predict: {plain(own.loaded.name)} has no masked-word head.")
        st.caption(
            f"{why_no_head(own)} The twins are two small encoders that were trained alike: twin-pre with pre-norm, "
            "twin-post with post-norm.",
            help="Other pages keep your model and your input. Choose another model with a masked-word head "
            "above the page.",
        )
    about.expander(__file__, "How training selects the tokens")
    exported(chosen, top).draw()


def exported(chosen: Shown, top: int) -> Export:
    """The most probable words at each mask, of every model that the page shows."""

    def frame() -> pd.DataFrame:
        rows = [
            (name, entry.position, rank, token, probability)
            for name, run in chosen.runs.items()
            for entry in prediction.predictions(run, top)
            for rank, (token, probability) in enumerate(
                zip(entry.tokens[:top], entry.probabilities[:top], strict=True), start=1
            )
        ]
        return pd.DataFrame(rows, columns=["model", "position", "rank", "token", "probability"])

    return Export(
        None,
        f"Masked-word predictions of {' and '.join(chosen.runs)}",
        frame,
        program=program(chosen, top),
        settings={"Text": chosen.text} | ({"Hidden word": chosen.hidden} if chosen.hidden else {}),
    )


def program(chosen: Shown, top: int) -> str:
    """Python that gives the words of every model, and the rank and the probability of the hidden one."""
    made, calls, remarks = [], [], ""
    for number, (name, run) in enumerate(chosen.runs.items()):
        spec, remark = origin(run.model)
        variable = f"model_{number + 1}"
        made.append(model_lines(spec, variable))
        remarks = remarks or remark
        calls.append(f"    {name!r}: ({variable}, {trace_call(run, variable)}),")
    lines = ["import encoder", *made, "runs = {", *calls, "}"]
    lines.append(f"guesses = {{name: model.predict_masked(trace, {top}) for name, (model, trace) in runs.items()}}")
    if chosen.hidden:
        lines += [
            "ranks = {}",
            "for name, (model, trace) in runs.items():",
            "    every = model.predict_masked(trace, model.config.vocab_size)[0]",
            "    probability = dict(zip(every.tokens, every.probabilities, strict=True))",
            f"    word = next((one for one in {prediction.spellings(chosen.hidden)} if one in probability), None)",
            "    ranks[name] = word and (every.tokens.index(word) + 1, probability[word])",
        ]
    return remarks + "\n".join(lines) + "\n"


def predict(chosen: Shown, top: int, answer: DeltaGenerator) -> None:
    """The words at every mask, or what to do where there is none. answer: the place of the line above the picture."""
    with errors_said(st.info, icon=":material/edit:"):
        found = {name: prediction.predictions(run, top) for name, run in chosen.runs.items()}
        by_mask = [dict(zip(found, entries, strict=True)) for entries in zip(*found.values(), strict=True)]
        placements = {name: model_store.model(run.model).config.norm_placement for name, run in chosen.runs.items()}
        if len(by_mask) > 1:  # which of them hides the word is not known
            chosen = replace(chosen, hidden="")
        with answer:
            st.markdown(most_probable(by_mask[0], len(by_mask), chosen))
        draw(placements, by_mask, top, chosen)


def why_no_head(view: View) -> str:
    """Why the selected model has no masked-word head."""
    name = plain(view.loaded.name)
    if view.model.untrained is not None:
        return f"The weights of {name} are random."
    if view.model.source.startswith(TRAINED):
        return f"{name} was trained for another task."
    return f"{name} was trained for another task, or its checkpoint lacks the head."


def choose_word(view: View, chosen: Shown) -> None:
    """The words of the sentence, to hide one of them. Other pages keep the sentence."""
    words = text_words.words(view.trace, chosen.mask)
    if not words:
        return
    few = len(words) <= MOST_BUTTONS
    controlled(
        st.pills if few else st.selectbox,
        "Hide a word of your sentence",
        range(len(words)),
        key="predict:word",
        value=chosen.word,
        take=partial(state.put, Params.word),
        format_func=lambda number: words[number].text,
        **({} if few else {"placeholder": "Choose a word"}),
    )


def draw(placements: dict[str, str], by_mask: list[Predictions], top: int, chosen: Shown) -> None:
    """Bars for every mask, the models side by side."""
    if len(by_mask) > MOST_MASKS:
        st.info(f"This text has {len(by_mask):,} masks. Shown: the first {MOST_MASKS}.")
    for index, predictions in enumerate(by_mask[:MOST_MASKS]):
        if len(by_mask) > 1:
            position = next(iter(predictions.values())).position
            st.header(f"Mask {index + 1} (token {position})", anchor=False)
        bars(index, top, placements, predictions, chosen, fills=len(by_mask) == 1 and top <= FEW)
        st.caption(" ".join(shared(predictions, top)))


def bars(
    index: int, top: int, placements: dict[str, str], predictions: Predictions, chosen: Shown, *, fills: bool
) -> None:
    """The most probable words at one mask, on the same scale for every model. fills: the window's room."""
    largest = max(entry.probabilities[0] for entry in predictions.values())
    longest = max(len(prediction.readable(token)) for entry in predictions.values() for token in entry.tokens[:top])
    for column, (name, entry) in zip(st.columns(len(predictions), gap="medium"), predictions.items(), strict=True):
        placement, rank = placements[name], prediction.rank(entry, chosen.hidden) if chosen.hidden else None
        with column:
            st.markdown(f"**{plain(name)}** ({PLACEMENT_NAMES[placement]})")
            plot(
                word_bars(
                    [prediction.readable(token) for token in entry.tokens[:top]],
                    entry.probabilities[:top],
                    placement=placement,
                    largest=largest,
                    longest=longest,
                    marked=prediction.readable(entry.tokens[rank[0] - 1]) if rank else None,
                ),
                key=f"words-{name}-{index}",
                height=70 + 30 * top,
                fill=fills,
                mode_bar=False,
                alt=f"The {top} most probable words at token {entry.position} in {name}, with their probabilities.",
            )


def most_probable(predictions: Predictions, n_masks: int, chosen: Shown) -> str:
    """The most probable word of each model at the first mask, next to the hidden one, in Markdown."""
    said = [first_words(entry) + (f" ({name})" if len(predictions) > 1 else "") for name, entry in predictions.items()]
    place = "the first mask" if n_masks > 1 else plain(chosen.mask)
    return " ".join([f"Most probable at {place}: {', '.join(said)}.", *rank_in_words(predictions, chosen.hidden)])


def first_words(entry: MaskedPrediction) -> str:
    """The most probable word; where that is a piece of a word, the first whole word, and then the piece."""
    said = [
        f"**{plain(prediction.readable(token))}** {in_words(probability)}"
        for token, probability in zip(entry.tokens, entry.probabilities, strict=True)
        if not token.startswith(prediction.CONTINUES)
    ][:1]
    if entry.tokens[0].startswith(prediction.CONTINUES):
        piece = f"the word piece {plain(entry.tokens[0])} {in_words(entry.probabilities[0])}"
        said = [f"{said[0]} after {piece}"] if said else [piece]
    return said[0]


def shared(predictions: Predictions, top: int) -> list[str]:
    """What share the shown words have, and how many both models share."""
    sentences = [
        f"{name}: the {top} tokens together: {sum(entry.probabilities[:top]):.1%}."
        for name, entry in predictions.items()
    ]
    if len(predictions) == 2:
        first, second = (set(entry.tokens[:top]) for entry in predictions.values())
        sentences.append(f"Tokens in both lists: {len(first & second)} of {top}.")
    return sentences


def rank_in_words(predictions: Predictions, hidden: str) -> list[str]:
    """Probability and rank of the hidden word."""
    if not hidden:
        return []
    ranks = [prediction.rank(entry, hidden) for entry in predictions.values()]
    several = len(predictions) > 1
    listed = [
        f"{in_words(rank[1])} (rank {rank[0]:,})" + (f" in {name}" if several else "")
        for name, rank in zip(predictions, ranks, strict=True)
        if rank
    ]
    word = f"Your “{plain(hidden)}”:"
    if not listed:
        whose = "the twins’ vocabulary" if several else "this model’s vocabulary"
        return [f"{word} no rank, as {whose} has no entry for the whole word."]
    return [f"{word} {', '.join(listed)}."]
