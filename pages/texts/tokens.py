"""Words: the tokens of a corpus whose vectors are nearest to that of a token of the sentence."""

from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import figures
from encoder.checkpoints import first_bundled
from encoder.corpus import Atlas, Behaves, TokenHit, Tokens, token_vector
from encoder.measure import telling
from pages.base.work.compute_turns import TURNS
from pages.core.corpora import atlases
from pages.core.frame import input_row
from pages.core.inputs import chosen_input
from pages.core.view import View, ViewParams, first_view, selection
from pages.core.widgets import Export, adjust, title
from pages.core.words import errors_said, number, opening, plain, token_names
from pages.state import controlled, links, state
from pages.texts.params import TARGETS, TokenParams

#: Words that are buttons; those of a longer text are a list. Tokens that are found.
BUTTONS, FOUND = 48, 10
#: Characters of a sentence before and after the token.
BEFORE, AFTER = 60, 40
#: Values of a label, and next tokens, that are named.
NAMED = 4


@dataclass(frozen=True)
class Query:
    """place: of the token in the sentence; at: number of the layer; where: the filter."""

    view: View
    atlas: Atlas
    place: int
    at: int
    where: Behaves | None
    others: bool

    @property
    def token(self) -> str:
        """The token that is searched."""
        return str(self.view.trace.tokens[self.place])

    @property
    def tokens(self) -> Tokens:
        """The tokens of the corpus, with their vectors. Raises EncoderError."""
        return atlases.tokens(self.atlas, self.at)

    @property
    def vector(self) -> np.ndarray:
        """The vector that is searched."""
        return token_vector(self.view.trace, self.at, self.place)

    def hits(self) -> list[TokenHit]:
        """The nearest tokens of the corpus. Raises EncoderError."""
        with TURNS.turn():
            return self.tokens.nearest(self.vector, FOUND, self.where, without=self.token if self.others else None)

    def mean(self) -> float:
        """The mean cosine with all tokens of the corpus."""
        with TURNS.turn():
            return self.tokens.mean_cosine(self.vector)


def show(view: View) -> None:
    """The page for words: a token of the sentence, and the tokens of a corpus that are used like it."""
    opening("Where does a corpus use a word as your sentence does?")
    with st.container(key="input-itself", gap="xsmall"):
        input_row.sentence_controls()
    with errors_said():
        if not state.newest(atlases.AtlasParams.atlas) and not _has_vectors(atlases.of_model(view)):
            view = chosen_input.instead(view, first_bundled("text"), "has no atlas with vectors of tokens")
        drawer = adjust.drawer("words")
        with drawer:
            atlas = atlases.choose(view)
        if atlas is None:
            st.info("Choose an atlas under Adjust.", icon=":material/dataset:")
        elif _fits(view, atlas):
            _draw(view, atlas, drawer)


def _has_vectors(atlas: Atlas | None) -> bool:
    return atlas is not None and bool(atlas.vector_layers)


def _fits(view: View, atlas: Atlas) -> bool:
    """Whether the atlas has vectors, and of this model; otherwise a sentence says what to do."""
    if not atlases.belongs(view, atlas):
        st.info(
            f"The vectors of this atlas are of {plain(atlas.model_name)}: choose that model above.",
            icon=":material/dataset:",
        )
        return False
    if not _has_vectors(atlas):
        st.info("This atlas has no vectors of tokens: build it with --vectors.", icon=":material/dataset:")
        return False
    return True


def _draw(view: View, atlas: Atlas, drawer: DeltaGenerator) -> None:
    """The token, the hits, what they share, and the export panel. drawer: of the layer and the filter."""
    with st.container(key="texts-words"):
        place = choose_token(view)
    if place is None:
        return
    with drawer:
        at = choose_layer(view, atlas)
        where = choose_filter(view)
        state.bound(st.toggle, TokenParams.others, "Other words only")
    asked = Query(view, atlas, place, at, where, state.get(TokenParams.others))
    hits = asked.hits()
    answer(asked, hits)
    texts: list[str] = []
    if hits:
        left, right = st.columns([3, 2], gap="medium")
        with left:
            texts = sentences(asked, hits)
        with right:
            shared(asked, hits)
    notes = ""
    grammar = next((hit.token for hit in hits if hit.token.lower() in telling.FUNCTION_WORDS), "")
    if grammar:
        notes = f"A vector also holds the words around its token, so “{plain(grammar)}” can be near. "
    if any(_is_piece(hit, text) for hit, text in zip(hits, texts, strict=True)):
        notes += "Bold within a word: the token is a piece of it. "
    st.caption(
        f"{notes}Tokens compared: {len(asked.tokens):,}. Limits: a near vector need not have the same meaning; the "
        "cosine does not say which part of the vector agrees."
    )
    if hits:
        exported(asked, hits, texts).draw()


