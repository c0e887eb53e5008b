"""`encoderscope lesson ACTION FILE ...`: run by encoder/cli/lesson.py as a script."""

import csv
import json
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve()
#: Before the address of a server, and before the folder of own lessons, among the arguments.
SERVER, LESSONS_ROOT = "--server=", "--lessons-root="
NO_LESSON = "this folder has no lesson. The file of a lesson ends with .md."
TEMPLATE = HERE.with_name("template.md").read_text(encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run an action on files, as encoder/cli/lesson.py has parsed them; returns the exit code: 0 good, 1 the lesson has
    faults, 2 wrong use.
    """
    name, *files = sys.argv[1:] if arguments is None else arguments
    if as_json := "--json" in files:
        files.remove("--json")
    given = {flag: one.removeprefix(flag) for one in files for flag in (SERVER, LESSONS_ROOT) if one.startswith(flag)}
    files = [one for one in files if not one.startswith((SERVER, LESSONS_ROOT))]
    check = partial(_check, as_json=as_json)
    material = partial(_material, server=given.get(SERVER, ""), own=given.get(LESSONS_ROOT, ""))
    action = {"new": _new, "check": check, "preview": _preview, "material": material, "answers": _answers}[name]
    return max(_tried(action, file) for path in map(Path, files) for file in _lessons_at(path, name))


def _lessons_at(path: Path, action: str) -> list[Path]:
    """The lessons in a folder that is checked, by name; of any other path, the path."""
    return sorted(path.glob("*.md")) or [path] if action == "check" and path.is_dir() else [path]


def _tried(action: Callable[[Path], int], file: Path) -> int:
    from encoder.errors import SaveError

    try:
        return action(file)
    except SaveError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{file}: {error.strerror or error}", file=sys.stderr)
        return 2


def _new(file: Path) -> int:
    if file.suffix != ".md":
        print(f"A lesson's file ends with .md: {file}.md", file=sys.stderr)
        return 2
    from encoder import disk

    if os.path.lexists(file):
        print(f"{file} exists, and stays: choose another name.", file=sys.stderr)
        return 2
    disk.write_file(file, TEMPLATE.format(title=file.stem.replace("-", " ").replace("_", " ").capitalize()))
    print(f"{file}: written. Edit it, then run: encoderscope lesson check {file}")
    return 0


def _check(file: Path, as_json: bool = False) -> int:
    from pages.teaching.lessons.check import check

    if file.is_dir():
        print(f"{file}: {NO_LESSON}", file=sys.stderr)
        return 2
    findings = list(check(file))
    for finding in findings:
        found = {"file": str(file), "line": finding.line, "reason": finding.reason}
        print(json.dumps(found) if as_json else f"{file}:{finding.line}: {finding.reason}")
    if not findings and not as_json:
        print(f"{file}: every view opens and every question has an answer.")
    return min(1, len(findings))


def _preview(file: Path) -> int:
    from encoder.cli.main import main as encoderscope

    if _check(file):
        return 1
    print("Open the page “Lessons” in the app.")
    return encoderscope(["--lessons-root", str(file.resolve().parent)])


def _material(folder: Path, server: str = "", own: str = "") -> int:
    from pages.core.frame.frame import import_params
    from pages.teaching.lessons import library, material
    from pages.teaching.lessons.check import check
    from pages.teaching.lessons.lesson import LessonError

    import_params()
    if own:
        os.environ[library.ROOT] = own
        lessons, broken = library.lessons()
        faults = [f"{one.name}: {one.reason}" for one in broken]
        if not faults and not any(map(library.is_own, lessons)):
            faults = [f"{own}: {NO_LESSON}"]
        if faults:
            print(*faults, sep="\n", file=sys.stderr)
            return 1
        for one in filter(library.is_own, lessons):
            path = Path(own, f"{one.name}.md")
            for finding in check(path):  # a view of another head than the text's gives a key to another question
                print(f"{path}:{finding.line}: {finding.reason}", file=sys.stderr)
    try:
        files = material.write(folder, server)
    except LessonError as error:
        print(error, f"{folder}: not written.", sep="\n", file=sys.stderr)
        return 1
    print(*(f"{file}: written." for file in files), sep="\n")
    return 0


def _answers(file: Path) -> int:
    from encoder.disk import read_regular
    from encoder.documents.csv_file import cell
    from encoder.errors import EncoderError
    from pages.core.frame.frame import import_params
    from pages.teaching.lessons import codes

    import_params()
    rows, faults = csv.writer(sys.stdout), 0
    rows.writerow(["student", "lesson", "step", "question", "answer", "right"])
    for number, line in enumerate(read_regular(file).decode("utf-8", "replace").splitlines(), 1):
        try:
            for row in codes.rows(line) if line.strip() else ():
                rows.writerow([number, *map(cell, row)])
        except EncoderError as error:
            print(f"{file}:{number}: {error}", file=sys.stderr)
            faults = 1
    return faults


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[3]))
    os.environ.setdefault("STREAMLIT_LOGGER_LEVEL", "error")
    # It warns of every widget that is made without a browser, before it has read the level above.
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True
    sys.exit(main())
