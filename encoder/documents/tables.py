"""The numbers of pages as tables: a row for each place of a number, a column for each kind of number.

Shapes: L layers, T tokens (queries i, keys j), D d_model, K width of a head.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from encoder.explain import TokenFlow
from encoder.explain.by_hand import Claim
from encoder.explain.cost import Cost
from encoder.maps import EXACT_TOKENS, aggregate
from encoder.measure import norms, patches, positions
from encoder.measure.attention_rollout import rollout
from encoder.measure.map_comparison import Cell, Comparison
from encoder.measure.norm_weighting import layer_shares, norm_weighted
from encoder.measure.pair_scores import Scores
from encoder.measure.residual_stream import layer_entropy
from encoder.measure.residual_stream import measure as measure_stream
from encoder.similarity import Attribution, PageInteraction, WordScores
from encoder.trace.trace import Trace


def patches_frame(trace: Trace, token: int) -> pd.DataFrame:
    """What one token of an image attends to: a row for each layer, head and key."""
    rows = patches.rows_of_token(trace, token).cpu().numpy()
    frame = cells_of("layer", "head", axis(trace.labels, "key_position", "key"), numbers={"weight": rows})
    frame.insert(2, "query", trace.labels[token])
    return frame


def captions_frame(texts: Sequence[str], found: Scores) -> pd.DataFrame:
    """The scores of one image: a row for each caption."""
    numbers = {"cosine": found.cosines, "logit": found.logits, "probability": found.probabilities}
    return pd.DataFrame({"caption": list(texts)} | {name: of_image[0].numpy() for name, of_image in numbers.items()})


def page_frame(found: PageInteraction) -> pd.DataFrame:
    """MaxSim of a query with a page: a row for each token of the query and each place where it adds something."""
    shares, beside = found.shares(), found.beside
    rows = [
        {
            "query_position": at,
            "query": found.queries[at],
            "row": int(row),
            "column": int(column),
            "added": share[row, column],
        }
        for at, share in enumerate(shares)
        for row, column in np.argwhere(share != 0)
    ]
    rows += [
        {"query_position": at, "query": found.queries[at], "row": None, "column": None, "added": added}
        for at, added in enumerate(beside)
        if added
    ]
    return pd.DataFrame(rows, columns=["query_position", "query", "row", "column", "added"])


def attention_frame(
    weights: object, labels: Sequence[str], *, key_labels: Sequence[str] | None = None, block: int = 1
) -> pd.DataFrame:
    """A map [R, C] as a table, a row a cell: query and key position, their tokens, weight.

    block: as in `figures.attention_heatmap`. The columns of a pooled map are query_first, query_last, key_first,
    key_last (token positions, both included) and largest_weight.
    """
    array = np.asarray(weights, dtype=np.float32)
    axes = (("query", labels, array.shape[0]), ("key", labels if key_labels is None else key_labels, array.shape[1]))
    if block == 1:
        return cells_of(*(axis(names, name, f"{name}_token") for name, names, _ in axes), numbers={"weight": array})
    queries, keys = (_blocks(name, block * np.arange(n), block, len(names)) for name, names, n in axes)
    return cells_of(queries, keys, numbers={"largest_weight": array})


def cells_of(*axes: str | Mapping[str, np.ndarray], numbers: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """A row a cell of some arrays of one shape: what each axis says of its place, and its numbers.

    An axis is a name, for the number of the place, or columns by name, with a value for each place (`axis`).
    """
    columns: dict[str, np.ndarray] = {}
    for given, places in zip(axes, np.indices(next(iter(numbers.values())).shape), strict=True):
        at = places.ravel()
        columns |= {given: at} if isinstance(given, str) else {name: values[at] for name, values in given.items()}
    return pd.DataFrame(columns | {name: part.ravel() for name, part in numbers.items()})


def axis(labels: Sequence[str], place: str = "position", token: str = "token") -> dict[str, np.ndarray]:
    """Tokens as an axis of `cells_of`. place, token: the names of the columns of their places and labels."""
    return {place: np.arange(len(labels)), token: _objects(labels)}


def _objects(labels: Sequence[str]) -> np.ndarray:
    return np.array(labels, dtype=object)


def _blocks(name: str, starts: np.ndarray, block: int, count: int) -> dict[str, np.ndarray]:
    """First and last place of each block among `count` places."""
    return {f"{name}_first": starts, f"{name}_last": np.minimum(starts + block, count) - 1}


def comparison_frame(found: Comparison, first: Sequence[str], second: Sequence[str]) -> pd.DataFrame:
    """Two maps and their difference, b - a, as a table: a row a cell of the maps, or a block of cells of a long text.

    row, column: the cell's place in all three maps, from 0; a row or column is a token of A, of B, or of both. query_a,
    key_b, ...: the token of a side, "–" if the side has no such token. first, second [A]: these names, for each step.
    """
    places = []
    for place, axis, count in zip(("row", "column"), ("query", "key"), found.difference.shape, strict=True):
        steps = found.block * np.arange(count)
        if found.block == 1:
            names = {f"{axis}_a": _objects(first)[steps], f"{axis}_b": _objects(second)[steps]}
            places.append({place: steps, **names})
        else:
            places.append(_blocks(place, steps, found.block, len(first)))
    weights = {"a": found.first, "b": found.second, "difference": found.difference}
    return cells_of(*places, numbers={name: part.numpy() for name, part in weights.items()})


def cells_frame(cells: Sequence[Cell], labels: Sequence[str]) -> pd.DataFrame:
    """The cells in which two maps differ most, as a table. labels: of the steps."""
    rows = [(labels[cell.query], labels[cell.key], cell.first, cell.second, cell.difference) for cell in cells]
    return pd.DataFrame(rows, columns=["query", "key", "A", "B", "B - A"])


def vectors_frame(trace: Trace, layer: int, head: int) -> pd.DataFrame:
    """q, k and v of one head: a row a token and component, T x K of them."""
    q, k, v = (part[head].float().cpu().numpy() for part in trace.layer_qkv(layer))  # [T, K]
    return cells_of(axis(trace.labels), "component", numbers={"q": q, "k": k, "v": v})


def norms_frame(trace: Trace) -> pd.DataFrame:
    """Mean and population standard deviation of every token before and after every norm: a row a norm and token."""
    found = norms.statistics(trace)
    columns = ("mean_before", "std_before", "mean_after", "std_after")
    numbers = dict(zip(columns, (*found.before, *found.after), strict=True))
    return cells_of({"norm": _objects(found.names)}, axis(trace.labels), numbers=numbers)


def positions_frame(trace: Trace, layer: int) -> pd.DataFrame:
    """The position encoding: a row a position and component of the vector that is added.

    With rotary positions: cosine and sine of the angle by which a layer rotates each pair of components. Without
    positions: an empty table.
    """
    added = trace.position
    if added is not None:
        numbers, count = {"value": added.float().cpu().numpy()}, "component"
    elif trace.config.position == "rotary":
        cos, sin = positions.turns(trace.encoder, layer, trace.n_tokens)
        numbers, count = {"cos": cos, "sin": sin}, "pair"
    else:
        return pd.DataFrame({"position": [], "component": [], "value": []})
    return cells_of("position", count, numbers=numbers)


def norm_weighted_frame(trace: Trace, layer: int, head: int) -> pd.DataFrame:
    """Each weight of a head, weight x ||f(x_j)||, and the latter's share of its row (Kobayashi et al. 2020).

    Of more than EXACT_TOKENS tokens a row a key: mean weight on it, its norm ||f(x_j)||, mean weight x norm.
    """
    if trace.n_tokens > EXACT_TOKENS:
        found = layer_shares(trace, layer)
        return pd.DataFrame(
            {
                "key": np.arange(trace.n_tokens),
                "key_token": list(trace.labels),
                "mean_weight": found.attention[head],
                "value_norm": found.norms[head],
                "mean_norm_weighted": found.norm_weighted[head],
            }
        )
    frame = attention_frame(trace.attention(layer, head).cpu(), trace.labels)
    weighted = norm_weighted(trace, layer, head).cpu()
    frame["norm_weighted"] = weighted.numpy().ravel()
    frame["norm_weighted_share"] = aggregate.rows_to_one(weighted).numpy().ravel()
    return frame


def rollout_frame(trace: Trace, layer: int, query: int | None = None) -> pd.DataFrame:
    """Attention rollout up to a layer: a row a token and input token; above EXACT_TOKENS tokens one query's row."""
    chosen = None if trace.n_tokens <= EXACT_TOKENS else slice(query or 0, (query or 0) + 1)
    made = rollout(trace, layer, chosen).cpu()
    frame = attention_frame(made, trace.labels[chosen or slice(None)], key_labels=trace.labels)
    frame["query"] += 0 if chosen is None else chosen.start
    return frame.rename(columns={"key": "input", "key_token": "input_token", "weight": "share"})


