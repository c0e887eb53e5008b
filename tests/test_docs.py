"""Documents that the project writes itself are up to date, and the names in all texts are those of the code."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import encoder
from benchmarks.serving import rooms
from docs import corpus, pictures
from tests.conftest import ROOT


def test_every_page_is_listed_with_a_picture() -> None:
    listed = re.findall(r"\((.*?)/(\w+)\.webp\)", pictures.text("../pages"))
    assert listed == [("../pages", name) for name in rooms()]
    assert {file.stem for file in pictures.PICTURES.glob("*.webp")} == set(rooms())


def test_the_figures_of_the_atlases_are_those_of_the_document() -> None:
    assert corpus.FILE.read_text(encoding="utf-8") == corpus.text()


def test_figures_of_speed_have_one_source() -> None:
    """What README and the comparison say of time and bytes is what the benchmarks say."""
    known = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    table = (
        (ROOT / "README.md")
        .read_text(encoding="utf-8")
        .partition("| what | against | result |")[2]
        .partition("\n\n")[0]
    )
    said = re.findall(r"\d+(?:\.\d+)?(?= s\b| MB| to \d)", table)
    assert len(said) >= 5
    compared = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
    said += re.findall(r"all heads of 128 tokens in ([\d.]+)(?: to ([\d.]+))? s", compared)[0]
    assert [one for one in said if not re.search(rf"(?<![\d.]){re.escape(one)}(?![\d])", known)] == []


#: Where people and programs read names of modules: sources with their exported Python lines, documents, scripts.
NAMING = [
    path
    for pattern in ("*.md", "*.toml", "Makefile", "docs/*.md", "docs/*.py", "deploy/*", "app.py", "benchmarks/*.py",
                    "encoder/**/*.py", "encoder/cli/*.toml", "pages/**/*.py", "pages/**/*.js", "encoder/**/*.js",
                    "recipes/**/*.py")
    for path in ROOT.glob(pattern)
    if path.is_file() and path.name not in {"CHANGELOG.md", "package.json"} and path.suffix not in {".png", ".webp"}
]  # fmt: skip


def names_a_module(dotted: str) -> bool:
    """Whether `encoder.a.b.c` begins with a module, whose attributes come after it."""
    top, second, *_ = dotted.split(".")
    return (ROOT / top / second).is_dir() or (ROOT / top / f"{second}.py").is_file() or hasattr(encoder, second)


def test_every_module_that_is_named_in_a_text_exists():
    """A file that moves takes the names in documents, docstrings, scripts and exported Python lines along."""
    missing = []
    for path in NAMING:
        text = path.read_text(encoding="utf-8")
        for module, name in re.findall(r"from (encoder(?:\.\w+)*) import (\w+)", text):
            try:
                found = importlib.import_module(module)
                if not hasattr(found, name) and name not in Path(found.__file__ or "").read_text(encoding="utf-8"):
                    importlib.import_module(f"{module}.{name}")
            except ImportError:
                missing.append((path.name, f"from {module} import {name}"))
        named = re.findall(r"`(encoder\.\w+[\w.]*)`", text)
        missing += [(path.name, name) for name in named if not names_a_module(name)]
    assert not missing


def test_every_file_that_is_named_in_a_text_exists():
    missing = []
    for path in NAMING:
        found = re.findall(
            r"(?<![\w/.-])((?:encoder|pages|recipes|tests|docs|benchmarks|deploy)/[\w/]+\.(?:py|js|css|md|mjs|sh))\b",
            path.read_text(encoding="utf-8"),
        )
        missing += [(path.relative_to(ROOT).as_posix(), name) for name in found if not (ROOT / name).is_file()]
    assert not missing


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_a_command_of_a_document_is_run_or_marked():
    """tests/test_commands.py runs the lines that begin with `encoderscope`; any other line needs the mark."""
    others = []
    for path in DOCUMENTS:
        for kind, block in re.findall(
            r"```(?:sh|bash|bat|console)([^\n]*)\n(.*?)```", path.read_text("utf-8"), re.DOTALL
        ):
            lines = [] if "no-run" in kind else block.splitlines()
            others += [(path.name, line) for line in lines if not line.startswith("encoderscope")]
    assert not others, "write ```sh no-run"


def test_every_program_that_a_document_names_exists():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    texts = {path.name: path.read_text(encoding="utf-8") for path in DOCUMENTS}
    missing = [
        (name, target)
        for name, text in texts.items()
        for target in re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE)
        if target not in targets
    ]
    for name, text in texts.items():
        for module in re.findall(r"python -m ((?:docs|benchmarks|recipes|tests|encoder)[\w.]*)", text):
            found = ROOT / module.replace(".", "/")
            if not found.with_suffix(".py").is_file() and not (found / "__main__.py").is_file():
                missing.append((name, module))
    assert not missing


@pytest.mark.slow
def test_the_documentation_builds_without_a_warning(tmp_path: Path):
    """As `make docs`: links between documents and docstrings are checked; nothing is fetched from another host."""
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "docs", str(tmp_path)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    pages = {path.relative_to(tmp_path).as_posix(): path.read_text("utf-8") for path in tmp_path.rglob("*.html")}
    assert {"index.html", "reading.html", "generated/api.html", "generated/pages.html"} <= set(pages)
    fetched = r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//'
    assert not [name for name, page in pages.items() if re.search(fetched, page)]
    assert all(f'id="encoder.{name}"' in pages["generated/api.html"] for name in ("load", "Trace.attention", "save"))
