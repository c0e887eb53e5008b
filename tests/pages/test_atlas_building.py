"""An atlas of one's own texts: built in the page, open at once, deleted with its files; limits of a shared server."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from encoder.measure.heads import head_measures
from pages.components.lazy import KEY
from pages.core.access import limits
from pages.core.corpora import atlas_folders
from tests.conftest import ROOT
from tests.pages.apps import PATIENCE, assert_well, press, sentences, written

LINES = "The cat sat on the mat.\n\nA dog barks.\nShe reads a book."


def at(page: str, **query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    for name, value in query.items():
        app.query_params[name] = value
    app.session_state[f"{KEY}atlas-build"] = True
    return app.run().switch_page(f"pages/{page}/page.py").run()


def test_lines_become_an_atlas_of_the_session(minilm) -> None:
    app = at("head_types", find="corpus", text="The cat sat.", layer="1", head="9")
    app.text_area(key="atlas:lines").set_value(LINES).run()
    press(app, "Build the atlas")
    assert_well(app)
    mean = sum(head_measures(minilm.trace(text))["previous"][1, 9] for text in LINES.split("\n") if text) / 3
    assert f"**{mean:.2f}** ±" in written(app)
    assert "3 of your texts" in written(app)
    (folder,) = (one.path for one in atlas_folders._FOLDERS)
    assert (folder / "atlas" / "manifest.json").is_file()
    app.query_params["search_for"] = "words"
    app.switch_page("pages/search/page.py").run()
    assert_well(app)
    assert "Tokens compared: " in written(app)
    press(app, "Delete it")
    assert_well(app)
    assert "Your atlas" not in written(app)


def test_a_shared_server_has_lower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENCODERSCOPE_SHARED", "1")
    most = limits.ATLAS_FILE.value
    assert most == limits.ATLAS_FILE.usual < (limits.ATLAS_FILE.own or 0)
    app = at("head_types", find="corpus", text="The cat sat.", model="twin-pre")
    app.text_area(key="atlas:lines").set_value("a b c\n" * (most // 6 + 1)).run()
    assert not app.exception
    assert f"{most:,}" in sentences(app)
    monkeypatch.setattr(limits, "ATLASES", limits.Limit("", 0))
    app.text_area(key="atlas:lines").set_value(LINES).run()
    press(app, "Build the atlas")
    assert not app.exception
    assert "0 atlases" in sentences(app)


def test_the_files_go_with_the_folder() -> None:
    folder = atlas_folders.Folder(most=1_000)
    path: Path = folder.path
    (path / "texts.txt").write_text("a")
    del folder
    assert not path.exists()
    kept = atlas_folders.Folder(most=1_000)
    kept.remove()  # as at the server's end
    assert not kept.path.exists()
