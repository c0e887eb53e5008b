"""Totals -> the tables and the manifest of an atlas. docs/atlas.md says what each column means.

Shapes: M measures, L layers, H heads, R replicates.
"""

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from encoder.corpus.atlas_files import FORMAT, MANIFEST, VERSION
from encoder.corpus.plan import BINS, bins
from encoder.corpus.staging import TEXTS, Staging
from encoder.corpus.totals import Totals, interval, replicate_means, value
from encoder.corpus.watcher import FARTHEST, N_OFFSETS
from encoder.encoders.text import TextEncoder
from encoder.measure import head_types
from encoder.version import __version__

TYPES = tuple(one.name for one in head_types.HEAD_TYPES)

Columns = dict[str, Any]


def write_tables(
    staging: Staging,
    totals: Totals,
    about: Mapping[str, Any],
    model: TextEncoder,
    norm_names: Sequence[str],
    key_tokens: Sequence[str],
) -> None:
    """Write every table, and the manifest last."""
    shape, measures = (model.config.n_layers, model.config.n_heads), staging.plan.settings.measures
    tables: dict[str, Columns] = {
        "heads": _heads(totals, shape, measures),
        "histograms": _histograms(totals, shape, measures, model.config.max_tokens),
        "types": _types(totals, shape, measures),
        "profile": _profile(totals, shape),
        "key_tokens": _key_tokens(totals, shape, key_tokens),
        "labels": _labels(totals, shape, measures, staging.plan.labels),
        "similarity": _similarity(totals, shape),
        "examples": _examples(totals, shape, measures),
        "norms": _norms(totals, norm_names),
        "lengths": _lengths(totals),
        "problems": _problems(staging, totals),
    }
    for name, columns in tables.items():
        staging.write(f"{name}.parquet", _parquet(columns))
    count = {name: int(totals.sums[name]) for name in ("texts", "tokens", "cut", "failed", "similarity_texts")}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        **about,
        "settings": staging.about["settings"],
        "count": {"rows": staging.n_rows, "broken": staging.n_broken, "blank": staging.n_blank, **count},
        "measures": list(measures),
        "head_types": list(TYPES),
        "labels": {column: list(values) for column, values in staging.plan.labels.items()},
        "made_with": _versions(),
        "files": {path: _file(staging.folder / path) for path in _finished(staging, tables)},
    }
    staging.write(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False).encode())


def _finished(staging: Staging, tables: Mapping[str, Columns]) -> list[str]:
    parts = [path.relative_to(staging.folder).as_posix() for path in staging.folder.glob("*/[0-9]*")]
    return sorted([TEXTS, *(f"{name}.parquet" for name in tables), *parts])


