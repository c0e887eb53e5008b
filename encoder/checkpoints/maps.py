"""A file of attention maps -> MapsEncoder. Safetensors or Parquet, never pickle.

Safetensors: the tensor "attentions" [L, H, T, T], and in the metadata "tokens", a JSON list of T texts; for
cross-attention [L, H, T, S] also "keys", a JSON list of S texts. Parquet: columns layer, head, query, key (whole
numbers from 0) and weight; query_token and key_token name the tokens. Weights that are not in the table are 0.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from encoder.checkpoints.places import MAPS_ENDINGS
from encoder.checkpoints.weights import read_tensor
from encoder.encoders.maps import CrossMapsEncoder, MapsEncoder
from encoder.errors import EncoderError, LoadError, quoted
from encoder.model.config import MAX_LAYERS
from encoder.model.device import free_memory
from encoder.trace.attention_maps import AttentionMaps, attentions

NAME = "attentions"
COLUMNS = ("layer", "head", "query", "key", "weight")
#: Tokens of a text, and heads of a layer.
MOST_TOKENS, MOST_HEADS = 8_192, 1_024


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
        file = pyarrow.parquet.ParquetFile(path)
        if not set(COLUMNS) <= set(file.schema_arrow.names):
            return None
        named = [name for name in ("query_token", "key_token") if name in file.schema_arrow.names]
        check_size((file.metadata.num_rows, 1 + len(COLUMNS) + len(named)))
        table = file.read(columns=[*COLUMNS, *named]).to_pandas()
        places = torch.tensor(table[list(COLUMNS[:4])].to_numpy(dtype="int64"))
        weights = torch.tensor(table["weight"].to_numpy(dtype="float32"))
    except (OSError, ValueError, TypeError, pyarrow.ArrowException) as error:
        raise LoadError(
            f"{path.name} is not a readable table of maps ({quoted(str(error))}): save it again."
        ) from error
    if not len(places) or int(places.min()) < 0:
        raise LoadError(f"{path.name} has no rows, or a negative place: count layers, heads and tokens from 0.")
    rows, columns = (_names(table, axis, f"{axis}_token") for axis in ("query", "key"))
    same = columns is None or rows == columns
    n_layers, n_heads, n_queries, n_keys = (int(most) + 1 for most in places.max(dim=0).values)
    if same:
        n_queries = n_keys = max(n_queries, n_keys)
    check_size((n_layers, n_heads, n_queries, n_keys))
    maps = torch.zeros(n_layers, n_heads, n_queries, n_keys)
    maps[tuple(places.T)] = weights
    usual = [str(place) for place in range(max(n_queries, n_keys))]
    return maps, rows or usual[:n_queries], None if same else columns


def _names(table: Any, axis: str, column: str) -> list[str] | None:
    """The token of each place, in order; a place that no row has is called by its number."""
    if column not in table:
        return None
    found = dict(zip(table[axis].tolist(), map(str, table[column].tolist()), strict=True))
    return [found.get(place, str(place)) for place in range(max(found, default=-1) + 1)]
