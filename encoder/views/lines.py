"""Heads' attention as lines from query tokens on the left to key tokens on the right.

Shapes: N heads, R queries (rows), C keys (columns).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from encoder.documents.document import Section
from encoder.drawing.picture import EXACT_BYTES, Picture, attention_lines
from encoder.errors import EncoderError
from encoder.figures.attention import names_of_cells
from encoder.figures.colours import HEADS
from encoder.figures.numbers import three_digits
from encoder.maps import beyond
from encoder.maps.aggregate import TokenMap, dense_map
from encoder.trace.trace import Trace
from encoder.views.options import AS_COMPUTED, Options, Place
from encoder.views.view import STRONGEST, HeadView, named, places_in, selected_tokens, view_code

#: Heads that readers can tell apart by colour.
MOST_HEADS = len(HEADS)


@dataclass(frozen=True, repr=False)
class Lines(HeadView):
    """The view Lines. queries, keys: the selected rows and columns of the maps."""

    maps: tuple[TokenMap, ...]
    threshold: float
    queries: tuple[int, ...]
    keys: tuple[int, ...]

    @property
    def title(self) -> str:
        return f"{self.name}, as lines"

    @cached_property
    def weights(self) -> np.ndarray:
        """float32 [N, R, C]."""
        return np.stack([one.weights.numpy() for one in self.maps])

    @cached_property
    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(head, row, column) of each line, int [n] in this order.

        Lines are the weights from the threshold on; where tokens are selected, only theirs.
        """
        kept = self.weights >= self.threshold
        for axis, places in ((1, self.queries), (2, self.keys)):
            if places:
                inside = np.zeros(kept.shape[axis], bool)
                inside[list(places)] = True
                kept &= inside[None, :, None] if axis == 1 else inside
        heads, rows, columns = np.nonzero(kept)
        return heads, rows, columns

    def frame(self) -> pd.DataFrame:
        """A row a line: layer, head, query, key and weight.

        query, key: position of the first token that a row or column of the maps shows.
        """
        heads, rows, columns = self.cells
        first, (queries, keys) = self.maps[0], self.maps[0].places
        names = [tuple("mean" if at is None else at for at in place) for place in self.heads]
        return pd.DataFrame(
            {
                "layer": [names[head][0] for head in heads],
                "head": [names[head][1] for head in heads],
                "query": [queries[row] for row in rows],
                "query_token": [first.query_labels[row] for row in rows],
                "key": [keys[column] for column in columns],
                "key_token": [first.key_labels[column] for column in columns],
                "weight": self.weights[self.cells],
            }
        )

    def picture(self, exact_bytes: int = EXACT_BYTES) -> Picture:
        """The lines, which a notebook shows. exact_bytes: more bytes of weights are rounded to 16 bits."""
        first = self.maps[0]
        queries, keys = first.query_labels, first.key_labels
        return attention_lines(
            self.weights,
            queries,
            key_tokens=keys,
            names=names_of_cells(list(queries), list(keys), first.places),
            labels=self.names,
            name=self.title,
            alt=f"Attention as lines: {len(queries)} query tokens on the left, {len(keys)} key tokens on the right; "
            f"{', '.join(self.names)}.",
            threshold=self.threshold,
            queries=self.queries,
            keys=self.keys,
            exact_bytes=exact_bytes,
        )

    @property
    def _selected(self) -> tuple[str, str]:
        """The selected queries, and the selected keys, as text."""
        return self._named(self.queries, self.keys)

    def _named(self, rows: Sequence[int], columns: Sequence[int]) -> tuple[str, str]:
        """Some queries, and some keys, as text."""
        first, (queries, keys) = self.maps[0], self.maps[0].places
        return named(first.query_labels, rows, queries), named(first.key_labels, columns, keys)

    def sentences(self) -> list[str]:
        said = [
            "A line's strength is the weight from the token on the left to the token on the right. Point at a line or "
            "token for its numbers."
        ]
        queries, keys = self._selected
        others = "are strong, the others faint. The number next to a"
        if queries:
            said.append(f"Lines from {queries} {others} key is the sum of their weights.")
        if keys:
            said.append(f"Lines to {keys} {others} query is the sum of its weights to them.")
        return [" ".join([*said, self._strongest_line()]), *self.options.sentences()]

    def _strongest_line(self) -> str:
        """How many weights reach the threshold, and the strongest of them."""
        heads, rows, columns = self.cells
        least = three_digits(self.threshold)
        if not len(heads):
            return f"No weight is {least} or more, so the drawing has no line."
        n_heads, n_rows, n_columns = self.weights.shape
        every = n_heads * (len(self.queries) or n_rows) * (len(self.keys) or n_columns)
        counted = f"The strongest of {every:,} weights"
        if self.threshold:
            counted = f"{len(heads):,} of {every:,} weights are {least} or more; the strongest"
        weights = self.weights[self.cells]
        most = int(weights.argmax())
        query, key = self._named([int(rows[most])], [int(columns[most])])
        return f"{counted} is {three_digits(float(weights[most]))}, from {query} to {key} in {self.names[heads[most]]}."

    def strongest(self) -> pd.DataFrame:
        """The strongest lines, strongest first; weights of 0, as behind a causal mask, are none."""
        lines = self.frame().query("weight > 0")
        table = lines.sort_values("weight", ascending=False, kind="stable").head(STRONGEST)
        table = table.rename(columns={"query_token": "from", "key_token": "to"})
        return table.drop(columns=["layer", "head"]) if len(self.heads) == 1 else table

    def sections(self) -> list[Section]:
        return [
            Section(self.title, picture=self.picture(), sentences=self.sentences()),
            Section("The strongest of these weights", table=self.strongest()),
        ]

    def facts(self) -> dict[str, str]:
        first, *more = self.names
        said = {"View": "lines", self.kind: first}
        if more:
            said["Overlaid heads"] = ", ".join(more)
        if self.threshold:
            said["Minimum weight"] = f"{three_digits(self.threshold)}; the numbers next to the tokens count all weights"
        return said | self.options.facts()

    def code(self) -> str:
        arguments = {"threshold": self.threshold, **selected_tokens(self.maps[0], self.queries, self.keys)}
        return view_code(f"lines(trace, {list(self.heads)}", arguments, self.options)


