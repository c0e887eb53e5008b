"""The first hits in the order of a cross-encoder, next to the order of their vectors."""

import hashlib

import streamlit as st

from encoder import search
from encoder.search import Collection
from encoder.trace import gradual
from pages.components.lazy import expander
from pages.core.stores import cache, model_access, model_store, results
from pages.core.view import View, ViewParams, selection
from pages.core.words import about, errors_said, number, plain
from pages.core.work import long_work
from pages.search.params import Params
from pages.state import links, state

#: Characters of a hit that the table shows.
BRIEF = 120


def draw(view: View, found: Collection, query: str, hits: list[tuple[int, float]]) -> None:
    """The part of the page, closed at first. hits: (place, cosine), the nearest first."""
    part = expander("Rank the first 20 again with a cross-encoder", "search-rerank")
    if part is None:
        return
    with part:
        st.markdown(about.text(__file__, "What a cross-encoder does"))
        name = state.bound(
            st.text_input, Params.cross, "Cross-encoder: folder or Hub id", help=model_access.source_help(),
            placeholder="such as cross-encoder/ms-marco-MiniLM-L6-v2",
        )  # fmt: skip
        if not name.strip() or not hits:
            return
        with errors_said():
            _table(view, found, query, hits, name)


def _table(view: View, found: Collection, query: str, hits: list[tuple[int, float]], name: str) -> None:
    key = cache.ModelKey(model_access.allowed_source(name), device=view.model.device, dtype=view.model.dtype)
    with st.spinner("Loading the cross-encoder …", show_time=False):
        model = model_store.model(key)
    search.check_cross_encoder(model)
    places = [place for place, _ in hits]
    texts = hashlib.sha256("\0".join(found.texts[place] for place in places).encode()).hexdigest()

    def work() -> long_work.Work[tuple[search.Reranked, ...]]:
        parts = search.iter_rerank(model, query, found.texts, places)
        return gradual.reported(parts, lambda share: (share, "Reading the pairs …"))

    ranked = results.of_work("rerank", (key, query, texts), work, own=True)
    if ranked is None:
        return
    moved = sum(hit.before != rank for rank, hit in enumerate(ranked, 1))
    st.markdown(f"Hits that move: **{moved}** of {len(places)}. Left: the new rank; “was”: the rank by cosine.")
    for rank, hit in enumerate(ranked, 1):
        _hit(query, found.texts[hit.place], rank, hit, name)


def _hit(query: str, text: str, rank: int, hit: search.Reranked, name: str) -> None:
    brief = text if len(text) <= BRIEF else text[:BRIEF] + " …"
    arrow = "↑" if hit.before > rank else "↓" if hit.before < rank else "="
    words, way = st.columns([6, 1], vertical_alignment="center")
    words.markdown(f"{rank}. {arrow} was {hit.before}, score **{number(hit.score, 2)}** {plain(brief)}")
    way.button(
        "Attention", icon=":material/grid_view:", key=f"search:cross:{rank}", type="tertiary",
        help="The attention of the cross-encoder across query and text", on_click=_attention, args=(query, text, name),
    )  # fmt: skip


def _attention(query: str, text: str, name: str) -> None:
    """Let “Heads” open with the pair in the cross-encoder. For callbacks."""
    state.put_all({
        ViewParams.text: query, ViewParams.pair: text, ViewParams.model: "other", ViewParams.source: name,
        ViewParams.norm: "trained",
    })  # fmt: skip
    selection.clear()
    links.open_later("heads")
