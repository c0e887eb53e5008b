"""Which query fits a page best: MaxSim over the tokens of a query and the page, and where it comes from."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import streamlit as st

import encoder
from encoder import Trace
from encoder.documents import tables
from encoder.figures.colours import signed_lut
from encoder.figures.numbers import three_digits
from encoder.figures.token_bars import word_bars
from encoder.run import code
from encoder.similarity import PageInteraction, page_interaction
from pages.components import on_click, plot
from pages.core.inputs import edited
from pages.core.view import View
from pages.core.widgets import Export, answer, origin, over_image, title
from pages.core.words import about, gestures, opening, plain
from pages.predict import captions
from pages.predict.params import CaptionParams
from pages.state import state

ROW, AROUND, SIZE = 26, 60, 620


@dataclass(frozen=True)
class Queries:
    """The page above and the queries, in one model."""

    view: View
    model: encoder.JointEncoder
    texts: tuple[str, ...]

    @cached_property
    def found(self) -> list[PageInteraction]:
        """Each query with the page, computed once for all sessions."""

        def make(text: str) -> PageInteraction:
            return self.view.derived(("page", text), lambda trace: _interaction(self.model, text, trace))

        return [make(text) for text in self.texts]

    @cached_property
    def scores(self) -> np.ndarray:
        """[N]: MaxSim of each query."""
        return np.array([one.score for one in self.found])

    @cached_property
    def chosen(self) -> int:
        """The selected query, or the one of the highest score."""
        asked = state.newest(CaptionParams.caption)
        return asked if isinstance(asked, int) and asked < len(self.texts) else int(self.scores.argmax())


def _interaction(model: encoder.JointEncoder, text: str, trace: Trace) -> PageInteraction:
    return page_interaction(model, text, trace)


def show(view: View, model: encoder.JointEncoder) -> None:
    """The page with this task: the queries, their scores, and the page with what each place adds."""
    edited.mark(view)
    captions.fit(model)
    with st.container(key="pair-page"), st.container(key="pair-body"):
        page_side, query_side = st.container(key="pair-left"), st.container(key="pair-right")
    with page_side:
        opening("Which query fits the page best, and which place of the page answers each of its tokens?")
    with query_side:
        captions.controls(model)
        captions.note_unknown(model, captions.given())
    queries = Queries(view, model, captions.given())
    with query_side, answer.area():
        _draw_bars(queries)
    with page_side:
        _draw_page(queries)
    exported(queries).draw()


def exported(queries: Queries) -> Export:
    """What each token of the selected query adds, and the lines that give it."""
    found, text = queries.found[queries.chosen], queries.texts[queries.chosen]
    whole = dataclasses.replace(origin(queries.view.model)[0], tower="", norm="trained")
    return Export(
        queries.view,
        title(queries.view, "MaxSim over the page"),
        lambda: tables.page_frame(found),
        figures=lambda: {"Queries": word_bars(queries.texts, queries.scores, measure="MaxSim")},
        lines="from encoder.similarity import page_interaction\n"
        f"{code.model_lines(whole, 'pair')}\n"
        f"found = page_interaction(pair, {text!r}, trace)\n"
        "found.score, found.over_page(), found.shares()",
        settings={"Query": text, "MaxSim": f"{found.score:.6g}"},
    )


def _draw_bars(queries: Queries) -> None:
    """The line of the selected query, and the score of each."""
    found, at = queries.found[queries.chosen], queries.chosen
    picked = state.newest(CaptionParams.caption) is not None
    beside = found.score_beside
    answer.draw(
        f"**{plain(queries.texts[at]) or '(empty)'}**: MaxSim {three_digits(found.score)}, of which the page adds "
        f"{three_digits(found.score - beside)} and the words around it {three_digits(beside)}.",
        f"{len(found.queries)} tokens, each with its best product. "
        + ("" if picked else gestures.invitation("Select another query.")),
        clear=(lambda: captions.select(None)) if picked else None,
    )
    names = [text or "(empty)" for text in queries.texts]
    plot(
        word_bars(names, queries.scores, measure="MaxSim", marked=names[at]),
        key="query-bars",
        alt=f"MaxSim of {len(names)} queries with the page. Highest: {names[int(queries.scores.argmax())]}.",
        height=AROUND + ROW * len(names),
        on_event=on_click(
            point=lambda event: captions.select(event["point"]),
            row=captions.select,
            clear=lambda: captions.select(None),
        ),
    )
    gestures.caption(
        f"{about.text(__file__, 'MaxSim')} {gestures.invitation(f'{gestures.CLICK} a bar to select its query.')}"
    )


def _draw_page(queries: Queries) -> None:
    """The page with the products of one token of the query, or with what all of them add; the tokens to choose from."""
    found = queries.found[queries.chosen]
    token = _token(len(found.queries))
    if token is None:
        over, label, what = found.added_over_page(), "added to MaxSim", "what it adds to the score"
    else:
        name = found.queries[token]
        over, label, what = found.over_page()[token], f"product with {name}", f"its product with {name}"
    over_image.draw(
        queries.view,
        over,
        what,
        key="page-map",
        colorscale=signed_lut(),
        label=label,
        opacity=state.newest(CaptionParams.opacity),
        signed=True,
        size=SIZE,
    )
    names: dict[int | None, str] = {None: "all tokens", **dict(enumerate(found.queries))}
    state.selectbox(CaptionParams.word, "Token of the query", names, width=240)
    if token is not None:
        best, product = found.keys[int(found.best[token])], float(found.parts[token])
        st.caption(f"Its best token of the page: {plain(best)}, with the product {three_digits(product)}.")
    state.bound(st.slider, CaptionParams.opacity, "Opacity", min_value=0.0, max_value=1.0, step=0.05, width=200)
    st.caption(about.text(__file__, "A page in tiles"))


def _token(n_tokens: int) -> int | None:
    """The selected token of the query; None: all of them."""
    asked = state.newest(CaptionParams.word)
    return asked if isinstance(asked, int) and asked < n_tokens else None