def exported(asked: Query, hits: list[TokenHit], texts: list[str]) -> Export:
    """The hits. texts: the sentence of each one."""

    def frame() -> pd.DataFrame:
        rows = pd.DataFrame([asdict(hit) for hit in hits]).drop(columns="place")
        return rows.assign(sentence=texts)

    where = f", corpus.{asked.where!r}" if asked.where is not None else ""
    without = f", without={asked.token!r}" if asked.others else ""
    return Export(
        asked.view,
        title(asked.view, f"Nearest tokens to “{asked.token}”"),
        frame,
        lines="from pathlib import Path\n\nfrom encoder import corpus\n"
        f"atlas = corpus.open_atlas({atlases.python(asked.atlas)})\n"
        f"tokens = corpus.load_tokens(atlas, layer={asked.at})\n"
        f"vector = corpus.token_vector(trace, {asked.at}, {asked.place})\n"
        f"hits = tokens.nearest(vector, {FOUND}{where}{without})",
        settings={"Texts": atlases.texts_of(asked.atlas), "Vectors after layer": asked.at, "Token": asked.token},
    )


def choose_token(view: View) -> int | None:
    """Draw the words of the sentence; the place of the selected one, None without any."""
    words = [place for place, one in enumerate(telling.is_word(view.trace)) if one]
    if not words:
        st.info("This text has no word: type a sentence.", icon=":material/edit:")
        return None
    place = view.i if view.i in words and not first_view.suggests(view.i) else _usual(view, words)
    names = [figures.isolated(name) for name in figures.disambiguate(view.trace.labels)]
    few = len(words) <= BUTTONS
    return controlled(  # type: ignore[no-any-return]
        st.pills if few else st.selectbox,
        "Search for this word, as it is in your sentence",
        words,
        key="search:token",
        value=place,
        take=partial(state.put, ViewParams.i),
        **({"required": True} if few else {}),
        format_func=names.__getitem__ if few else lambda place: f"{place} · {names[place]}",
    )


def _usual(view: View, words: list[int]) -> int:
    """The longest word that carries a meaning: pronouns and grammar have neighbours that tell little."""
    tokens = [token.lower() for token in view.trace.tokens]
    own = [place for place in words if tokens[place] not in telling.FUNCTION_WORDS]
    return max(own or words, key=lambda place: len(tokens[place]))


def choose_layer(view: View, atlas: Atlas) -> int:
    """Draw the choice among the layers that the atlas has; the last one by default."""
    known, last = atlas.vector_layers, view.loaded.config.n_layers
    if state.newest(TokenParams.at) not in known:
        state.put(TokenParams.at, known[-1])
    names = {0: "0, the embeddings", last: f"{last}, the output"}
    return int(
        state.bound(
            st.selectbox,
            TokenParams.at,
            "Vectors after layer",
            options=list(known),
            format_func=lambda at: names.get(at, str(at)),
        )
    )


def choose_filter(view: View) -> Behaves | None:
    """Draw the filter by the behaviour of the open head."""
    config = view.loaded.config
    state.bound(
        st.selectbox,
        TokenParams.target,
        f"Only tokens that attend, in L{view.layer} H{view.head}, to",
        list(TARGETS),
        format_func=TARGETS.get,
    )
    if state.newest(TokenParams.target) != "any":
        sides = ((ViewParams.layer, config.n_layers), (ViewParams.head, config.n_heads))
        for place, (param, count) in zip(st.columns(2), sides, strict=True):
            state.bound(place.number_input, param, param.name.capitalize(), min_value=0, max_value=count - 1)
        state.bound(
            st.slider,
            TokenParams.least,
            "with a weight of at least",
            0.0,
            1.0,
            step=0.05,
            help="Weights are known to 1/255.",
        )
    params = state.read(TokenParams)
    return None if params.target == "any" else Behaves(view.layer, view.head, params.target, params.least)


