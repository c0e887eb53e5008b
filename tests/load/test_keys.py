"""Every row of the table of keys: what it says happens, next to transformers and sentence-transformers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from docs import keys as document
from encoder.checkpoints.keys import DECISIONS, Key, keys
from encoder.errors import EncoderError
from tests.load import differential
from tests.load.differential import Reading
from tests.load.key_values import VALUES, folders_of

pytestmark = pytest.mark.sample(4, "opens a changed folder in both libraries")


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Reading]]:
    made = differential.write_originals(tmp_path_factory.mktemp("keys"))
    return {name: (path, differential.of_ours(path, name)) for name, path in made.items()}


#: Of MarkupLM, which tests/load/test_nodes.py tries.
OF_PATHS = {"tags_dict", "max_depth", "max_width", "pad_width"}
#: tests/load/test_gliner.py tries the keys of GLiNER, whose package is not installed.
KEYS = [key for key in keys() if key.file != "gliner_config.json" and key.name not in OF_PATHS]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: f"{key.file}-{key.name}")
def test_each_key(key: Key, originals: dict[str, Any], tmp_path: Path):
    """None is silent; a followed key changes something, one without effect nothing, a refused one is refused."""
    form = folders_of(key.file, key.name)[0]
    original, before = originals[form]
    happens = set()
    for index, value in enumerate(VALUES[key.file][key.name]):
        folder = Path(shutil.copytree(original, tmp_path / str(index)))
        differential.change(folder, key.file, key.name, value)
        happens.add(differential.outcome(folder, {(key.file, key.name): value}, before.notes, form))
        try:
            after = differential.of_ours(folder, form)
        except EncoderError:
            continue
        happens.add("changes" if before.same(after) else "stays")
    if key.decision == "refused":
        assert "refused" in happens
    elif key.decision == "without effect":
        assert happens <= {"equal", "stays", "refused there"}
    elif key.decision == "followed":
        assert "equal" in happens or key.file == "adapter_config.json"
    else:
        assert happens & {"noted", "equal"}


def test_the_table():
    assert {key.decision for key in keys()} == set(DECISIONS)
    for key in KEYS:
        assert VALUES[key.file][key.name], key
    assert document.text().count("\n| `") == len(keys())
