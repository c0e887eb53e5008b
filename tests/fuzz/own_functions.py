"""A user's own measures, outcomes and edits that raise, exit, or return something else: a sentence with their line."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

import encoder
from encoder import causal, edits, own
from encoder.causal import outcomes
from encoder.edits import values as edit_values
from encoder.errors import EncoderError
from encoder.measure import head_definitions, heads
from tests.fuzz.checkpoints import Found, bounded

#: What a function does in the end; `one` is its last argument.
ENDS = (
    "raise ValueError('no')", "raise Exception", "raise SystemExit(3)", "import sys; sys.exit('bye')", "1 / 0", "[][1]",
    "return None", "return 'text'", "return one", "return 1.0", "return [1, 2]", "return {}", "return one.output[0]",
    "return one[..., :1]", "return one.long()", "return one * float('nan')", "return one.sum()", "return lambda x: x",
    "return lambda x: x.sum((-1, -2))", "return lambda x: 'text'", "return lambda x: x[:0]", "yield one",
    "def again(): return again()\n    return again()",
    "class Bad(Exception):\n        def __str__(self): 1 / 0\n    raise Bad",
    "return one.attentions.mean((-1, -2))", "import numpy; return numpy.full((9, 9), 'x')", "raise MemoryError2",
)  # fmt: skip
BROKEN = ("def", "import nothing_like_this", "raise SystemExit", "1 / 0", "\x00", "'", "x = (" * 300, "raise KeyError")


def case(seed: int) -> str:
    """One file, and what it registers in use. Raises Found."""
    chance = random.Random(seed)
    kind, end = chance.choice(("measure", "causal", "edits", "file")), chance.choice(ENDS)
    arguments = "model, one" if kind == "causal" else "one"
    source = f"import encoder\n\ndef mine({arguments}):\n    {end}\n\nencoder.{kind}.register('fuzzed', mine)\n"
    source = chance.choice(BROKEN) if kind == "file" else source
    what = f"case {seed} ({kind}: {source if kind == 'file' else end!r})"
    before = os.environ.get(own.FILE)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "own.py"
        file.write_text(source, encoding="utf-8")
        os.environ[own.FILE] = str(file)
        try:
            with bounded(what):
                return f"{kind}: {_run(kind)}"
        except Found:
            raise
        except BaseException as error:
            raise Found(f"{what}: {type(error).__name__}: {error}") from error
        finally:
            os.environ.pop(own.FILE) if before is None else os.environ.update({own.FILE: before})
            head_definitions.BY_NAME.pop("fuzzed", None)
            outcomes._REGISTERED.pop("fuzzed", None)
            edit_values.FUNCTIONS.pop("fuzzed", None)


def _run(kind: str) -> str:
    model = encoder.load("twin-pre", device="cpu")
    try:
        own.load.__wrapped__()
        if kind == "measure":
            _ = heads(model.trace("A cat sat.")).values["fuzzed"]
        elif kind == "causal":
            causal.ablate_each_head(model, "A cat sat.", "fuzzed")
        elif kind == "edits":
            _ = model.trace("A cat sat.", edits=[edits.Call("ffn_out", layer=0, function="fuzzed")]).output
    except EncoderError as error:
        nowhere = "null bytes" in str(error)  # Python names no line then
        if not ("line" in str(error) or nowhere) or "\n" in str(error).strip():
            raise Found(f"the sentence names no line: {error}") from error
        return "refused"
    return "used"
