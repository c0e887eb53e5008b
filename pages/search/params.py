"""The values of the page “Search” in the address. The texts are the reader's own and stay out of it."""

from dataclasses import dataclass

from pages.state.params import Param, choice, string
from pages.state.url_state import state

SOURCES = {"lines": "Lines", "wordnet": "WordNet’s examples", "file": "A file", "saved": "A saved collection"}
PLANES = {"pca": "PCA", "umap": "UMAP"}


@state.register
@dataclass(frozen=True)
class Params:
    """Where the texts come from, the query, a cross-encoder, and how the map is made."""

    source: Param[str] = choice("lines", SOURCES, url="search_in")
    query: Param[str] = string("an animal that sleeps", url="query")
    cross: Param[str] = string(url="cross_encoder")
    plane: Param[str] = choice("pca", PLANES, url="map_by")
