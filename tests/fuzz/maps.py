"""Files and arrays of attention maps: each is refused in a sentence, or is what the file says."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save_file

import encoder
from encoder.errors import EncoderError
from encoder.measure import heads
from tests.fuzz.checkpoints import VALUES, Found, bounded

TOKENS = ["[CLS]", "the", "cat", "##s", "[SEP]"]
CELLS: tuple[Any, ...] = (
    None, True, -1, 0.6, 1.6, 3, 127, 128, 8_191, 10**12, 1e308, float("nan"), float("inf"), "1", "x", b"x", [1],
    pd.Timestamp("2001-01-01"), np.float16(0.1),
)  # fmt: skip


def case(seed: int) -> str:
    """One file or array. Returns what became of it. Raises Found."""
    chance = random.Random(seed)
    kind = chance.choice((_table, _tensors, _array))
    what = f"case {seed} ({kind.__name__.strip('_')})"
    try:
        with bounded(what), tempfile.TemporaryDirectory() as place:
            outcome = kind(chance, Path(place))
        return f"{kind.__name__.strip('_')} {outcome}"
    except EncoderError as error:
        if not str(error).strip() or len(str(error)) > 3_000:
            raise Found(f"{what}: the error has {len(str(error))} characters") from error
        return f"{kind.__name__.strip('_')} refused"
    except Found:
        raise
    except BaseException as error:
        raise Found(f"{what}: {type(error).__name__}: {error}") from error


def _rows(chance: random.Random) -> pd.DataFrame:
    maps = torch.rand(2, 2, 5, 5, generator=torch.Generator().manual_seed(chance.randrange(9))).softmax(-1)
    rows = [
        {"layer": layer, "head": head, "query": i, "key": j, "weight": float(maps[layer, head, i, j])}
        for layer in range(2)
        for head in range(2)
        for i in range(5)
        for j in range(5)
    ]
    found = pd.DataFrame(rows)
    if chance.random() < 0.7:
        found["query_token"] = [TOKENS[place] for place in found["query"]]
        found["key_token"] = [TOKENS[place] for place in found["key"]]
    return found


def _table(chance: random.Random, place: Path) -> str:
    table = _rows(chance)
    for _ in range(chance.choice((0, 1, 1, 2))):
        change = chance.choice(("cell", "twice", "drop", "column", "type", "shuffle"))
        name, row = chance.choice(list(table.columns)), chance.randrange(len(table))
        if change == "cell":
            table[name] = table[name].astype(object)
            table.loc[table.index[row], name] = chance.choice([one for one in CELLS if not isinstance(one, list)])
        elif change == "twice":
            table = pd.concat([table, table.iloc[[row]]], ignore_index=True)
        elif change == "drop":
            table = table.drop(table.index[[row]])
        elif change == "column":
            table = table.drop(columns=name)
        elif change == "type":
            kinds = ("float64", "str", "category", "datetime64[ns]", "int8", "bool")
            table[name] = _as(table[name], chance.choice(kinds))
        else:
            table = table.sample(frac=1.0, random_state=chance.randrange(99))
    file = place / "maps.parquet"
    try:
        table.to_parquet(file)
    except Exception:  # a column of several kinds has no place in Parquet
        return "is no table"
    return _opened(file, table)


def _as(column: Any, kind: str) -> Any:
    try:
        return column.astype(kind)
    except (TypeError, ValueError):
        return column


def _opened(file: Path, table: pd.DataFrame) -> str:
    model = encoder.load(file)
    trace: Any = model.trace(None)
    maps = trace.decoder.values["attentions"] if model.takes == "cross" else trace.maps
    for row in table.itertuples(index=False):
        at = tuple(int(getattr(row, name)) for name in ("layer", "head", "query", "key"))
        if abs(float(maps[at]) - float(row.weight)) > 1e-6:
            raise Found(f"{at} is {float(maps[at])}, and the table has {row.weight}")
    if model.takes == "maps":
        heads(trace)
    again = encoder.open_trace(trace.save(file.with_name("again.safetensors")))
    if again.tokens != trace.tokens:
        raise Found(f"saved tokens {again.tokens}, and {trace.tokens}")
    return f"opened as {model.takes}"


def _tensors(chance: random.Random, place: Path) -> str:
    shape = [chance.choice((1, 2, 3)), 2, 5, chance.choice((5, 5, 5, 4))]
    maps = (
        torch.rand(shape).softmax(-1).to(chance.choice((torch.float32, torch.float16, torch.bfloat16, torch.float64)))
    )
    if chance.random() < 0.3:
        maps[chance.randrange(shape[0]), 0, 0, 0] = chance.choice((float("nan"), -1.0, 7.0, float("inf")))
    metadata = {"tokens": json.dumps(TOKENS)}
    if chance.random() < 0.4:
        metadata[chance.choice(("tokens", "keys"))] = json.dumps(chance.choice((*VALUES[:-1], TOKENS[:4], TOKENS)))
    file = place / "maps.safetensors"
    save_file({chance.choice(("attentions", "attentions", "other")): maps}, file, metadata)
    if chance.random() < 0.3:
        data = bytearray(file.read_bytes())
        data[chance.randrange(min(len(data), 300))] = chance.randrange(256)
        file.write_bytes(data)
    model = encoder.load(file)
    return f"opened as {model.takes}"


def _array(chance: random.Random, _: Path) -> str:
    good = torch.full((2, 2, 5, 5), 0.2)
    arrays: tuple[Any, ...] = (
        good, good.numpy(), good.tolist(), [*good], good[None], good.to(torch.complex64), good.to_sparse(), good > 0,
        np.ma.masked_less(good.numpy(), 1.0), good.to("meta"), good.numpy().astype(str), good.numpy().astype(object),
        None, 5, "x", {}, [], [good[0], good[0][:, :4]], iter([good]), good.numpy().astype("datetime64[s]"), object(),
        good.to(torch.float8_e4m3fn),
    )  # fmt: skip
    tokens: tuple[Any, ...] = (TOKENS, TOKENS, TOKENS, tuple(TOKENS), None, 5, "abcde", b"abcde", [1] * 5, [None] * 5,
                               TOKENS[:4],
                               iter(TOKENS), np.array(TOKENS), dict.fromkeys(TOKENS, 1))  # fmt: skip
    keys = chance.choice((None, None, None, *tokens))
    found = encoder.attentions(chance.choice(arrays), chance.choice(tokens), keys)
    return "is cross-attention" if found.decoder is not None else "is a trace"
