"""How well each head finds pairs of tokens that somebody knows: coreference, dependencies, words of a translation.

For each query token that has a pair, a head predicts the key with its largest weight, special tokens left out (Clark et
al. 2019 measure syntax so). Precision: the share of these predictions that are pairs. Recall: the share of pairs that
are predicted. The best of many heads is found on the same sentence, so it is better there than on a new one.

Shapes: L layers, H heads, T tokens, P pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from encoder.disk import read_regular
from encoder.errors import EncoderError, quoted
from encoder.inputs import read as rows
from encoder.trace.trace import Trace

Pair = tuple[int, int]
#: Pairs that are read, and bytes of a file.
MOST_PAIRS, MOST_BYTES = 10_000, 1_000_000


@dataclass(frozen=True, eq=False)
class AlignmentScores:
    """Scores of all heads. precision, recall [L, H]; pairs [P]: (query, key); chance: the expected precision of a head
    that picks keys at random; offset: the best fixed distance from query to key, and its precision.
    """

    precision: np.ndarray
    recall: np.ndarray
    pairs: tuple[Pair, ...]
    chance: float
    offset: tuple[int, float]

    @property
    def best(self) -> tuple[int, int]:
        """Layer and head with the highest precision, then recall."""
        both = self.precision + 1e-6 * self.recall
        layer, head = np.unravel_index(int(both.argmax()), both.shape)
        return int(layer), int(head)

    def frame(self) -> pd.DataFrame:
        """One row a head, the best first."""
        layer, head = (place.ravel() for place in np.indices(self.precision.shape))
        found = pd.DataFrame(
            {"layer": layer, "head": head, "precision": self.precision.ravel(), "recall": self.recall.ravel()}
        )
        return found.sort_values(["precision", "recall"], ascending=False, kind="stable", ignore_index=True)


def score_heads(trace: Trace, pairs: Sequence[Pair]) -> AlignmentScores:
    """Score all heads against pairs (query, key) of token numbers. Raises EncoderError for pairs that are not there."""
    known = tuple(dict.fromkeys((int(query), int(key)) for query, key in pairs))
    if not known:
        raise EncoderError("The alignment has no pair: specify at least one.")
    special = np.array(trace.source.special if trace.source is not None else [False] * trace.n_tokens)
    for pair in known:
        for place in pair:
            trace.check_token(place)
            if special[place]:
                raise EncoderError(f"Token {place} is special ({trace.labels[place]}): pair other tokens.")
    queries = sorted({query for query, _ in known})
    usable = np.tile(~special & trace.mask.cpu().numpy(), (len(queries), 1))
    if trace.config.causal:
        usable &= np.arange(trace.n_tokens) <= np.array(queries)[:, None]
    return scores_of_rows(known, lambda query: trace.rows_of_token(query).cpu().numpy(), usable)


def scores_of_rows(pairs: Sequence[Pair], row: Callable[[int], np.ndarray], usable: np.ndarray) -> AlignmentScores:
    """Score heads by their rows of weights. row: query -> [L, H, T]; usable [queries that have a pair, T]: the keys
    that a head may predict for each, in the order of queries.
    """
    queries = sorted({query for query, _ in pairs})
    truth = np.zeros(usable.shape, dtype=bool)
    for query, key in pairs:
        truth[queries.index(query), key] = True
    found: np.ndarray | int = 0
    for place, query in enumerate(queries):
        predicted = np.where(usable[place], row(query), -np.inf).argmax(-1)  # [L, H]
        found = found + truth[place][predicted]
    return AlignmentScores(
        precision=np.asarray(found) / len(queries),
        recall=np.asarray(found) / len(pairs),
        pairs=tuple(pairs),
        chance=float((truth.sum(1) / np.maximum(1, usable.sum(1))).mean()),
        offset=_best_offset(queries, truth),
    )


def _best_offset(queries: list[int], truth: np.ndarray) -> tuple[int, float]:
    """The distance key - query that is right most often, and how often."""
    places, keys = np.nonzero(truth)
    distances, counts = np.unique(keys - np.array(queries)[places], return_counts=True)
    best = int(counts.argmax())
    return int(distances[best]), float(counts[best] / len(queries))


def read_pairs(given: str | bytes | Path, trace: Trace) -> list[Pair]:
    """Pairs of a CSV: the path of a file, or its content as bytes.

    Each row has a query and a key, with or without a heading. A token is its number from 0, or its text where that
    occurs once in the input. Raises EncoderError, which names the line.
    """
    if isinstance(given, bytes):
        content = given
    else:
        path = Path(given)
        try:
            content = read_regular(path, MOST_BYTES)
        except OSError as error:
            raise EncoderError(f"{path.name} cannot be read ({error.strerror}): specify a CSV file.") from None
    limits = rows.Limits(file_bytes=MOST_BYTES, texts=MOST_PAIRS)
    pairs: list[Pair] = []
    for row in rows.read(content, "The alignment.csv", labels=(("key",),), limits=limits):
        if isinstance(row, rows.BrokenRow):
            raise EncoderError(f"The alignment cannot be used. {row} Write query,key.")
        query, key = row.text, row.labels[0] or ""
        if query + key and (pairs or [query.lower(), key.lower()] != ["query", "key"]):
            pairs.append((_token(query, trace, row.number), _token(key, trace, row.number)))
    return pairs


def _token(cell: str, trace: Trace, line: int) -> int:
    """The number of a token, from its number or its text."""
    if cell.isascii() and cell.isdigit():
        if int(cell) < trace.n_real:
            return int(cell)
        raise EncoderError(f"Line {line}: no token {cell} in this {trace.kind}: choose 0 to {trace.n_real - 1}.")
    places = [place for place, label in enumerate(trace.labels[: trace.n_real]) if label.lower() == cell.lower()]
    if len(places) != 1:
        count = "is not a token of" if not places else f"occurs {len(places)} times in"
        raise EncoderError(
            f"Line {line}: {quoted(cell)} {count} this {trace.kind}: specify the token's number, from 0."
        )
    return places[0]
