"""What the documents name in prose is there: functions, commands, options, extras, variables, files, pages, counts."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import frontmatter
import pytest

import encoder
from benchmarks.serving import pages
from docs import pictures
from encoder.cli import main
from encoder.encoders.seq2seq import Decoder
from pages.core.frame.frame import import_params
from pages.teaching.lessons import lesson
from pages.teaching.lessons.library import SHIPPED
from pages.teaching.lessons.path import weeks
from tests.conftest import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("encoder", "pages", "recipes", "tests", "docs", "benchmarks", "deploy")
ENCODERS = (encoder.TextEncoder, encoder.ImageEncoder, encoder.AudioEncoder, encoder.JointEncoder, Decoder)
#: What a name in a span is an example of. A name of a model means any kind of encoder.
VALUES: dict[str, tuple[Any, ...]] = {
    "encoder": (encoder,), "trace": (encoder.Trace,), "model": ENCODERS, "dates": ENCODERS,
    **{name: (getattr(encoder, name),) for name in encoder.__all__ if inspect.ismodule(getattr(encoder, name))},
    "run": (encoder.Run, encoder.run),
}  # fmt: skip


def prose(path: Path) -> str:
    """A document without its blocks of code."""
    return re.sub(r"^````*.*?^````*$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def spans(path: Path) -> list[str]:
    """The code in the sentences of a document, each on one line."""
    return [" ".join(one.split()) for one in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose(path))]


ALL_SPANS = [(path.relative_to(ROOT).as_posix(), span) for path in DOCUMENTS for span in spans(path)]


# --- Python -----------------------------------------------------------------------------------------------------------


def attribute(value: Any, name: str) -> tuple[Any, ...] | None:
    """What a public name of a value is. None: it has no such name. An attribute without a known value: ()."""
    if inspect.ismodule(value) and name not in dir(value):  # what `import encoder` does not give is not public
        return None
    if hasattr(value, name):
        found = inspect.getattr_static(value, name) if inspect.isclass(value) else getattr(value, name)
        known = isinstance(found, types.ModuleType | types.FunctionType | type)
        return (found,) if known else ()
    every = [getattr(one, "__annotations__", {}) for one in getattr(value, "__mro__", ())]
    return () if any(name in one for one in every) else None


def resolve(node: ast.expr) -> tuple[Any, ...] | None:
    """The values that an expression may mean; None where a name of it does not exist."""
    if isinstance(node, ast.Name):
        return VALUES.get(node.id, ())
    if isinstance(node, ast.Attribute):
        owners = resolve(node.value)
        if not owners:
            return owners
        found = [one for owner in owners if (one := attribute(owner, node.attr)) is not None]
        return tuple(value for one in found for value in one) if found else None
    return ()


def unknown(span: str) -> list[str]:
    """The names and arguments of a span of Python that do not exist."""
    if "/" in span and "(" not in span:  # a path
        return []
    if re.fullmatch(r"[\w.-]+\.(py|md|csv|json|jsonl|toml|yml|txt|npy|npz|html|png|parquet|safetensors)", span):
        return []
    try:
        tree = ast.parse(span)
    except SyntaxError:
        return []
    missing = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            missing += [one.name for one in node.names if not (one.name == "encoder" or "." not in one.name)]
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            missing += [one.name for one in node.names if not hasattr(module, one.name)]
        if isinstance(node, ast.Attribute) and resolve(node) is None:
            missing.append(ast.unparse(node))
        if isinstance(node, ast.Call) and (functions := resolve(node.func)):
            known = set().union(*(set(inspect.signature(one).parameters) for one in functions))
            if "kwargs" not in known:
                missing += [f"{ast.unparse(node.func)}({key.arg}=)" for key in node.keywords if key.arg not in known]
    return missing


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_name_of_python_in_a_sentence_exists_after_import_encoder(path: Path):
    assert [name for span in spans(path) for name in unknown(span)] == []


@pytest.mark.parametrize(
    ("span", "missing"),
    [
        ("encoder.measure.rollout(trace, -1)", []),
        ("model.trace(text, request=['z'])", []),
        ("encoder.measure.head_alignment.score_heads(trace, pairs)", ["encoder.measure.head_alignment"]),
        ("encoder.inputs.digits", ["encoder.inputs"]),
        ("import encoder.digits", ["encoder.digits"]),
        ("trace.weight(1, 2)", ["trace.weight"]),
        ("model.trace(text, colour=3)", ["model.trace(colour=)"]),
    ],
)
def test_a_name_that_does_not_exist_is_found(span: str, missing: list[str]):
    assert unknown(span)[-1:] == missing[-1:]
    assert bool(unknown(span)) == bool(missing)


# --- commands, options, extras, variables, files ----------------------------------------------------------------------


def of_command(words: list[str]) -> tuple[str, set[str]]:
    """The command of a line after `encoderscope`, and its options."""
    two, one = " ".join(words[:2]), " ".join(words[:1])
    name = next((name for name in (two, one) if name in main.COMMANDS), "app")
    return name, {flag for option in main.COMMANDS[name].options for flag in option.flags} | {"--help", "--version"}


def commands() -> Iterator[tuple[str, str]]:
    """Every command line of the documents, in a sentence or in a block."""
    for path in DOCUMENTS:
        for block in re.findall(r"```(?:sh|bash|bat|console|yaml)[^\n]*\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
            lines = (re.split(r"\s+#|\s>\s|\s\|\|", line)[0].strip() for line in block.splitlines())
            yield from ((path.name, line.removeprefix("- run: ")) for line in lines if "encoderscope " in line)
    yield from ((name, span) for name, span in ALL_SPANS)


def test_a_command_of_a_document_has_the_options_that_it_names():
    wrong = []
    for name, line in commands():
        if not line.startswith("encoderscope ") or "COMMAND" in line:
            continue
        words = line.split()[1:]
        command, flags = of_command(words)
        if command == "app" and words and re.fullmatch("[a-z]+", words[0]):
            wrong.append((name, line))
        wrong += [(name, f"{command} {word}") for word in re.findall(r"(?<!\S)--[a-z-]+", line) if word not in flags]
    assert not wrong


def test_an_option_in_a_sentence_belongs_to_a_command():
    known = {flag for command in main.COMMANDS.values() for option in command.options for flag in option.flags}
    known |= set(re.findall(r"--[a-z][a-z-]+", (ROOT / "deploy/Containerfile").read_text("utf-8"))) | {
        "--help",
        "--version",
    }
    foreign = {"--build-arg", "--quick", "--only", "--minutes", "--class"}  # of docker, of `make bench`, of `make soak`
    named = {(name, span.split()[0]) for name, span in ALL_SPANS if re.match(r"--[a-z]", span)}
    assert {(name, word) for name, word in named if word not in known | foreign} == set()


def test_an_extra_that_is_installed_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    texts = {path.name: path.read_text("utf-8") for path in DOCUMENTS}
    named = {
        (name, extra)
        for name, text in texts.items()
        for extra in re.findall(r"""(?:encoderscope|"\.)\[(\w+)\]""", text)
    }
    assert {(name, extra) for name, extra in named if extra not in extras} == set()


