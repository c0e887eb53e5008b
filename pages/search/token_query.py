"""What is asked: a token of the sentence, a layer, and which tokens of the corpus count."""

from dataclasses import dataclass
from functools import partial

import streamlit as st

from encoder import figures
from encoder.corpus import Atlas, Behaves, TokenHit, token_vector
from encoder.measure import telling
from pages.components.lazy import popover
from pages.core.corpora import atlases
from pages.core.view import View, ViewParams, first_view
from pages.core.work.compute_turns import TURNS
from pages.search.params import TARGETS, TokenParams
from pages.state import controlled, state

#: Words that are buttons; those of a longer text are a list. Tokens that are found.
BUTTONS, FOUND = 48, 10


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

    def hits(self) -> list[TokenHit]:
        """The nearest tokens of the corpus. Raises EncoderError."""
        vector = token_vector(self.view.trace, self.at, self.place)
        loaded = atlases.tokens(self.atlas, self.at)
        with TURNS.turn():
            return loaded.nearest(vector, FOUND, self.where, without=self.token if self.others else None)


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
        st.pills if few else st.selectbox, "Search for this word, as it is in your sentence", words,
        key="search:token", value=place, take=partial(state.put, ViewParams.i), **({"required": True} if few else {}),
        format_func=names.__getitem__ if few else lambda place: f"{place} · {names[place]}",
    )  # fmt: skip


def _usual(view: View, words: list[int]) -> int:
    """The longest word that carries a meaning: pronouns and grammar have neighbours that tell little."""
    tokens = [token.lower() for token in view.trace.tokens]
    own = [place for place in words if tokens[place] not in telling.GRAMMAR | telling.PRONOUNS]
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
            width=180,
            format_func=lambda at: names.get(at, str(at)),
        )
    )


def choose_filter(view: View) -> Behaves | None:
    """Draw the filter by the behaviour of the open head."""
    params = state.read(TokenParams)
    head = f"L{view.layer} H{view.head}"
    on = "" if params.target == "any" else f": {TARGETS[params.target]} in {head}"
    part = popover(f"Filter by a head{on}", "token-filter", icon=":material/filter_alt:")
    if part is not None:
        with part:
            for place, (param, last) in zip(
                st.columns(2),
                ((ViewParams.layer, view.loaded.config.n_layers), (ViewParams.head, view.loaded.config.n_heads)),
                strict=True,
            ):
                state.bound(place.number_input, param, param.name.capitalize(), min_value=0, max_value=last - 1)
            st.markdown(f"Only tokens of the corpus that, in **{head}**, attend to")
            state.bound(
                st.selectbox, TokenParams.target, "Attends to", list(TARGETS), format_func=TARGETS.get,
                label_visibility="collapsed",
            )  # fmt: skip
            state.bound(
                st.slider, TokenParams.least, "with a weight of at least", 0.0, 1.0, step=0.05,
                help="Weights are known to 1/255.",
            )  # fmt: skip
    params = state.read(TokenParams)
    return None if params.target == "any" else Behaves(view.layer, view.head, params.target, params.least)