def _file(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _versions() -> dict[str, str]:
    libraries = {"torch": torch.__version__, "numpy": np.__version__, "pyarrow": pa.__version__}
    return {"encoderscope": __version__} | libraries


def _parquet(columns: Columns) -> bytes:
    arrays = {name: column.ravel() if isinstance(column, np.ndarray) else column for name, column in columns.items()}
    buffer = io.BytesIO()
    pq.write_table(pa.table(arrays), buffer, compression="zstd")
    return buffer.getvalue()


def _places(*axes: tuple[str, Sequence[Any]]) -> Columns:
    """A row for every combination: (name, values) of each axis, the last one fastest."""
    grids = np.indices([len(values) for _, values in axes])
    found = {}
    for (name, values), grid in zip(axes, grids, strict=True):
        if values and isinstance(values[0], str):
            found[name] = [values[at] for at in grid.ravel()]
        else:
            found[name] = np.asarray(values, dtype=np.int32)[grid.ravel()]
    return found


def _by_head(shape: tuple[int, int]) -> tuple[tuple[str, Sequence[Any]], ...]:
    return ("layer", range(shape[0])), ("head", range(shape[1]))


def _moments(n: np.ndarray, total: np.ndarray, square: np.ndarray) -> Columns:
    """n [...], fixed-point sums [2, ...] -> n, mean, std (of a sample), se = std / sqrt(n); NaN where undefined."""
    n = np.broadcast_to(n, total.shape[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = value(total) / np.where(n > 0, n, np.nan)
        variance = (value(square) - n * mean**2).clip(min=0.0) / np.where(n > 1, n - 1, np.nan)
        std = np.sqrt(variance)
        return {"n": n.astype(np.int64), "mean": mean, "std": std, "se": std / np.sqrt(n)}


def _heads(totals: Totals, shape: tuple[int, int], measures: Sequence[str]) -> Columns:
    sums = totals.sums
    low, high = interval(replicate_means(sums["boot_sum"], sums["boot_n"][:, :, None, None]))
    moments = _moments(sums["n"][:, None, None], sums["sum"], sums["square"])
    return _places(("measure", measures), *_by_head(shape)) | moments | {"low": low, "high": high}


def _histograms(totals: Totals, shape: tuple[int, int], measures: Sequence[str], max_tokens: int) -> Columns:
    edges = bins(max_tokens, measures)
    places = _places(("measure", measures), ("bin", range(BINS)), *_by_head(shape))
    wide = (len(measures), BINS, *shape)
    lower, upper = (np.broadcast_to(edge[:, :, None, None], wide).ravel() for edge in (edges[:, :-1], edges[:, 1:]))
    count = totals.sums["histogram"].ravel()
    filled = np.flatnonzero(count)
    filled_names = np.array(places.pop("measure"))[filled].tolist()
    rest = places | {"lower": lower, "upper": upper, "count": count}
    return {"measure": filled_names} | {name: np.asarray(column)[filled] for name, column in rest.items()}


def _types(totals: Totals, shape: tuple[int, int], measures: Sequence[str]) -> Columns:
    sums = totals.sums
    means = dict(zip(measures, _moments(sums["n"][:, None, None], sums["sum"], sums["square"])["mean"], strict=True))
    replicates = replicate_means(sums["boot_sum"], sums["boot_n"][:, :, None, None])
    drawn = head_types.holds({name: replicates[:, place] for place, name in enumerate(measures)})
    by_mean = head_types.holds(means)
    low, high = interval(replicate_means(sums["boot_type"], sums["boot_texts"][:, None, None, None]))
    return _places(("type", TYPES), *_by_head(shape)) | {
        "by_mean": np.stack([by_mean[name] for name in TYPES]),
        "support": np.stack([drawn[name].mean(0) for name in TYPES]),
        "share": sums["type"] / float(sums["texts"]),
        "low": low,
        "high": high,
    }


def _profile(totals: Totals, shape: tuple[int, int]) -> Columns:
    pairs = np.broadcast_to(totals.sums["pairs"], (*shape, N_OFFSETS))
    weight = value(totals.sums["profile"])
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = weight / np.where(pairs > 0, pairs, np.nan)
    offsets = range(-FARTHEST - 1, FARTHEST + 2)
    share = weight / float(totals.sums["tokens"])
    return _places(*_by_head(shape), ("offset", offsets)) | {"mean": mean, "share": share, "pairs": pairs}


def _key_tokens(totals: Totals, shape: tuple[int, int], names: Sequence[str]) -> Columns:
    sums = totals.sums
    moments = _moments(sums["key_n"][:, None, None], sums["key_sum"], sums["key_square"])
    return _places(("token", tuple(names)), *_by_head(shape)) | moments


def _labels(
    totals: Totals, shape: tuple[int, int], measures: Sequence[str], labels: Mapping[str, Sequence[str]]
) -> Columns:
    parts: list[Columns] = []
    for column, values in labels.items():
        n, total, square = (totals.sums[f"label/{column}/{name}"] for name in ("n", "sum", "square"))
        places = _places(("label", (column,)), ("value", tuple(values)), ("measure", measures), *_by_head(shape))
        parts.append(places | _moments(n[:, :, None, None], total, square))
    if not parts:
        empty = _places(("label", ("",)), ("value", ("",)), ("measure", measures[:1]), *_by_head(shape))
        zero = np.zeros((2, *shape), dtype=np.int64)
        return {name: column[:0] for name, column in (empty | _flat(_moments(zero[0], zero, zero))).items()}
    flat = [_flat(part) for part in parts]
    return {name: [value for part in flat for value in part[name]] for name in flat[0]}


def _flat(columns: Columns) -> Columns:
    return {name: c.ravel() if isinstance(c, np.ndarray) else c for name, c in columns.items()}


def _similarity(totals: Totals, shape: tuple[int, int]) -> Columns:
    n = int(totals.sums["similarity_texts"])
    places = _places(*_by_head(shape), ("other_layer", range(shape[0])), ("other_head", range(shape[1])))
    divergence = value(totals.sums["similarity"]) / (n or np.nan)
    return places | {"divergence": divergence}


def _examples(totals: Totals, shape: tuple[int, int], measures: Sequence[str]) -> Columns:
    top = totals.top
    order: Callable[[np.ndarray], np.ndarray] = lambda array: np.moveaxis(array, 0, -1).ravel()  # noqa: E731
    places = _places(("measure", measures), *_by_head(shape), ("rank", range(len(top.value))))
    columns = places | {"value": order(top.value), "text": order(top.text), "n_tokens": order(top.n_tokens)}
    known = np.flatnonzero(columns["text"] >= 0)
    known_names = np.array(columns.pop("measure"))[known].tolist()
    return {"measure": known_names} | {name: column[known] for name, column in columns.items()}


def _norms(totals: Totals, names: Sequence[str]) -> Columns:
    quantity, place = zip(*(name.split("/") for name in names), strict=True)
    moments = _moments(totals.sums["texts"], totals.sums["norm_sum"], totals.sums["norm_square"])
    return {"quantity": list(quantity), "place": list(place)} | moments


def _lengths(totals: Totals) -> Columns:
    n_tokens = np.flatnonzero(totals.sums["lengths"])
    return {"n_tokens": n_tokens.astype(np.int32), "texts": totals.sums["lengths"][n_tokens]}


def _problems(staging: Staging, totals: Totals) -> Columns:
    """What was left out: rows of the file that are not texts (row), and texts that failed (text)."""
    rows: list[tuple[int | None, int | None, str]] = [(row, None, why) for row, why in staging.broken_rows()]
    rows += [(None, text, why) for text, why in totals.failed.items()]
    numbers = {
        "row": pa.array([one[0] for one in rows], pa.int64()),
        "text": pa.array([one[1] for one in rows], pa.int64()),
    }
    return numbers | {"why": pa.array([one[2] for one in rows], pa.string())}
