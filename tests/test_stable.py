"""What docs/stable.md promises: public names, formats with a version inside, and files and links of 0.1 that open."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import torch
import yaml
from safetensors import safe_open

import encoder
from encoder import EncoderError, corpus, search
from encoder.checkpoints import native, traces
from encoder.corpus import atlas_files
from encoder.diagnose.fingerprint import FORMAT as FINGERPRINT
from encoder.diagnose.golden import FORMAT as GOLDEN
from encoder.search import collection
from pages.state import url_state
from pages.state.former import FORMER
from pages.teaching.rooms import room as rooms
from tests.conftest import ROOT
from tests.pages.apps import sentences, visit

OLD = ROOT / "tests/files_of_0_1"
DOCUMENT = (ROOT / "docs/stable.md").read_text(encoding="utf-8")


def test_the_document_lists_every_public_name() -> None:
    section = DOCUMENT.partition("## Python")[2].partition("## Files")[0]
    listed = re.findall(r"`(\w+)`", "".join(line for line in section.splitlines() if line.startswith("| ")))
    assert sorted(listed) == sorted(encoder.__all__)
    assert sorted(set(dir(encoder)) - {"__version__"}) == sorted(encoder.__all__)
    names: dict[str, object] = {}
    exec("from encoder import *", names)
    assert sorted(set(names) - {"__builtins__"}) == sorted(encoder.__all__)


def test_the_first_page_of_python_names_ten_public_names() -> None:
    table = (ROOT / "docs/python.md").read_text(encoding="utf-8").partition("| name |")[2].partition("\n\n")[0]
    named = re.findall(r"^\| `encoder\.(\w+)` \|", table, re.MULTILINE)
    assert len(named) == 10
    assert set(named) <= set(encoder.__all__)


def test_what_export_published_is_there_and_listed() -> None:
    used = set(re.findall(r"\bexport\.([a-z]\w*)", (ROOT / "docs/python.md").read_text(encoding="utf-8")))
    lines = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("pages/**/*.py"))
    used |= set(re.findall(r"(?:\"|\\n)from encoder\.export import (\w+)", lines))
    assert used >= {"lines", "map", "model", "still", "tables"}
    assert used <= set(encoder.export.__all__) <= set(dir(encoder.export))


def test_the_document_has_the_versions_of_the_formats() -> None:
    now = dict(re.findall(r"^\| (\w+)[^|]*\|[^|]*\| ([^|]+?) \|$", DOCUMENT, re.MULTILINE))
    assert now["atlas"] == str(atlas_files.VERSION)
    assert now["trace"] == traces.FORMAT
    assert now["collection"] == collection.FORMAT
    assert now["golden"] == GOLDEN
    assert now["fingerprint"] == FINGERPRINT
    assert now["model"] == str(native.FORMAT)
    assert now["room"] == str(rooms.FORMAT)
    assert now["link"] == url_state.VERSION


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == encoder.__version__
    assert f"## [{encoder.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"encoderscope-{encoder.__version__}-" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"version = {{{encoder.__version__}}}" in (ROOT / "docs/citing.md").read_text(encoding="utf-8")
    minor = ".".join(encoder.__version__.split(".")[:2])
    assert f"| {minor} | yes |" in (ROOT / ".github/SECURITY.md").read_text(encoding="utf-8")
    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license"] == "MIT"


def test_an_atlas_of_0_1_opens() -> None:
    atlas = corpus.open_atlas(OLD / "atlas")
    assert atlas.model_name == "twin-pre"
    assert atlas.array("previous", "mean").shape == (4, 4)
    assert {"layer", "head", "type", "by_mean", "support"} <= set(atlas.types().columns)


def test_a_trace_of_0_1_opens() -> None:
    trace = encoder.open_trace(OLD / "trace.safetensors", encoder.load("twin-pre", device="cpu"))
    again = encoder.load("twin-pre", device="cpu").trace("a cat")
    assert trace.tokens == again.tokens
    torch.testing.assert_close(trace.attention(1, 3), again.attention(1, 3), atol=1e-5, rtol=1e-4)
    maps = encoder.load(OLD / "maps.parquet").trace()
    torch.testing.assert_close(maps.attention(0, 2).sum(-1), torch.ones(maps.n_tokens), atol=1e-4, rtol=0)


def test_a_collection_of_0_1_opens() -> None:
    found = search.from_files(*((OLD / f"collection.{kind}").read_bytes() for kind in ("parquet", "safetensors")))
    assert found.texts == ("A cat sat.", "A dog ran fast.", "The mat is red.")
    assert found.nearest(found.vectors[1], 1)[0][0] == 1


def test_a_room_of_0_1_goes_on_and_a_newer_one_is_refused() -> None:
    text = (OLD / "room.json").read_text(encoding="utf-8")
    room = rooms.Room.from_json(text)
    assert (room.code, room.version, room.frozen, room.question and room.question.id) == ("CAT347", 7, True, "q2")
    assert [one.hides for one in room.past] == [True]
    written = json.loads(room.to_json())
    assert written.pop("format") == rooms.FORMAT
    assert written | {"points": True} == json.loads(text)  # a switch that is gone
    with pytest.raises(EncoderError, match="newer version"):
        rooms.Room.from_json(json.dumps(written | {"format": rooms.FORMAT + 1}))


def test_a_file_that_is_saved_has_the_format_and_is_readable_by_whom_the_umask_says(tmp_path: Path) -> None:
    file = encoder.load("twin-pre", device="cpu").trace("a").save(tmp_path / "trace.safetensors", weights=False)
    with safe_open(file, framework="pt") as opened:
        assert opened.metadata()["format"] == traces.FORMAT
    (tmp_path / "usual").touch()
    assert file.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_saved_page_says_which_version_made_it(tmp_path: Path) -> None:
    file = encoder.load("twin-pre", device="cpu").trace("a cat").save_html(tmp_path / "page.html")
    assert f'<meta name="generator" content="Encoderscope {encoder.__version__}">' in file.read_text(encoding="utf-8")


#: Links as 0.1 wrote them: a page by its name then, values in the address, and what the page of now has of them.
LINKS = [
    ("heads", {"text": "The cat sat", "layer": "2", "head": "3", "i": "1", "j": "2"}, {"layer": 2, "head": 3}),
    ("pre_post", {"text": "a cat", "model": "twin-pre"}, {"text": "a cat"}),
    ("predict", {"predict": "word", "text": "The [MASK] sat.", "model": "twin-pre"}, {"predict": "word"}),
]


@pytest.mark.parametrize(("page", "query", "expected"), LINKS, ids=[page for page, _, _ in LINKS])
def test_a_link_of_0_1_opens(page: str, query: dict[str, str], expected: dict[str, object]) -> None:
    app = visit(page, **query)
    assert not app.exception
    assert not [one for one in sentences(app).splitlines() if "link" in one]
    values = app.session_state["_view"].values
    assert {name: values[name] for name in expected} == expected


def test_former_names_of_pages_lead_to_pages() -> None:
    for page, _ in FORMER.values():
        assert (ROOT / "pages" / page / "page.py").is_file() or page in FORMER


def test_a_newer_link_opens_and_says_so() -> None:
    app = visit("heads", text="a cat", v="2")
    assert not app.exception
    assert "newer version" in sentences(app)
    assert "Unknown value" not in sentences(app)
