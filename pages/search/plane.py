"""The map of all texts in the plane: by principal components, or by UMAP where it is installed."""

import numpy as np
import streamlit as st

from encoder import search
from encoder.figures.search import text_plane
from encoder.search import Collection
from encoder.trace import gradual
from pages.components import plot
from pages.core.access import visitors
from pages.core.stores import results
from pages.core.words import errors_said
from pages.search.params import PLANES, Params
from pages.state import state

#: Points of the map.
MOST_POINTS = 4_000


def draw(found: Collection, nearest: list[int]) -> None:
    """All texts as points, the nearest to the query in another colour."""
    if len(found) < 3:
        st.caption("A map needs at least 3 texts.")
        return
    points, shares = None, None
    if _wants_umap():
        with errors_said():
            points = _umap(found)
        if points is None:
            return
        said = "UMAP keeps neighbours near each other. Neither the axes nor distances between groups have a meaning."
        alt = "All texts as points: UMAP keeps neighbours near each other"
    else:
        points, shares = _pca(found)
        said = f"Two components have {sum(shares):.0%} of the variance, so near points need not have similar vectors."
        alt = "All texts as points in the plane of their two largest principal components"
    shown = sorted({*range(0, len(found), -(-len(found) // MOST_POINTS)), *nearest})
    near = [shown.index(place) for place in nearest]
    plot(
        text_plane(points[shown], [found.texts[place] for place in shown], shares, near), key="search:map",
        alt=f"{alt}; the nearest to the query have another colour.",
    )  # fmt: skip
    part = "" if len(shown) == len(found) else f"Shown: {len(shown):,} of {len(found):,} texts. "
    st.caption(part + said)


def _wants_umap() -> bool:
    """The control of the map. A shared server has none: UMAP takes a process of its own for each visitor."""
    if not visitors.for_one_person() or not search.umap_is_installed():
        if state.get(Params.plane) == "umap":
            st.caption('Shown: PCA. UMAP works on your own machine: pip install "encoderscope[umap]".')
        return False
    return state.segmented(Params.plane, "Map", PLANES, label_visibility="collapsed") == "umap"


def _pca(found: Collection) -> tuple[np.ndarray, np.ndarray]:
    """Points, and shares of the variance; computed once for a collection."""
    return results.known("search-pca", found) or results.keep("search-pca", found, found.plane(), most=1)


def _umap(found: Collection) -> np.ndarray | None:
    """Points; None while they wait for a click."""
    # UMAP does not say how far it is: the bar nears its end, and never reaches it.
    return results.of_work(
        "search-umap", found,
        lambda: gradual.reported(search.iter_umap(found), lambda took: (took / (took + 60), f"UMAP: {took:.0f} s")),
        label="Compute UMAP", ask="UMAP takes a minute, or minutes for many texts:", own=True, most=1,
    )  # fmt: skip
