"""The map of the collection: all texts and the query as points of a plane, and the files of the collection."""

import numpy as np
import streamlit as st

from encoder import search
from encoder.figures.search import text_plane
from pages.components import on_click, plot
from pages.components.events import PlotEvent
from pages.core.stores import results
from pages.core.widgets import answer, file_name
from pages.core.words import gestures
from pages.state import state
from pages.texts.params import Params
from pages.texts.subject import Subject

#: Points of the map, and hits that have another colour.
MOST_POINTS, NEAR = 4_000, 8


def draw(subject: Subject) -> None:
    """All texts as points; a click selects one."""
    if subject.ranking is None or len(subject.ranking.scores) < 3:
        st.info("A map needs at least 3 texts.")
        return
    ranking, found = subject.ranking, subject.ranking.collection
    # Computed once for a collection.
    points, shares = results.known("search-pca", found) or results.keep("search-pca", found, found.plane(), most=1)
    hits = [one.place for one in ranking.rows[:NEAR]]
    shown = sorted({*range(0, len(found), -(-len(found) // MOST_POINTS)), *hits})
    others = [place for place in shown if place not in hits]
    selected = subject.place
    with answer.area():
        answer.draw(
            f"{len(found):,} texts, the query and the {len(hits)} texts nearest to it. "
            f"{gestures.invitation('A click selects a text.')}"
        )
        plot(
            text_plane(
                points[shown],
                [found.texts[place] for place in shown],
                shares,
                [shown.index(place) for place in hits],
                query=found.on_plane(
                    subject.view.loaded.searching("query").embed(subject.query)[0].cpu().float().numpy()
                ),
                selected=shown.index(selected) if selected in shown else None,
            ),
            key="search:map",
            alt="All texts as points in the plane of their two largest principal components; the nearest to the query "
            "have another colour.",
            on_event=on_click(point=lambda event: _select((others, sorted(hits)), event)),
        )
    part = "" if len(shown) == len(found) else f"Shown: {len(shown):,} of {len(found):,} texts. "
    st.caption(
        f"{part}Two components have {np.sum(shares):.0%} of the variance, so near points need not have similar vectors."
    )
    _files(subject)


def _select(traces: tuple[list[int], list[int]], event: PlotEvent) -> None:
    """Select the text of a point: the first trace has the other texts, the second the hits."""
    trace, point = event["trace"], event["point"]
    if trace < len(traces) and point < len(traces[trace]):
        state.put_all({Params.place: traces[trace][point], Params.similar_to: ""})


def _files(subject: Subject) -> None:
    """Downloads, from which this page makes the same collection again."""
    assert subject.ranking is not None
    found, name = subject.ranking.collection, file_name(f"collection-{subject.view.loaded.name}")
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
