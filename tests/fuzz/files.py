"""Files that a visitor uploads: heads, saved runs, tables of texts. And the answers that a class exports."""

from __future__ import annotations

import csv
import functools
import io
import json
import random
import struct
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pandas as pd
import torch

from encoder.classify.class_heads import head_from_bytes, head_to_bytes
from encoder.errors import EncoderError
from encoder.export.report import as_csv
from encoder.inputs import read as reading
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.train import single_file
from encoder.train.settings import TaskSettings
from encoder.train.task_model import TaskModel, TrainedTask
from pages.base.access import limits
from pages.teaching.questions import read_question
from pages.teaching.rooms import Asked, Member, Room, new_room
from pages.teaching.stage.results import COLUMNS, rows
from tests.fuzz.checkpoints import VALUES, Found, bounded, places
from tests.fuzz.texts import PARTS, text_of


def case(seed: int) -> str:
    """One file. Returns its kind and what became of it. Raises Found."""
    chance = random.Random(seed)
    kind = chance.choice((_head, _run, _table, _export))
    what = f"case {seed} ({kind.__name__.strip('_')})"
    try:
        with bounded(what):
            kind(chance)
    except EncoderError as error:
        if not str(error).strip() or len(str(error)) > 3_000:
            raise Found(f"{what}: the error has {len(str(error))} characters") from error
        return f"{kind.__name__.strip('_')} refused"
    except Found:
        raise
    except BaseException as error:
        raise Found(f"{what}: {type(error).__name__}: {error}") from error
    return kind.__name__.strip("_")


def _head(chance: random.Random) -> None:
    head = Classifier(6, ClassifierConfig("sequence", ("a", "b"), "mean", dense=True, norm=True))
    opened, _ = head_from_bytes(_changed(head_to_bytes(head, "m"), chance))
    with torch.no_grad():
        opened(torch.zeros(1, 2, (opened.dense or opened.out).in_features), torch.ones(1, 2, dtype=torch.bool))


def _run(chance: random.Random) -> None:
    single_file.from_bytes(_changed(_saved_run(), chance))


@functools.cache
def _saved_run() -> bytes:
    settings = TaskSettings(d_model=16, n_layers=2, n_heads=2)
    model = TaskModel(settings.config(), len(settings.make_task().classes))
    return single_file.to_bytes(TrainedTask(settings, 3, model))


def _changed(data: bytes, chance: random.Random) -> bytes:
    """A safetensors file with other bytes, or with another value in its header or in the JSON there."""
    if chance.random() < 0.3:
        changed = bytearray(data)
        for _ in range(chance.choice((1, 5, 50))):
            changed[chance.randrange(min(len(changed), 2_000))] = chance.randrange(256)
        return bytes(changed[: chance.randrange(1, len(changed))] if chance.random() < 0.3 else changed)
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    inside = [name for name, text in header["__metadata__"].items() if text.startswith("{")]
    name = chance.choice(inside) if inside and chance.random() < 0.7 else ""
    value = json.loads(header["__metadata__"][name]) if name else header
    path = chance.choice([*places(value)])
    parent: Any = value
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = chance.choice((*VALUES, float("nan"), float("inf")))
    if name:
        header["__metadata__"][name] = json.dumps(value)
    text = json.dumps(header).encode("utf-8", "replace")
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


def _table(chance: random.Random) -> None:
    suffix = chance.choice(reading.FORMATS)
    texts = [text_of(chance) for _ in range(chance.choice((0, 1, 20)))]
    data = WRITERS[suffix](texts)
    for _ in range(chance.choice((0, 0, 1, 8))):
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.randbytes(chance.choice((1, 4))) + data[at + chance.choice((0, 4)) :]
    found = reading.read_texts(data, f"a{suffix}")
    if not all(text.strip() for text in found.texts):
        raise Found(f"a blank text of {suffix}")


def _parquet(texts: list[str]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table({"text": [_plain(one) for one in texts], "n": [*range(len(texts))]}), file)
    return file.getvalue()


def _separated(texts: list[str], delimiter: str) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerows([["text", "label"], *([_plain(one), "x"] for one in texts)])
    return file.getvalue().encode()


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


WRITERS: dict[str, Callable[[list[str]], bytes]] = {
    ".txt": lambda texts: "\n".join(map(_plain, texts)).encode(),
    ".csv": lambda texts: _separated(texts, ","),
    ".tsv": lambda texts: _separated(texts, "\t"),
    ".jsonl": lambda texts: "\n".join(json.dumps({"text": one}) for one in texts).encode(),
    ".parquet": _parquet,
}


def _export(chance: random.Random) -> None:
    """A poll with hostile words: no cell of its table begins a formula, and a room of them is what was written."""
    options = ["=1+1", "@x", *(text_of(chance)[:100] or "-" for _ in range(2))]
    definition = {"kind": "choice", "ask": chance.choice(("+cmd", *PARTS))[:300], "options": options}
    question = read_question(definition)
    members = {f"m{n}": Member(f"m{n}", text_of(chance)[: limits.NICKNAME.value]) for n in range(4)}
    values = (0, 1, 3, -1, 99, "0", None, [], {}, 1e999, text_of(chance))
    answers = {one: json.dumps(chance.choice(values)) for one in members}
    table = as_csv(pd.DataFrame(rows(question, None, answers, members, 1, dict.fromkeys(members, 0.0))))
    for row in csv.reader(io.StringIO(table.decode("utf-8-sig"), newline="")):
        if len(row) not in (0, len(COLUMNS)) or any(cell[:1] in ("=", "+", "-", "@", "\t", "\r") for cell in row):
            raise Found(f"a row of the export: {row}")
    room = new_room("key", view={"page": "heads", "text": text_of(chance)})
    room = Room(**{**asdict(room), "question": Asked("q", definition)})
    if Room.from_json(room.to_json()).question != room.question:
        raise Found("a room is not what was written")
