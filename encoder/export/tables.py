"""The numbers of pages as tables: a row for each place of a number, a column for each kind of number.

Shapes: L layers, T tokens (queries i, keys j), D d_model, K width of a head.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from encoder.measure import aggregate, norm_weighted, norms, positions, rollout, stream
from encoder.measure.map_comparison import Cell, Comparison
from encoder.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

    from encoder.explain.blocks import Architecture
    from encoder.explain.claims import Claim
    from encoder.explain.cost import Cost

#: Up to this many tokens each way a map has a cell for each weight; above, a cell stands for a block of tokens.
EXACT_TOKENS = 256


def attention_frame(
    weights: object, labels: Sequence[str], *, key_labels: Sequence[str] | None = None, block: int = 1
) -> pd.DataFrame:
    """A map [R, C] as a table, a row a cell: query and key position, their tokens, weight.

    block: as in `figures.attention_heatmap`. The columns of a pooled map are query_first, query_last, key_first,
    key_last (token positions, both included) and largest_weight.
    """
    import pandas as pd

    array = np.asarray(weights, dtype=np.float32)
    rows, columns = (block * places.ravel() for places in np.indices(array.shape))
    keys = labels if key_labels is None else key_labels
    if block == 1:
        return pd.DataFrame(
            {
                "query": rows,
                "query_token": np.array(labels, dtype=object)[rows],
                "key": columns,
                "key_token": np.array(keys, dtype=object)[columns],
                "weight": array.ravel(),
            }
        )
    return pd.DataFrame(
        {
            "query_first": rows,
            "query_last": np.minimum(rows + block, len(labels)) - 1,
            "key_first": columns,
            "key_last": np.minimum(columns + block, len(keys)) - 1,
            "largest_weight": array.ravel(),
        }
    )


def comparison_frame(found: Comparison, first: Sequence[str], second: Sequence[str]) -> pd.DataFrame:
    """Two maps and their difference, b - a, as a table: a row a cell of the maps, or a block of cells of a long text.

    row, column: the cell's place in all three maps, from 0; a row or column is a token of A, of B, or of both. query_a,
    key_b, ...: the token of a side, "–" if the side has no such token. first, second [A]: these names, for each step.
    """
    import pandas as pd

    shape = found.difference.shape
    rows, columns = (found.block * part.ravel() for part in np.indices(shape))
    parts = {"a": found.first, "b": found.second, "difference": found.difference}
    weights = {name: part.numpy().ravel() for name, part in parts.items()}
    names = {"a": np.array(first, dtype=object), "b": np.array(second, dtype=object)}
    places: dict[str, np.ndarray] = {}
    for place, axis, steps in (("row", "query", rows), ("column", "key", columns)):
        if found.block == 1:
            places |= {place: steps} | {f"{axis}_{side}": told[steps] for side, told in names.items()}
        else:
            places |= {f"{place}_first": steps, f"{place}_last": np.minimum(steps + found.block, len(first)) - 1}
    return pd.DataFrame(places | weights)


def cells_frame(cells: Sequence[Cell], labels: Sequence[str]) -> pd.DataFrame:
    """The cells in which two maps differ most, as a table. labels: of the steps."""
    import pandas as pd

    return pd.DataFrame(
        {
            "query": [labels[cell.query] for cell in cells],
            "key": [labels[cell.key] for cell in cells],
            "A": [cell.first for cell in cells],
            "B": [cell.second for cell in cells],
            "B - A": [cell.difference for cell in cells],
        }
    )


def vectors_frame(trace: Trace, layer: int, head: int) -> pd.DataFrame:
    """q, k and v of one head: a row a token and component, T x K of them."""
    import pandas as pd

    q, k, v = (part[head].float().cpu().numpy() for part in trace.layer_qkv(layer))  # [T, K]
    n_tokens, width = q.shape
    return pd.DataFrame(
        {
            "position": np.repeat(np.arange(n_tokens), width),
            "token": np.repeat(np.array(trace.labels, dtype=object), width),
            "component": np.tile(np.arange(width), n_tokens),
            "q": q.ravel(),
            "k": k.ravel(),
            "v": v.ravel(),
        }
    )


def norms_frame(trace: Trace) -> pd.DataFrame:
    """Mean and population standard deviation of every token before and after every norm: a row a norm and token."""
    import pandas as pd

    found = norms.statistics(trace)
    n_tokens = trace.n_tokens
    return pd.DataFrame(
        {
            "norm": np.repeat(np.array(found.names, dtype=object), n_tokens),
            "position": np.tile(np.arange(n_tokens), len(found.names)),
            "token": list(trace.labels) * len(found.names),
            "mean_before": found.before[0].ravel(),
            "std_before": found.before[1].ravel(),
            "mean_after": found.after[0].ravel(),
            "std_after": found.after[1].ravel(),
        }
    )


def positions_frame(trace: Trace, layer: int) -> pd.DataFrame:
    """The position encoding: a row a position and component of the vector that is added.

    With rotary positions: cosine and sine of the angle by which a layer rotates each pair of components. Without
    positions: an empty table.
    """
    import pandas as pd

    added = trace.position
    if added is not None:
        numbers = {"value": added.float().cpu().numpy()}
        count = "component"
    elif trace.config.position == "rotary":
        cos, sin = positions.turns(trace.config, layer, trace.n_tokens)
        numbers, count = {"cos": cos, "sin": sin}, "pair"
    else:
        return pd.DataFrame({"position": [], "component": [], "value": []})
    n_tokens, width = next(iter(numbers.values())).shape
    places = {"position": np.repeat(np.arange(n_tokens), width), count: np.tile(np.arange(width), n_tokens)}
    return pd.DataFrame(places | {name: part.ravel() for name, part in numbers.items()})


def norm_weighted_frame(trace: Trace, layer: int, head: int) -> pd.DataFrame:
    """Each weight of a head, weight x ||f(x_j)||, and the latter's share of its row (Kobayashi et al. 2020).

    Of more than EXACT_TOKENS tokens a row a key: mean weight on it, its norm ||f(x_j)||, mean weight x norm.
    """
    import pandas as pd

    if trace.n_tokens > EXACT_TOKENS:
        found = norm_weighted.layer_shares(trace, layer)
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
    weighted = norm_weighted.norm_weighted(trace, layer, head).cpu()
    frame["norm_weighted"] = weighted.numpy().ravel()
    frame["norm_weighted_share"] = aggregate.rows_to_one(weighted).numpy().ravel()
    return frame


def rollout_frame(trace: Trace, layer: int, query: int | None = None) -> pd.DataFrame:
    """Attention rollout up to a layer: a row a token and input token; above EXACT_TOKENS tokens one query's row."""
    chosen = None if trace.n_tokens <= EXACT_TOKENS else slice(query or 0, (query or 0) + 1)
    made = rollout.rollout(trace, layer, chosen).cpu()
    frame = attention_frame(made, trace.labels[chosen or slice(None)], key_labels=trace.labels)
    frame["query"] += 0 if chosen is None else chosen.start
    return frame.rename(columns={"key": "input", "key_token": "input_token", "weight": "share"})