def similarity_frame(found: Attribution) -> pd.DataFrame:
    """The cells of an attribution: positions a and b in the two texts, their tokens, value."""
    sides = (axis(labels, name, f"token_{name}") for name, labels in zip("ab", found.labels, strict=True))
    return cells_of(*sides, numbers={"value": found.matrix})


def word_frame(attribution: WordScores, deletion: WordScores) -> pd.DataFrame:
    """A row a word of both texts: what it adds to the map, and the change of the cosine without it."""
    texts = ["a"] * len(attribution.words_a) + ["b"] * len(attribution.words_b)
    words = attribution.words_a + attribution.words_b
    return pd.DataFrame({"text": texts, "word": words, "attribution": attribution.both, "change": deletion.both})


def step_frame(*found: object) -> pd.DataFrame:
    """Every number of some steps (of `encoder.explain`, or a `Calculation`): a row a number.

    what: the field, or for a nested value both names ("norm.mean"); row, column: the place in a matrix; a vector has
    only the column, a single number neither. The ids step gives a row a token.
    """
    if len(found) == 1 and hasattr(found[0], "tokens"):
        return pd.DataFrame([dataclasses.asdict(token) for token in found[0].tokens])
    parts = [part for one in found for name, array in numbers_of(one) for part in _long(name, array)]
    table = pd.DataFrame(parts, columns=["what", "row", "column", "value"])
    return table.astype({"row": "Int64", "column": "Int64", "value": "float64"})


