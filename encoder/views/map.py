"""A head's attention as a map: rows are queries, columns are keys.

Shapes: R queries (rows), C keys (columns).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.documents.document import Section
from encoder.documents.tables import attention_frame
from encoder.figures import attention_heatmap
from encoder.figures.attention import Scale
from encoder.maps import EXACT_TOKENS, HeadMap, head_map
from encoder.measure import ranking
from encoder.trace.tokens import sentences as sentences_of
from encoder.trace.trace import Trace
from encoder.views.options import AS_COMPUTED, Options
from encoder.views.view import STRONGEST, HeadView, places_in, selected_tokens, view_code


@dataclass(frozen=True, repr=False)
class Map(HeadView):
    """The view Map. queries, keys: the selected rows and columns; colours: the theme, one of `colours.THEMES`."""

    shown: HeadMap
    queries: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    colours: str = "blue"

    @property
    def title(self) -> str:
        return self.name

    @property
    def is_exact(self) -> bool:
        """Whether each cell is one weight. In long texts a cell is the largest weight of a block of tokens."""
        most = max(len(self.shown.query_labels), len(self.shown.key_labels))
        return most <= EXACT_TOKENS or self.options.words or self.options.pairs != "all"

    @cached_property
    def cells(self) -> tuple[np.ndarray, int]:
        """(float32 [rows, columns], tokens along the side of a cell)."""
        rows, columns = (slice(0, len(places)) for places in self.shown.places)
        size = max(rows.stop, columns.stop) if self.is_exact else EXACT_TOKENS
        weights, block = self.shown.pooled(size, rows, columns)
        return weights.cpu().numpy(), block

    @cached_property
    def parts(self) -> tuple[int | None, int | None]:
        """The row and the column with which the second sentence of a pair begins; None without a border."""
        if self.trace.source is None or self.trace.source.pair is None:
            return None, None
        of = sentences_of(self.trace)
        rows, columns = ([of[place] for place in places] for places in self.shown.places)
        return tuple(side.index(1) or None if 1 in side else None for side in (rows, columns))  # type: ignore[return-value]

    def frame(self) -> pd.DataFrame:
        """A row a cell: layer, head, and the columns of `tables.attention_frame`.

        query, key: position of the first token that a row or column of the map shows.
        """
        weights, block = self.cells
        table = attention_frame(weights, self.shown.query_labels, key_labels=self.shown.key_labels, block=block)
        if block == 1:
            for axis, positions in zip(("query", "key"), self.shown.places, strict=True):
                table[axis] = np.array(positions)[table[axis]]
        layer, head = self.heads[0]
        table.insert(0, "layer", "mean" if layer is None else layer)
        table.insert(1, "head", "mean" if head is None else head)
        return table

    def figure(self) -> go.Figure:
        """The map as a heatmap."""
        weights, block = self.cells
        return attention_heatmap(
            weights,
            self.shown.query_labels,
            key_labels=self.shown.key_labels,
            scale=self.scale(weights, block),
            log=self.options.log,
            colours=self.colours,
            selected=(self.queries, self.keys),
            block=block,
            places=self.shown.places if block == 1 else None,
            parts=self.parts,
        )

    def scale(self, weights: np.ndarray, block: int, first: tuple[int, int] = (0, 0)) -> Scale:
        """Where the colours of cells [R, C] of this map end. first: query and key token of the first cell of blocks."""
        if self.options.scale_to_max or not self.options.scale_to_words:
            return "head" if self.options.scale_to_max else "fixed"
        if self.is_exact:
            rows, columns = ([range(place, place + 1) for place in places] for places in self.shown.places)
        else:
            n_tokens = self.trace.n_tokens
            rows, columns = (
                ranking.token_blocks(start, count, block, n_tokens)
                for start, count in zip(first, weights.shape, strict=True)
            )
        return ranking.largest_between_words(weights, self.trace, rows, columns, ranking.uniform(self.trace))

    def sentences(self) -> list[str]:
        block = self.cells[1]
        if block == 1:
            return self.options.map_sentences()
        said = (
            f"{len(self.shown.query_labels):,} tokens: each cell is the largest weight among {block} × {block} pairs "
            "of tokens. Rows are query tokens, columns key tokens."
        )
        return [said, *self.options.sentences()]

    def strongest(self) -> pd.DataFrame:
        """The strongest weights above 0, strongest first; of a long text single weights, too."""
        shown, (queries, keys) = self.shown, self.shown.places
        rows = [
            (queries[row], shown.query_labels[row], keys[column], shown.key_labels[column], weight)
            for row, column, weight in shown.strongest(STRONGEST)
            if weight > 0  # a causal mask leaves none
        ]
        return pd.DataFrame(rows, columns=["query", "from", "key", "to", "weight"])

    def sections(self) -> list[Section]:
        return [
            Section(self.title, figure=self.figure(), sentences=[" ".join(self.sentences())]),
            Section("The strongest weights of this map", table=self.strongest()),
        ]

    def facts(self) -> dict[str, str]:
        return {"View": "map", self.kind: self.name} | self.options.facts() | {"Colours": self.options.colours}

    def code(self) -> str:
        layer, head = self.heads[0]
        arguments = {
            **selected_tokens(self.shown, self.queries, self.keys),
            "colours": "" if self.colours == "blue" else self.colours,
        }
        return view_code(f"map(trace, {layer}, {head}", arguments, self.options, draw="figure")


def map(
    trace: Trace,
    layer: int | None,
    head: int | None,
    *,
    queries: Sequence[int] = (),
    keys: Sequence[int] = (),
    options: Options = AS_COMPUTED,
    colours: str = "blue",
    shown: HeadMap | None = None,
) -> Map:
    """The attention map of a head, or an average.

    Args:
        trace: of any length; above 512 tokens the options `pairs` and `words` are refused.
        layer, head: None: averaged over.
        queries, keys: selected token positions; those that the options do not show are left out.
        options: how the weights are shown.
        colours: the theme, one of `colours.THEMES`.
        shown: the map with these options, where the caller has it already.

    Raises EncoderError for a layer, head or option that is not there.
    """
    trace = trace if options.padding else trace.unpadded
    if shown is None:
        shown = head_map(trace, layer, head, **options.cells)
    rows, columns = places_in(queries, shown.row_of), places_in(keys, shown.column_of)
    return Map(trace, ((layer, head),), options, shown, rows, columns, colours)