def test_a_variable_of_the_environment_is_read():
    sources = "".join(path.read_text("utf-8") for path in ROOT.glob("*/**/*.py") if ".venv" not in path.parts)
    named = {one for _, span in ALL_SPANS for one in re.findall(r"ENCODERSCOPE_[A-Z_]+", span)}
    assert {one for one in named if one not in sources} == set()


def test_a_file_or_folder_of_the_project_that_a_sentence_names_exists():
    missing = []
    for name, span in ALL_SPANS:
        path = span.split()[0].split("::")[0]
        if path == "docs/published":  # a folder of the reader's
            continue
        if path.partition("/")[0] in FOLDERS and "/" in path and not re.search(r"[<>{}]|\.\.\.|NAME", path):
            found = any(ROOT.glob(path)) if "*" in path else (ROOT / path).exists()
            missing += [] if found else [(name, path)]
    assert not missing


# --- pages, parts and counts ------------------------------------------------------------------------------------------


def test_a_page_that_a_document_names_is_in_the_app():
    titles = set(pages().values())
    wrong = []
    for path in DOCUMENTS:
        text = " ".join(prose(path).split())
        for named in re.findall(r"\b[Tt]he pages? ((?:[A-Z][\w/-]*)(?: [a-z]+){0,2})", text):
            if not any(named == title or named.startswith(f"{title} ") or title.startswith(named) for title in titles):
                wrong.append((path.name, named))
    assert not wrong


LESSONS = sorted(SHIPPED.glob("*.md"))


def test_the_lessons_of_the_table_are_those_of_the_app():
    shipped = [frontmatter.load(str(file)) for file in LESSONS]
    known = [(str(one["minutes"]), one["title"]) for one in shipped]
    table = (ROOT / "docs/lessons.md").read_text("utf-8").partition("| week |")[0]
    rows = re.findall(r"^\| [\dab]+ ([^|]+) \| (\d+) \|", table, re.MULTILINE)
    assert [(minutes, title) for title, minutes in rows] == known


def test_the_weeks_of_the_table_are_those_of_the_syllabus():
    import_params()
    lessons = {one.stem: lesson.load(one) for one in LESSONS}
    known = []
    for number, week in enumerate(weeks(), 1):
        chosen = [lessons[name] for name in week["lessons"]]
        labels, minutes = ", ".join(one.label for one in chosen), sum(one.minutes for one in chosen)
        known.append(f"| {number} {week['title']} | {labels} | {minutes} |")
    text = (ROOT / "docs/lessons.md").read_text("utf-8")
    assert text.partition("| week |")[2].partition("\n\n")[0].splitlines()[2:] == known


NUMBERS = {
    word: 10 + number
    for number, word in enumerate("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen".split())
}


def test_a_count_in_a_document_is_that_of_the_code():
    """What is counted: lessons, pages, families, commands."""
    counts = {"lessons": len(LESSONS), "pages": len(pages()), "commands": len(main.COMMANDS)}
    wrong = []
    for path in DOCUMENTS:
        for number, what in re.findall(rf"\b(\d+|{'|'.join(NUMBERS)}) ({'|'.join(counts)})\b", prose(path).lower()):
            if NUMBERS.get(number, number) != counts[what] and int(NUMBERS.get(number, number)) > 9:
                wrong.append((path.name, number, what))
    assert not wrong


# --- the annotated picture --------------------------------------------------------------------------------------------

READING = (ROOT / "docs/reading.md").read_text(encoding="utf-8")


def test_the_numbers_on_the_annotated_picture_are_the_rows_of_its_table():
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", READING, re.MULTILINE)
    assert [name for _, name in rows] == [*pictures.MARKED, "Band"]
    assert [int(number) for number, _ in rows] == [*range(1, len(rows) + 1)]


def test_every_numbered_part_has_a_button_of_that_name():
    source = (ROOT / "encoder/drawing/model_glyphs.js").read_text(encoding="utf-8")
    chips = dict(re.findall(r'^  "?([\w-]+)"?: \[\s*"([^"]+)"', source, re.MULTILINE))
    shown = {name: chips[key] for name, key in pictures.MARKED.items()}
    assert shown == {name: name for name in pictures.MARKED}


def test_the_quoted_weight_is_that_of_the_picture():
    assert "A weight of" in READING
    assert pictures.with_weight(READING) == READING, "run python -m docs.pictures"
