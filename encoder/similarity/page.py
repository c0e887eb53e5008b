"""Late interaction with a page: MaxSim of the tokens of a query and the patches of an image of a page (ColPali).

    >>> found = similarity.page_interaction(model, "where does a river cross?", page)
    >>> found.over_page().shape     # [T_q, R, C]: each query token's product with every place of the page

The score is an exact sum over pairs of tokens (`encoder.similarity.late`), and so over places of the page (Faysse et
al. 2024, "ColPali"): each token of a query adds its product at one token of the page. A page has its tiles and, in one
more tile, itself as a whole. Both are put together: a patch of the whole page lies over all patches that it shows.

Shapes: T_q tokens of the query, T_d tokens of the page, R x C patches of the page.
"""

from dataclasses import dataclass

import numpy as np

from encoder.encoders.joint import JointEncoder
from encoder.encoders.page import PageEncoder
from encoder.errors import EncoderError
from encoder.inputs.layout import PageGrid
from encoder.similarity.late import LateInteraction, token_vectors
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class PageInteraction(LateInteraction):
    """How tokens of a query and of a page make their score. grid: where the tokens of the page are."""

    grid: PageGrid

    def over_page(self) -> np.ndarray:
        """[T_q, R, C]: the largest product of each query token at each place: that of the patch of a tile, or that of
        the patch of the whole page which lies over it."""
        own = self._of_tiles(self.matrix)
        return own if not self.grid.whole else np.maximum(own, self._of_whole(self.matrix))

    @property
    def added(self) -> np.ndarray:
        """[T_q, T_d]: what each pair adds to the score: the product of a query token with its best token, else 0."""
        found = np.zeros_like(self.matrix)
        rows = np.arange(len(self.matrix))
        found[rows, self.best] = self.matrix[rows, self.best]
        return found

    def shares(self) -> np.ndarray:
        """[T_q, R, C]: what each place adds to the score; a patch of the whole page adds equally at its places.

        With `beside` the shares add up to the score.
        """
        own = self._of_tiles(self.added)
        if not self.grid.whole:
            return own
        n_places = self.grid.rows * self.grid.columns // self.grid.side**2
        return own + self._of_whole(self.added) / n_places

    def added_over_page(self) -> np.ndarray:
        """[R, C]: what each place adds to the score, over all tokens of the query."""
        total: np.ndarray = self.shares().sum(axis=0)
        return total

    @property
    def score_beside(self) -> float:
        """What the words around the page add to the score, over all tokens of the query."""
        return float(self.beside.sum())

    @property
    def beside(self) -> np.ndarray:
        """[T_q]: what the words of the prompt add, which stand around the page."""
        return self.added[:, list(self.grid.special)].sum(axis=1)

    def _of_tiles(self, values: np.ndarray) -> np.ndarray:
        return values[:, list(self.grid.patches)].reshape(-1, self.grid.rows, self.grid.columns)

    def _of_whole(self, values: np.ndarray) -> np.ndarray:
        """Values of the patches of the whole page, at every place that they lie over."""
        side = self.grid.side
        squares = values[:, list(self.grid.whole)].reshape(-1, side, side)
        return squares.repeat(self.grid.rows // side, axis=1).repeat(self.grid.columns // side, axis=2)


def page_interaction(model: JointEncoder, query: str, page: object) -> PageInteraction:
    """MaxSim of a query and a page, which is an image as `model.image.trace` accepts it, or its Trace.

    Raises EncoderError for a model without vectors of tokens, and the errors of both towers.
    """
    reader = model.other
    if not isinstance(reader, PageEncoder) or reader.late is None:
        raise EncoderError(f"{model.name} has no vectors of tokens for pages: choose a model such as ColModernVBERT.")
    trace = page if isinstance(page, Trace) else reader.trace(page)
    if not isinstance(trace.layout, PageGrid):
        raise EncoderError("This trace is not of a page: specify a trace of model.image.")
    asked, q = token_vectors(model.text, query, "query")
    matrix = (q @ reader.token_vectors(trace.output).T).cpu().numpy()
    return PageInteraction(matrix, asked, trace.labels, trained=True, grid=trace.layout)
