"""Texts: your own texts by meaning, as a list, and as points of a plane."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import search
from encoder.figures.search import text_plane
from pages.components import plot
from pages.core.inputs import kept_file
from pages.core.stores import results
from pages.core.view import View, ViewParams
from pages.core.widgets import file_name
from pages.core.words import errors_said, number, opening, plain
from pages.search import sources
from pages.search.params import Params
from pages.state import links, state

#: Hits on the page.
SHOWN = 8
#: Characters of a hit that the page shows.
BRIEF = 200
#: Points of the map.
MOST_POINTS = 4_000


def show(view: View) -> None:
    """The page for texts: where they come from, the query and the nearest ones, next to the map of all."""
    opening("Which of your texts are nearest to a query, by the cosine of their sentence vectors?")
    words, picture = st.columns([28, 72], gap="medium")
    with words, errors_said():
        given = sources.choose()
        typed = state.bound(  # without a file, too: a query that was typed stays when the server has lost the file
            st.text_input, Params.query, "Query", placeholder=view.text, help="Empty: your sentence is the query."
        )
        if given is None:
            st.info("Choose a file to begin.", icon=":material/upload_file:")
        else:
            if isinstance(given, sources.Given):
                kept_file.say_left_out(given.problems, given.n_left_out, "searched", "search-problems")
            found = sources.collection(view, given)
            if found is not None:
                _draw(view, found, typed if typed.strip() else view.text, picture)
    sources.say_limits()


def _draw(view: View, found: search.Collection, query: str, picture: DeltaGenerator) -> None:
    """The texts nearest to the query, the map of all texts, and the files."""
    hits = sources.nearest(view, found, query, SHOWN) if query.strip() else []
    if found.n_cut:
        st.caption(
            f"Longer than {view.loaded.max_embed_tokens:,} tokens: {found.n_cut:,} of {len(found):,} texts. Their "
            "vectors are those of their beginnings."
        )
    if not hits:
        st.info("Type a query above.", icon=":material/search:")
    for rank, (place, cosine) in enumerate(hits, 1):
        hit(query, found.texts[place], rank, cosine)
    with picture:
        draw_plane(found, [place for place, _ in hits])
        files(view, found)


def hit(query: str, text: str, rank: int, cosine: float) -> None:
    """One text and its cosine; a button opens the similarity of query and text."""
    words, way = st.columns([5, 2], gap="xsmall")
    words.markdown(f"{rank}. **{number(cosine)}** {plain(brief(text))}")
    if links.exists("similarity"):
        way.button(
            "Why alike?",
            icon=":material/join_inner:",
            key=f"search:why:{rank}",
            type="tertiary",
            on_click=explain,
            args=(query, text),
        )


def brief(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= BRIEF else text[:BRIEF] + " …"


def explain(query: str, text: str) -> None:
    """Let “Sentence similarity” open with query and text. For callbacks: the sentence is drawn first."""
    state.put(ViewParams.text, query)
    state.put(ViewParams.pair, "")
    state.put_named(similar_to=text, token_a=None, token_b=None)
    links.open_later("similarity")


def files(view: View, found: search.Collection) -> None:
    """Downloads, from which this page makes the same collection again."""
    name = file_name(f"collection-{view.loaded.name}")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "Texts (Parquet)",
            lambda: search.to_parquet(found),
            f"{name}.parquet",
            "application/vnd.apache.parquet",
            key="search:save-texts",
            on_click="ignore",
            icon=":material/download:",
        )
        st.download_button(
            "Vectors (safetensors)",
            lambda: search.to_safetensors(found),
            f"{name}.safetensors",
            "application/octet-stream",
            key="search:save-vectors",
            on_click="ignore",
            icon=":material/download:",
        )
        st.caption("“A saved collection” above opens these two files.")


def draw_plane(found: search.Collection, nearest: list[int]) -> None:
    """All texts as points, the nearest to the query in another colour."""
    if len(found) < 3:
        st.caption("A map needs at least 3 texts.")
        return
    # Computed once for a collection.
    points, shares = results.known("search-pca", found) or results.keep("search-pca", found, found.plane(), most=1)
    shown = sorted({*range(0, len(found), -(-len(found) // MOST_POINTS)), *nearest})
    near = [shown.index(place) for place in nearest]
    plot(
        text_plane(points[shown], [found.texts[place] for place in shown], shares, near),
        key="search:map",
        alt="All texts as points in the plane of their two largest principal components; the nearest to the query have "
        "another colour.",
    )
    part = "" if len(shown) == len(found) else f"Shown: {len(shown):,} of {len(found):,} texts. "
    st.caption(
        f"{part}Two components have {sum(shares):.0%} of the variance, so near points need not have similar vectors."
    )
