"""Folders with changed keys: each opens as in transformers or sentence-transformers, or something says why not."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.fuzz.checkpoints import Found, bounded
from tests.load import differential
from tests.load.differential import Reading, Silent
from tests.load.forms import FORMS
from tests.load.key_values import VALUES, folders_of

#: How many keys of a folder are changed.
CHANGES = (1, 1, 1, 2, 2, 3)
#: The folders, the usual ones more often.
NAMES = (*["sentence"] * 4, *["plain"] * 4, *["roberta"] * 3, "adapter", *FORMS)
#: An original folder, and what is made of it without changes.
Original = tuple[Path, Reading]


def write_originals(folder: Path) -> dict[str, Original]:
    """The folders whose keys are changed."""
    made = differential.write_originals(folder)
    return {name: (path, differential.of_ours(path, name)) for name, path in made.items()}


def case(originals: dict[str, Original], seed: int) -> str:
    """One changed folder: "equal", "noted", "refused" or "refused there". Raises Found for a silent difference."""
    chance = random.Random(seed)
    name = chance.choice(NAMES)
    original, before = originals[name]
    keys = {
        file: some
        for file, values in VALUES.items()
        if (some := [key for key in values if name in folders_of(file, key)])
    }
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(original, Path(place) / "model"))
        done: dict[tuple[str, str], Any] = {}
        for _ in range(chance.choice(CHANGES)):
            file = chance.choice(list(keys))
            key = chance.choice(keys[file])
            value = chance.choice(VALUES[file][key])
            differential.change(folder, file, key, value)
            done[file, key] = "removed" if value is differential.REMOVED else value
        what = f"case {seed} ({name}; {done})"
        try:
            with bounded(what):
                return differential.outcome(folder, done, before.notes, name)
        except Silent as error:
            raise Found(f"{what}: {error}") from error
        except Found:
            raise
        except Exception as error:
            raise Found(f"{what}: {type(error).__name__}: {error}") from error
