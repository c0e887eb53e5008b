"""Documents that the project writes itself are up to date, and the names in all texts are those of the code."""

from __future__ import annotations

import importlib
import json
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import encoder
from benchmarks.serving import rooms
from docs import api, corpus, how_to, pictures, placeholders, sought
from tests.conftest import ROOT


def test_every_page_is_listed_with_a_picture() -> None:
    listed = re.findall(r"\((.*?)/(\w+)\.webp\)", pictures.text("../pages"))
    assert listed == [("../pages", name) for name in rooms()]
    assert list(pictures.TRY) == list(rooms())
    assert {file.stem for file in pictures.PICTURES.glob("*.webp")} == set(rooms())


def test_a_word_of_a_newcomer_opens_one_entry_whose_control_is_named() -> None:
    entries = yaml.safe_load(how_to.ENTRIES.read_text(encoding="utf-8"))
    assert {one["control"] for one in entries if "control" in one} == set(how_to.CONTROLS)
    drawn = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "pages").rglob("*.py"))
    named = {label for words in how_to.CONTROLS.values() for label in re.findall("“(.+?)”", words)}
    assert [label for label in named if f'"{label}"' not in drawn] == []
    text = how_to.text()
    assert all(how_to.steps(one, how_to.pages()) for one in entries), "a page, a control or steps of its own"
    assert f"Use {how_to.CONTROLS['model-picture']}." not in text, "its entries say which part"
    for title, words in how_to.INDEXED.items():
        [said] = [f"{one['title']} {one['asks']}".lower() for one in entries if one["title"] == title]
        assert [word for word in words.split() if not re.search(rf"\b{word}", said)] == []
        assert f"## {title}\n\n```{{index}} !{words.split()[0]}" in text


def test_the_figures_of_the_atlases_are_those_of_the_document() -> None:
    assert corpus.FILE.read_text(encoding="utf-8") == corpus.text()


