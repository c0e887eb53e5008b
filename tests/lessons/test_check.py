"""`encoderscope lesson`: new, check, and what it reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from encoder.cli.main import main as encoderscope
from pages.lessons import command
from pages.lessons.check import check

BAD = """---
title: A title
minutes: 5
level: any
goals: [one]
needs: nothing
---
## A page that is not there

Text.

```view
page: nowhere
```

## A layer that the model does not have

Text.

```view
page: heads
layer: 99
```

## A word that the text does not have

Text.

```view
page: heads
text: One two three.
```

```question
kind: token
ask: Which?
query: zebra
```

## A poll

Text.

```question
kind: choice
ask: Which?
options: [a, b]
```
"""


def test_a_new_lesson_is_written_and_has_no_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "my-lesson.md"
    assert command.main(["new", str(file)]) == 0
    assert command.main(["check", str(file)]) == 0
    assert str(file) in capsys.readouterr().out
    assert command.main(["new", str(file)]) == 2  # nothing is overwritten
    assert command.main(["new", str(tmp_path / "other.txt")]) == 2
    assert command.main(["check", str(tmp_path / "none.md")]) == 2


def test_several_files_and_folders_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "lessons"
    folder.mkdir()
    for name in ("first.md", "second.md"):
        (folder / name).write_text(BAD)
    alone = tmp_path / "alone.md"
    assert command.main(["new", str(alone)]) == 0
    assert command.main(["check", str(alone), str(folder)]) == 1
    said = capsys.readouterr().out
    assert f"{alone}: every view opens" in said
    assert [said.count(f"{folder / name}:34: ") for name in ("first.md", "second.md")] == [1, 1]
    (folder / "first.md").unlink()
    (folder / "second.md").unlink()
    assert command.main(["check", str(folder)]) == 2
    assert "no lesson" in capsys.readouterr().err


def test_the_command_line_hands_all_paths_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    missing = [tmp_path / "a.md", tmp_path / "b.md"]
    assert encoderscope(["lesson", "check", *map(str, missing)]) == 2
    said = capfd.readouterr().err
    assert all(f"{path}: " in said for path in missing)


def test_check_names_line_and_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.md"
    file.write_text(BAD)
    found = {finding.line: finding.reason for finding in check(file)}
    assert list(found) == [12, 20, 34, 44]
    for line, named in ((12, "nowhere"), (20, "99"), (34, "zebra"), (44, "choice")):
        assert named in found[line]
    assert command.main(["check", str(file)]) == 1
    assert f"{file}:34: " in capsys.readouterr().out