def answer(query: Query, hits: list[TokenHit]) -> None:
    """One line: the largest cosine and what it is compared with, and how many of the hits are the same token."""
    name = token_names.bold(query.view.trace.labels, query.place)
    if not hits:
        st.info("No token of the corpus passes this filter: lower its weight.", icon=":material/filter_alt_off:")
        return
    same, there = sum(hit.token == query.token for hit in hits), query.tokens.count(query.token)
    said = f"Of these {len(hits)}, the same token: {same}, of {there:,} in the corpus."
    if not there:
        said = "It is not in this corpus: other words are nearest."
    elif query.others:
        said = "Other words only."
    st.markdown(
        f"{name}: largest cosine **{number(hits[0].cosine)}** (all tokens, mean: {number(query.mean())}). {said}"
    )


def sentences(query: Query, hits: list[TokenHit]) -> list[str]:
    """A line for each sentence, with all its hits; a click opens it in Heads. Returns the sentence of each hit."""
    texts = query.atlas.texts([hit.text for hit in hits])
    of_sentence: dict[str, list[TokenHit]] = {}
    for hit in hits:
        of_sentence.setdefault(texts[hit.text], []).append(hit)
    with st.container(gap=None, key="atlas-lines"):
        for rank, (text, found) in enumerate(of_sentence.items()):
            cosines = ", ".join(number(hit.cosine, 2) for hit in found)
            st.button(
                f"**{cosines}** {_marked(text, found)}",
                key=f"token-hit:{rank}",
                type="tertiary",
                on_click=_open,
                args=(text, found[0].position),
            )
    return [texts[hit.text] for hit in hits]


def _marked(text: str, hits: list[TokenHit]) -> str:
    """The sentence with the tokens in bold; a long one is cut on both sides."""
    places = sorted({(hit.start, hit.end) for hit in hits})
    start, end = places[0][0], places[-1][1]
    first, last = max(0, start - BEFORE), min(len(text), end + AFTER)
    # Whole words: from the blank after the first one to that before the last one, where there are such.
    first = first and max(first, text.find(" ", first, start) + 1)
    last = last if last == len(text) else max(text.rfind(" ", end, last), end)
    found, at = ["… "] if first else [], first
    for start, end in places:
        # Markdown takes ** next to a sign and a letter for text; next to a thin blank it is bold.
        blank = "" if text[start:end].isalnum() else "\u200a"
        found.append(f"{plain(text[at:start])}{blank}**{plain(text[start:end]) or '·'}**{blank}")
        at = end
    return "".join([*found, plain(text[at:last]), " …" if last < len(text) else ""])


def _is_piece(hit: TokenHit, text: str) -> bool:
    """Whether the token is a piece of a longer word."""
    return text[max(0, hit.start - 1) : hit.start].isalnum() or text[hit.end : hit.end + 1].isalnum()


def _open(text: str, position: int) -> None:
    """Let “Heads” open with a sentence and the token's row. For callbacks."""
    state.put_all({ViewParams.text: text, ViewParams.pair: ""})
    selection.select(position, None)
    links.open_later("heads")


def shared(query: Query, hits: list[TokenHit]) -> None:
    """What the hits have in common: the token, the next one, labels of their texts."""
    st.markdown("**What they share**")
    rows = [("Token", hit.token) for hit in hits]
    rows += [("Next token", hit.following or "(end)") for hit in hits]
    of_texts = query.atlas.rows([hit.text for hit in hits])
    rows += [
        (f"Label of its text: {name}", of_texts[hit.text].labels[place] or "(none)")
        for place, name in enumerate(query.atlas.labels)
        for hit in hits
    ]
    counts = Counter(rows)
    kept = [
        (what, value, count) for what in dict.fromkeys(one for one, _ in rows) for value, count in _most(counts, what)
    ]
    st.dataframe(
        pd.DataFrame(kept, columns=["What", "Value", "Of the hits"]),
        hide_index=True,
        width="stretch",
        height="content",
        column_config={"Of the hits": st.column_config.ProgressColumn(format="%d", min_value=0, max_value=len(hits))},
    )


def _most(counts: Counter[tuple[str, str]], what: str) -> list[tuple[str, int]]:
    """The values that two hits or more have in common."""
    some = Counter({value: count for (name, value), count in counts.items() if name == what and count > 1})
    return some.most_common(NAMED) or [("(all differ)", 0)]