def columns(file: str, heading: str) -> list[list[str]]:
    """The cells of the table whose first row begins with `heading`, row by row."""
    table = (ROOT / file).read_text(encoding="utf-8").partition(heading)[2].partition("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]


def test_figures_of_speed_have_one_source() -> None:
    """What the comparison says of time, bytes and frames is what the benchmarks say."""
    known = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    said = [row[1] for row in columns("docs/comparison.md", "| | Encoderscope | [Transformer")]
    figures = [figure for cell in said for figure in re.findall(r"[\d.]+(?= s\b| kB| MB)", cell)]
    assert len(figures) >= 3
    assert [one for one in figures if not re.search(rf"(?<![\d.]){re.escape(one)}(?![\d])", known)] == []
    row = next(line for line in known.splitlines() if "at 16, 64, 128 and 512 tokens" in line)
    third = re.findall(r"[\d.]+", row.partition("at 512 |")[2])[2]
    assert f"128 tokens in {third} s" in (ROOT / "docs/comparison.md").read_text(encoding="utf-8")


def test_a_figure_of_several_documents_is_in_one() -> None:
    """Numbers that change are written once: how many pages, lessons, families and visitors there are."""
    counted = re.compile(
        r"\b(\d+|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|twenty-\w+) (?:text |bundled )?"
        r"(pages in the bar|pages|lessons|families|heads with a type|visitors for each)\b",
        re.IGNORECASE,
    )
    homes: dict[str, set[str]] = {}
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for _, what in counted.findall(file.read_text(encoding="utf-8")):
            homes.setdefault(what.lower(), set()).add(file.name)
    assert {what: files for what, files in homes.items() if len(files) > 1} == {}


#: Where people and programs read names of modules: sources with their exported Python lines, documents, scripts.
NAMING = [
    path
    for pattern in (
        "*.md",
        "*.toml",
        "Makefile",
        "docs/*.md",
        "docs/*.py",
        "deploy/*",
        "app.py",
        "benchmarks/*.py",
        "encoder/**/*.py",
        "encoder/cli/*.toml",
        "pages/**/*.py",
        "pages/**/*.js",
        "encoder/**/*.js",
        "docs/**/*.js",
        "recipes/**/*.py",
    )
    for path in ROOT.glob(pattern)
    if path.is_file() and path.name not in {"CHANGELOG.md", "package.json"} and path.suffix not in {".png", ".webp"}
]


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


def test_what_the_owner_must_fill_in_is_on_one_list():
    """Every placeholder is in each file of its row and in no other, until it has a value; a value replaces it."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8", errors="ignore")
        for name in names
        if (ROOT / name).is_file() and name != "docs/placeholders.toml"
    }
    for one in placeholders.placeholders():
        assert one.value or {name for name, text in texts.items() if one.written in text} == set(one.files)
        given = replace(one, value="a value")
        assert all(one.written not in placeholders.filled(texts[name], [given]) for name in one.files)


def test_links_of_readme_lead_to_files_and_on_a_package_index_to_the_repository():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = r'\]\(([^)#]+)[^)]*\)|(?:src|srcset)="([^"]+)"'
    own = [one or other for one, other in re.findall(found, text) if not (one or other).startswith("https://")]
    assert len(own) > 10
    assert [name for name in own if not (ROOT / name).is_file()] == []
    shown = runpy.run_path(str(ROOT / "hatch_build.py"))["absolute"](text, "https://code.example/us/encoderscope")
    targets = [one or other for one, other in re.findall(found, shown)]
    assert [one for one in targets if not one.startswith("https://")] == []
    assert {f"https://code.example/us/encoderscope/{kind}/main/" for kind in ("blob", "raw")} <= {
        re.sub(r"(?<=/main/).*", "", one) for one in targets
    }


def test_links_of_documents_open_in_a_repository():
    """What `make docs` writes is not there: a document links to its source, and the site shows what is made of it."""
    missing = []
    for file in DOCUMENTS:
        text = re.sub(r"^````*.*?^````*$", "", file.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        named = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", text)
        missing += [
            (file.name, one) for one in named if one.startswith("generated/") or not (file.parent / one).exists()
        ]
    assert not missing


#: Words of the documents without the lists that the project writes itself, and without the manual of the npm package;
#: people read them in an hour.
MOST_WORDS = 15_000
NOT_READ = {"corpus.md", "parity.md", "components.md"}


def test_the_documents_are_read_in_an_hour():
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = [file.read_text(encoding="utf-8") for file in files if file.name not in NOT_READ]
    assert sum(bool(re.search(r"[A-Za-z0-9]", word)) for text in texts for word in text.split()) <= MOST_WORDS


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


def test_a_docstring_becomes_sentences_a_list_and_what_is_raised() -> None:
    """Names that are no parameters begin no entry, and what follows the last entry is a sentence again."""
    text = "What it does. Note: not an entry. maps [L, T]: the maps; a, b: two. It ends. Raises EncoderError for none."
    said, listed, raised = api.parts(text, frozenset({"maps", "a", "b", "ends"}))
    assert said == "What it does. Note: not an entry. It ends."
    assert listed == [("maps [L, T]", "the maps"), ("a, b", "two")]
    assert raised == ["EncoderError for none."]


@pytest.mark.slow("builds all the documentation")
def test_the_documentation_builds_without_a_warning(tmp_path: Path):
    """As `make docs`: links between documents and docstrings are checked; nothing is fetched from another host."""
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "docs", str(tmp_path)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    pages = {path.relative_to(tmp_path).as_posix(): path.read_text("utf-8") for path in tmp_path.rglob("*.html")}
    assert {"index.html", "reading.html", "generated/api.html", "generated/pages.html"} <= set(pages)
    fetched = r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//'
    assert not [name for name, page in pages.items() if re.search(fetched, page)]
    for module, found in api.modules().items():  # every public name has an anchor
        path = "encoder" if module == "encoder" else f"encoder.{module}"
        values = {name: value for section in api.names(found).values() for name, value in section.items()}
        named = [
            name for name, value in values.items() if found is encoder or getattr(encoder, name, None) is not value
        ]
        page = pages[f"generated/api/{module}.html"]
        assert [name for name in named if f'id="{path}.{name}"' not in page] == []
    assert 'id="encoder.Trace.attention"' in pages["generated/api/encoder.html"]
    index = json.loads(re.search(r"\{.*\}", (tmp_path / "searchindex.js").read_text("utf-8"), re.DOTALL)[0])  # type: ignore[index]
    found = {word: {index["docnames"][place[0]] for place in places} for word, places in index["indexentries"].items()}
    for (document, _), words in sought.SOUGHT.items():
        assert [word for word in words.split(", ") if not {document, f"generated/{document}"} & found[word]] == []
    for words in how_to.INDEXED.values():
        assert [word for word in words.split() if "generated/how_to" not in found[word]] == []
