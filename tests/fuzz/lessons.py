"""Lesson files with hostile YAML and Markdown in a folder: each is listed with a sentence, and the others open."""

from __future__ import annotations

import functools
import os
import random
import tempfile
from pathlib import Path

from pages.core.frame.frame import import_params
from pages.teaching.lessons import library
from tests.fuzz.checkpoints import Found, bounded
from tests.fuzz.texts import text_of

PARTS = (
    "2001-13-45", "1" * 6_000, "0x" + "f" * 6_000, "[" * 5_000, "{a: " * 2_000, "&a [*a]",
    "!!python/object:os.system x",
    "1e999", ".nan", "null", "true", "[1, {}]", "{? [1]: 2}", "12:30:99", "!!binary x", "!!set {a}", "2001-02-30", "~",
    "- - - -", "'", '"\\ud800"', "\x00", "\t", "<<: *b", "0o9", "-1", "9" * 30, "!!int x",
    "!!timestamp x", "@", "%", "`",
)  # fmt: skip


@functools.cache
def _shipped() -> tuple[str, ...]:
    import_params()
    return tuple(path.read_text(encoding="utf-8") for path in sorted(library.SHIPPED.glob("*.md")))


def case(seed: int) -> str:
    """A folder with one good and one changed lesson. Returns what became of it. Raises Found."""
    chance = random.Random(seed)
    text = chance.choice(_shipped())
    what = f"case {seed}"
    for _ in range(chance.choice((1, 1, 2, 4))):
        lines = text.split("\n")
        at = chance.randrange(len(lines))
        part = chance.choice(PARTS) if chance.random() < 0.8 else text_of(chance)[:2_000]
        name, colon, _ = lines[at].partition(":")
        lines[at] = chance.choice((part, f"{name}{colon} {part}", f"{lines[at]}{part}"))
        text = "\n".join(lines)
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "zz-good.md").write_text(_shipped()[0], encoding="utf-8")
        (Path(place) / "zz-bad.md").write_bytes(text.encode("utf-8", "surrogatepass"))
        before = os.environ.get(library.ROOT)
        os.environ[library.ROOT] = place
        try:
            with bounded(what):
                good, broken = library.lessons()
        except Found:
            raise
        except BaseException as error:
            raise Found(f"{what}: {type(error).__name__}: {error}") from error
        finally:
            os.environ.pop(library.ROOT) if before is None else os.environ.update({library.ROOT: before})
            library._kept.cache_clear()
    names = {one.name for one in good}
    if "zz-good" not in names or len(names | {one.name for one in broken}) < len(_shipped()) + 2:
        raise Found(f"{what}: a lesson is gone")
    for one in broken:
        if not one.reason.strip() or len(one.reason) > 2_000 or "cannot be read (" in one.reason:
            raise Found(f"{what}: {one.reason[:500]}")
    for one in good:
        repr((one.title, one.minutes, one.goals, [step.view for step in one.steps]))
    return "broken" if broken else "good"
