"""Texts: your own texts by meaning."""

import streamlit as st

from encoder import search
from encoder.search import Collection
from pages.core.inputs import kept_file
from pages.core.view import View, ViewParams
from pages.core.widgets import file_name
from pages.core.words import errors_said, number, plain
from pages.search import indexed, plane, reranked, sources
from pages.search.params import Params
from pages.state import links, state

#: Hits on the page.
SHOWN = 8
#: Characters of a hit that the page shows.
BRIEF = 200


def show(view: View) -> None:
    """The page for texts: where they come from, the query, and the nearest ones."""
    st.markdown("Which of your texts are nearest to a query, by the cosine of their sentence vectors?")
    with errors_said():
        given = sources.choose()
        if given is None:
            st.info("Choose a file to begin.", icon=":material/upload_file:")
        else:
            if isinstance(given, sources.Given):
                kept_file.say_left_out(given.problems, given.n_left_out, "searched", "search-problems")
            found = sources.collection(view, given)
            if found is not None:
                _draw(view, found)
    sources.say_limits()


def _draw(view: View, found: Collection) -> None:
    """The query, its nearest texts, the map of all texts, and the files."""
    typed = state.bound(
        st.text_input, Params.query, "Query", placeholder=view.text, help="Empty: your sentence is the query."
    )
    query = typed if typed.strip() else view.text
    searched = indexed.of(found)
    hits = sources.nearest(view, searched, query, search.TOP) if query.strip() else []
    if found.n_cut:
        st.caption(
            f"Longer than {view.loaded.max_embed_tokens:,} tokens: {found.n_cut:,} of {len(found):,} texts. Their "
            "vectors are those of their beginnings."
        )
    if not hits:
        st.info("Type a query above.", icon=":material/search:")
    for rank, (place, cosine) in enumerate(hits[:SHOWN], 1):
        hit(query, found.texts[place], rank, cosine)
    plane.draw(found, [place for place, _ in hits[:SHOWN]])
    reranked.draw(view, found, query, hits)
    files(view, found)


def hit(query: str, text: str, rank: int, cosine: float) -> None:
    """One text and its cosine; a button opens the similarity of query and text."""
    brief = text if len(text) <= BRIEF else text[:BRIEF] + " …"
    words, way = st.columns([4, 1], vertical_alignment="center")
    words.markdown(f"{rank}. **{number(cosine)}** {plain(brief)}")
    if links.exists("similarity"):
        way.button(
            "Why alike?", icon=":material/join_inner:", key=f"search:why:{rank}", type="tertiary",
            on_click=explain, args=(query, text),
        )  # fmt: skip


def explain(query: str, text: str) -> None:
    """Let “Sentence similarity” open with query and text. For callbacks: the sentence is drawn first."""
    state.put(ViewParams.text, query)
    state.put(ViewParams.pair, "")
    state.put_named(similar_to=text, token_a=None, token_b=None)
    links.open_later("similarity")


def files(view: View, found: Collection) -> None:
    """Downloads, from which this page makes the same collection again."""
    name = file_name(f"collection-{view.loaded.name}")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "Texts (Parquet)", lambda: search.to_parquet(found), f"{name}.parquet", "application/vnd.apache.parquet",
            key="search:save-texts", on_click="ignore", icon=":material/download:",
        )  # fmt: skip
        st.download_button(
            "Vectors (safetensors)", lambda: search.to_safetensors(found), f"{name}.safetensors",
            "application/octet-stream", key="search:save-vectors", on_click="ignore", icon=":material/download:",
        )  # fmt: skip
        st.caption("“A saved collection” above opens these two files.")
