"""A file of attention maps -> MapsEncoder. Safetensors or Parquet, never pickle.

Safetensors: the tensor "attentions" [L, H, T, T], and in the metadata "tokens", a JSON list of T texts; for
cross-attention [L, H, T, S] also "keys", a JSON list of S texts. Parquet: columns layer, head, query, key (whole
numbers from 0) and weight; query_token and key_token name the tokens, which are those of two texts where a place has
two names. Weights that are not in the table are 0.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from encoder.checkpoints.places import MAPS_ENDINGS
from encoder.checkpoints.weights import read_tensor
from encoder.disk import open_regular
from encoder.encoders.maps import CrossMapsEncoder, MapsEncoder
from encoder.errors import EncoderError, LoadError, quoted
from encoder.model.config import MAX_LAYERS
from encoder.model.device import free_memory
from encoder.trace.attention_maps import AttentionMaps, attentions

NAME = "attentions"
COLUMNS = ("layer", "head", "query", "key", "weight")
#: Tokens of a text, and heads of a layer.
MOST_TOKENS, MOST_HEADS = 8_192, 1_024
#: Weights of maps for each row of a table, which leaves out zeros, and as many more in any table.
MOST_EMPTY, SMALL = 200, 4_000_000


def open_maps(path: Path) -> AttentionMaps | None:
    """The maps in a file; None for a file of something else. Raises LoadError for maps that are broken."""
    if path.suffix not in MAPS_ENDINGS:
        return None
    try:
        found = (_safetensors if path.suffix == ".safetensors" else _parquet)(path)
        return None if found is None else attentions(*found)
    except LoadError:
        raise
    except EncoderError as error:
        raise LoadError(f"{path.name} has no attention maps that can be shown. {error}") from error


def load_maps(path: Path) -> MapsEncoder | None:
    """The file as a model; None for a file of something else. Raises LoadError for broken maps."""
    found = open_maps(path)
    if found is None:
        return None
    kind = MapsEncoder if found.decoder is None else CrossMapsEncoder
    return kind(name=path.stem, encoder=found.encoder, maps=found, notes=found.notes)


def _safetensors(path: Path) -> tuple[Tensor, Sequence[str], Sequence[str] | None] | None:
    found = read_tensor(path, NAME, check_size)
    if found is None:
        return None
    weights, metadata = found
    return weights, _tokens(path, metadata, "tokens"), _tokens(path, metadata, "keys") if "keys" in metadata else None


def _tokens(path: Path, metadata: dict[str, str], name: str) -> list[str]:
    try:
        found = json.loads(metadata.get(name, "null"))
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(token, str) for token in found):
        raise LoadError(f"{path.name} has no {name} in its metadata: write a JSON list with a text for each token.")
    return found


def check_size(shape: Sequence[int]) -> None:
    """Raise LoadError for maps [L, H, T, S] that are too large to be opened, before they are read."""
    if len(shape) == 4:
        limits = (MAX_LAYERS, MOST_HEADS, MOST_TOKENS, MOST_TOKENS)
        if any(not 1 <= length <= most for length, most in zip(shape, limits, strict=True)):
            raise LoadError(f"Maps of shape {list(shape)} are out of range: at most {list(limits)} are opened.")
    n_bytes = 4 * torch.Size(shape).numel()
    if 2 * n_bytes > free_memory(torch.device("cpu")):
        raise LoadError(f"These maps need {2 * n_bytes / 1e9:,.1f} GB of memory: save fewer layers, or a shorter text.")


def _parquet(path: Path) -> tuple[Tensor, Sequence[str], Sequence[str] | None] | None:
    import pyarrow.parquet

    try:
        with open_regular(path) as opened:
            file = pyarrow.parquet.ParquetFile(opened)
            if not set(COLUMNS) <= set(file.schema_arrow.names):
                return None
            named = [name for name in ("query_token", "key_token") if name in file.schema_arrow.names]
            check_size((file.metadata.num_rows, 1 + len(COLUMNS) + len(named)))
            table = file.read(columns=[*COLUMNS, *named])
        if len(set(table.column_names)) != len(table.column_names):
            raise LoadError(f"{path.name} has a column twice: save the table with one of each name.")
        places = torch.stack([_whole(path, name, table.column(name)) for name in COLUMNS[:4]], dim=1)
        weights = torch.tensor(_numbers(path, "weight", table.column("weight")).astype("float32"))
    except LoadError:
        raise
    except (OSError, ValueError, TypeError, pyarrow.ArrowException) as error:
        raise LoadError(
            f"{path.name} is not a readable table of maps ({quoted(str(error))}): save it again."
        ) from error
    if not len(places) or int(places.min()) < 0:
        raise LoadError(f"{path.name} has no rows, or a negative place: count layers, heads and tokens from 0.")
    rows, columns = (_names(path, table, places[:, axis], f"{COLUMNS[axis]}_token") for axis in (2, 3))
    shape = [int(most) + 1 for most in places.max(dim=0).values]
    same = all(rows[place] == name for place, name in columns.items() if place in rows)
    if same:
        shape[2:] = [max(shape[2:])] * 2
        rows = columns = columns | rows
    check_size(shape)
    if math.prod(shape) > MOST_EMPTY * len(places) + SMALL:
        raise LoadError(
            f"{path.name} has {len(places):,} rows for maps of {shape} weights: count places from 0 without gaps, or "
            "save the weights of 0, too."
        )
    maps = torch.zeros(shape)
    _check_once(path, places, shape)
    maps[tuple(places.T)] = weights
    one, other = (
        [names.get(place, str(place)) for place in range(length)]
        for names, length in zip((rows, columns), shape[2:], strict=True)
    )
    return maps, one, None if same else other


def _numbers(path: Path, name: str, column: Any) -> Any:
    """A column as an array. Raises LoadError for other values than numbers, and for empty cells."""
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise LoadError(f"{path.name} has {kind} in the column {name}: save numbers.")
    if column.null_count:
        raise LoadError(f"{path.name} has an empty cell in the column {name}: save a number in each row.")
    return column.to_numpy()


def _whole(path: Path, name: str, column: Any) -> Tensor:
    found = _numbers(path, name, column)
    with np.errstate(invalid="ignore"):  # NaN, and numbers of any size
        whole = found.astype("int64")
    if not (whole == found).all():
        raise LoadError(
            f"{path.name} has {found[whole != found][0]:g} in the column {name}: save whole numbers from 0."
        )
    return torch.from_numpy(whole)


def _check_once(path: Path, places: Tensor, shape: Sequence[int]) -> None:
    """Raise LoadError for a place with two weights."""
    flat = torch.zeros(len(places), dtype=torch.int64)
    for axis, length in enumerate(shape):
        flat = flat * length + places[:, axis]
    ordered, order = flat.sort(stable=True)
    if bool((ordered[1:] == ordered[:-1]).any()):
        twice = places[order[1:][ordered[1:] == ordered[:-1]][0]].tolist()
        at = ", ".join(f"{name} {place}" for name, place in zip(COLUMNS, twice, strict=False))
        raise LoadError(f"{path.name} has {at} twice: save one weight for each place.")


def _names(path: Path, table: Any, places: Tensor, column: str) -> dict[int, str]:
    """The token of each place that has one. Raises LoadError for a place with two, and for a table in which only some
    places have one."""
    if column not in table.column_names:
        return {}
    found: dict[int, str] = {}
    for place, name in zip(places.tolist(), table.column(column).to_pylist(), strict=True):
        if not isinstance(name, str):
            raise LoadError(f"{path.name} has {quoted(name)} in the column {column}: save a text in each row.")
        if found.setdefault(place, name) != name:
            raise LoadError(
                f"{path.name} calls token {place} {quoted(found[place])} and {quoted(name)} in the column {column}: "
                "save one name for each token."
            )
    return found