def too_long(trace: Trace) -> str:
    """Why a text has no lines, and what to do; "" where it has."""
    return beyond(trace, "Lines work", "Choose the map, which shows texts of any length, or a shorter text.")


def lines(
    trace: Trace,
    heads: Sequence[Place],
    *,
    threshold: float = 0.0,
    queries: Sequence[int] = (),
    keys: Sequence[int] = (),
    options: Options = AS_COMPUTED,
    maps: Sequence[TokenMap] | None = None,
) -> Lines:
    """Lines of one head, or of several drawn over one another.

    Args:
        trace: of at most 512 tokens.
        heads: (layer, head) of each, 1 to 12; None: averaged over.
        threshold: the smallest weight that is drawn as a line.
        queries, keys: selected token positions; those that the options do not show are left out.
        options: how the weights are shown.
        maps: the maps of the heads with these options, where the caller has them already.

    Raises EncoderError for too many tokens or heads, or a layer or head that the model does not have.
    """
    trace = trace if options.padding else trace.unpadded
    if said := too_long(trace):
        raise EncoderError(said)
    if not 0 < len(heads) <= MOST_HEADS:
        raise EncoderError(f"{len(heads)} heads over one another: choose 1 to {MOST_HEADS}.")
    if maps is None:
        maps = [dense_map(trace, layer, head, **options.cells) for layer, head in heads]
    rows, columns = places_in(queries, maps[0].row_of), places_in(keys, maps[0].column_of)
    return Lines(trace, tuple(heads), options, tuple(maps), threshold, rows, columns)
