"""`encoderscope lesson`: new, check, and what it reports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from encoder.cli.main import main as encoderscope
from pages.teaching.lessons import command
from pages.teaching.lessons.check import check

pytestmark = pytest.mark.sample(3, "another lesson")

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

VIEW = """```view
page: heads
text: The animal didn't cross the street because it was too tired.
layer: 3
head: 1
```
"""
GOOD = f"""---
title: A title
minutes: 5
level: any
goals: [one]
needs: nothing
---
## One

Only what the steps say.

{VIEW}
```question
kind: number
ask: How many weights has a row?
quantity: n_tokens
within: 0
why: A row of weights.
```

## Two

Text.

{VIEW}
```question
kind: token
ask: To which word does “it” attend most in L3 H1?
query: it
```

## Three

Text.

{VIEW}
```question
kind: number
ask: How large is this weight in L3 H1?
quantity: {{weight: {{query: it, key: animal}}}}
within: 0.1
why: Right up to 0.1.
```
"""


@pytest.fixture
def views_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every view opens, without the whole app."""
    monkeypatch.setattr("pages.teaching.lessons.check._check_view", lambda step: iter(()))


def test_a_new_lesson_is_written_and_has_no_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "my-lesson.md"
    assert command.main(["new", str(file)]) == 0
    assert command.main(["check", str(file)]) == 0
    assert str(file) in capsys.readouterr().out
    assert command.main(["new", str(file)]) == 2  # nothing is overwritten
    assert command.main(["new", str(tmp_path / "other.txt")]) == 2
    assert command.main(["check", str(tmp_path / "none.md")]) == 2


def test_a_mistake_that_is_not_an_answer_is_a_finding_with_its_line(tmp_path: Path, views_open: None) -> None:
    written = "query: it\nmistakes:\n  - answer: {}\n    says: Mine.\n    truth: Another one."
    for answer, expected in (("street", 0), ("street (8)", 0), ("zebra", 1), ("[7]", 1)):
        file = tmp_path / "lesson.md"
        file.write_text(GOOD.replace("query: it\n```", f"{written.format(answer)}\n```"), encoding="utf-8")
        found = [one for one in check(file) if "not an answer" in one.reason]
        assert len(found) == expected
        assert all(file.read_text(encoding="utf-8").splitlines()[one.line - 1] == "```question" for one in found)


def test_several_files_and_folders_are_checked(
    tmp_path: Path, views_open: None, capsys: pytest.CaptureFixture[str]
) -> None:
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


@pytest.mark.slow("starts the command in another process")
def test_the_command_line_hands_all_paths_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    missing = [tmp_path / "a.md", tmp_path / "b.md"]
    assert encoderscope(["lesson", "check", *map(str, missing)]) == 2
    said = capfd.readouterr().err
    assert all(f"{path}: " in said for path in missing)


@pytest.mark.parametrize(
    ("good", "broken", "reason"),
    [
        ("Two\n\nText.", "Two\n\nThe token is “animal”.", "stands in its own text"),
        ("why: A row of weights.", "why: It attends to “animal”.", "stands in the step before"),
        ("Only what the steps say.", "Dropout is used.", "“dropout” is used before it is introduced"),
        ("layer: 3", "layer: 4", "the view opens L4 H1"),
        ("does “it” attend", "does “zebra” attend", "“zebra” is not in the text of the view"),
        ("within: 0.1", "within: 0.0001", "the answer as it is shown"),
        ("Right up to 0.1.", "The weight is 0.69.", "why says 0.69"),
    ],
)  # fmt: skip
def test_a_broken_lesson_fails_with_its_reason(
    tmp_path: Path, good: str, broken: str, reason: str, views_open: None, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.md"
    assert good in GOOD
    file.write_text(GOOD.replace(good, broken), encoding="utf-8")
    assert command.main(["check", str(file)]) == 1
    assert reason in capsys.readouterr().out


def test_the_lesson_that_is_broken_there_has_no_faults(tmp_path: Path, views_open: None) -> None:
    file = tmp_path / "mine.md"
    file.write_text(GOOD, encoding="utf-8")
    assert list(check(file)) == []


def test_check_names_line_and_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.md"
    file.write_text(BAD)
    assert command.main(["check", str(file)]) == 1
    said = capsys.readouterr().out
    findings = re.findall(rf"^{re.escape(str(file))}:(\d+): (.*)$", said, re.MULTILINE)
    found = {int(line): reason for line, reason in findings}
    assert list(found) == [12, 20, 34, 44]
    for line, named in ((12, "nowhere"), (20, "99"), (34, "zebra"), (44, "choice")):
        assert named in found[line]
