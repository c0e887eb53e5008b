"""Nodes of HTML in the app: pasted, uploaded, an example; the outline with the attention of a node; other pages."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import encoder
from encoder.figures.numbers import three_digits
from encoder.inputs import nodes
from encoder.measure.page_words import directions, page_words
from tests.pages import on_page
from tests.pages.apps import assert_well, sentences, written
from tests.pages.on_page import linked

PAGE, OF_TREE = on_page.NODES, on_page.OF_PAGE["markup"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return on_page.write(tmp_path_factory.mktemp("offered"))


opened = partial(on_page.opened, source="markup")


def test_a_node_is_read_in_its_tree(folder: Path, monkeypatch: pytest.MonkeyPatch):
    trace = encoder.load(folder / "markup", device="cpu").trace(PAGE.text, nodes=PAGE.nodes)
    found = page_words(trace)
    token = found.tokens[PAGE.texts.index("412 ships")][0]
    app = opened(folder, monkeypatch, layer="1", head="2", i=str(token), **OF_TREE)
    assert_well(app)
    weights = found.to_words(trace.attention(1, 2), token)
    assert f"**b: 412 ships** attends most to “{found.words[weights.argmax()]}”" in written(app)
    assert three_digits(float(weights.max())) in written(app)
    shares = next(one.value for one in app.dataframe if "L1 H2" in one.value.to_numpy()).iloc[:, 1:]
    of_heads = directions(trace)
    np.testing.assert_allclose(shares.to_numpy(float), [of_heads.heads[1, 2], of_heads.uniform], atol=1e-6)


def test_html_is_pasted_and_removed(folder: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(folder, monkeypatch)
    assert nodes.UNKNOWN in sentences(app)
    app.button(key="nodes-first").click().run()
    assert_well(app)
    assert {name: linked(app, name) for name in OF_TREE} == OF_TREE
    lines = app.text_area(key="nodes-lines")
    assert lines.value == PAGE.lines
    lines.set_value("no path").run()
    assert "Line 1" in sentences(app)
    app.text_area(key="nodes-lines").set_value("<ul><li>two\n words</li><li>May</li></ul>").run()
    assert_well(app)
    assert (linked(app, "text"), linked(app, "nodes")) == ("two\n words May", "2/ul/li[1] 1/ul/li[2]")
    sentence = next(one for one in app.text_area if one.label == "Sentence")
    sentence.set_value("two words June").run()
    assert_well(app)
    assert linked(app, "nodes") == "2/ul/li[1] 1/ul/li[2]"
    app.button(key="nodes-remove").click().run()
    assert linked(app, "nodes") is None


@pytest.mark.parametrize(
    ("given", "said"), [("1/p", "specify as many"), ("1p", "is not a node"), ("2/p[", "is not a path")]
)
def test_a_link_whose_nodes_do_not_fit(given: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    assert said in sentences(opened(folder, monkeypatch, text="two words", nodes=given))


def test_a_model_without_a_tree_leaves_the_nodes_out(folder: Path, monkeypatch: pytest.MonkeyPatch):
    assert_well(opened(folder, monkeypatch, model="minilm", source="", **OF_TREE))