def step_frame(*found: object) -> pd.DataFrame:
    """Every number of some steps (of `encoder.explain`, or a `Calculation`): a row a number.

    what: the field, or for a nested value both names ("norm.mean"); row, column: the place in a matrix; a vector has
    only the column, a single number neither. The ids step gives a row a token.
    """
    import pandas as pd

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


def architecture_frame(drawn: Architecture) -> pd.DataFrame:
    """A row a block: its layer, output shape, parameters with their share, FLOPs and bytes."""
    import pandas as pd

    return pd.DataFrame(
        {
            "block": [block.key for block in drawn.blocks],
            "title": [block.title for block in drawn.blocks],
            "layer": pd.array([block.layer for block in drawn.blocks], dtype="Int64"),
            "shape": [" × ".join(str(size) for _, size in block.outputs) for block in drawn.blocks],
            "parameters": [block.parameters for block in drawn.blocks],
            "share": [block.share for block in drawn.blocks],
            "flops": [block.flops for block in drawn.blocks],
            "memory_bytes": [block.memory for block in drawn.blocks],
        }
    )


def cost_frame(found: Cost) -> pd.DataFrame:
    """A row a part of one layer: FLOPs and bytes for the text, and their formulas in LaTeX."""
    import pandas as pd

    return pd.DataFrame(
        {
            "part": [part.title for part in found.parts],
            "flops": [part.flops for part in found.parts],
            "bytes": [part.bytes for part in found.parts],
            "flops_formula": [part.work.symbols for part in found.parts],
            "bytes_formula": [part.memory.symbols for part in found.parts],
        }
    )


def claims_frame(stated: Sequence[Claim]) -> pd.DataFrame:
    """The numbers of teaching notes beside the computed ones: a row a number."""
    import pandas as pd

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
    import pandas as pd

    rows = []
    for name, trace in traces.items():
        found = stream.measure(trace)
        entropy = [float(stream.layer_entropy(trace, layer).mean()) for layer in range(trace.config.n_layers)]
        for what in ("length", "attention_update", "ffn_update", "cosine"):
            rows += [(name, what, str(at), float(value)) for at, value in enumerate(getattr(found, what))]
        rows += [(name, "entropy", str(at), value) for at, value in enumerate(entropy)]
        for what in ("norm_mean", "norm_std", "gain"):
            values = getattr(found, what)
            rows += [(name, what, norm, float(value)) for norm, value in zip(found.norms, values, strict=True)]
    return pd.DataFrame(rows, columns=["model", "what", "at", "value"])