def numbers_of(found: object, before: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """(name, array) of every number, vector and matrix in a dataclass, without its field `place`."""
    for field in dataclasses.fields(found):  # type: ignore[arg-type]
        value = getattr(found, field.name)
        if field.name == "place" or isinstance(value, (bool, str)) or value is None:
            continue
        if dataclasses.is_dataclass(value):
            yield from numbers_of(value, f"{before}{field.name}.")
            continue
        array = np.asarray(value) if _is_numbers(value) else None
        if array is not None and array.dtype.kind in "iuf" and array.ndim <= 2:
            yield f"{before}{field.name}", array


def _is_numbers(value: object) -> bool:
    """Whether it is a number, an array, or a nested tuple of numbers."""
    while isinstance(value, tuple) and value:
        value = value[0]
    return isinstance(value, (int, float, np.ndarray, np.number)) and not isinstance(value, bool)


def _long(name: str, array: np.ndarray) -> Iterator[tuple[str, int | None, int | None, float]]:
    for place in np.ndindex(array.shape):
        row, column = (None,) * (2 - len(place)) + place
        yield name, row, column, float(array[place])


def cost_frame(found: Cost) -> pd.DataFrame:
    """A row a part of one layer: FLOPs and bytes for the text, and their formulas in LaTeX."""
    rows = [(part.title, part.flops, part.bytes, part.work.symbols, part.memory.symbols) for part in found.parts]
    return pd.DataFrame(rows, columns=["part", "flops", "bytes", "flops_formula", "bytes_formula"])


def claims_frame(stated: Sequence[Claim]) -> pd.DataFrame:
    """The numbers of teaching notes next to the computed ones: a row a number."""
    rows = [
        (claim.title, row, column, said, claim.computed[row][column], claim.agreeing[row][column])
        for claim in stated
        for row, numbers in enumerate(claim.notes)
        for column, said in enumerate(numbers)
    ]
    return pd.DataFrame(rows, columns=["statement", "row", "column", "notes", "computed", "agrees"])


def stream_frame(traces: Mapping[str, Trace]) -> pd.DataFrame:
    """The residual stream of some traces, by name: a row a number of `stream.measure`, and each layer's entropy.

    at: the layer that a number belongs to; of "length" 0 is the embeddings, and l + 1 after layer l; of norms the name.
    """
    rows = []
    for name, trace in traces.items():
        found = measure_stream(trace)
        entropy = [float(layer_entropy(trace, layer).mean()) for layer in range(trace.config.n_layers)]
        for what in ("length", "attention_update", "ffn_update", "cosine"):
            rows += [(name, what, str(at), float(value)) for at, value in enumerate(getattr(found, what))]
        rows += [(name, "entropy", str(at), value) for at, value in enumerate(entropy)]
        for what in ("norm_mean", "norm_std", "gain"):
            values = getattr(found, what)
            rows += [(name, what, norm, float(value)) for norm, value in zip(found.norms, values, strict=True)]
    return pd.DataFrame(rows, columns=["model", "what", "at", "value"])


def flow_frame(flow: TokenFlow) -> pd.DataFrame:
    """One token's way through the residual stream: a row for each sublayer and the final norm, all numbers norms.

    NaN where the model has no such number.
    """
    rows = [vars(stage) | {"part": stage.part or "final_norm"} for stage in flow.stages]
    table = pd.DataFrame(rows, columns=["layer", "part", "before", "update", "total", "after", "cosine"])
    return table.astype({"update": "float64"}).rename(columns={"total": "sum"})
