"""Search under AppTest: the hits are the engine's, broken lines are named, texts stay in the session."""

from __future__ import annotations

import types

import pytest

import encoder
from encoder import search
from encoder.errors import EncoderError
from pages.core.access import limits
from pages.core.inputs import kept_file
from pages.core.stores import cache
from pages.search import sources
from tests.pages.apps import assert_well, press, sentences, visit, written

LINES = sources.EXAMPLE.splitlines()


def test_the_nearest_lines_are_found_and_open_their_similarity(minilm: encoder.TextEncoder):
    app = visit("search", query="an animal that naps")
    assert_well(app)
    collection = search.embed(minilm, LINES)
    hits = search.nearest(collection, minilm, "an animal that naps", 8)
    shown = [element.value for element in app.markdown if element.value[:1].isdigit()]
    assert len(shown) == 8
    for (place, _), line in zip(hits, shown, strict=True):
        assert LINES[place] in line.replace("\\", "")
    app.button(key="search:why:2").click().run()
    assert_well(app)
    assert app.query_params["text"] == "an animal that naps"
    assert app.query_params["similar_to"] == LINES[hits[1][0]]


def test_broken_lines_are_named_and_the_rest_is_searched():
    app = visit("search")
    app.text_area(key="search:lines").set_value("one\n" + "x" * 2_001 + "\n\nthree").run()
    assert_well(app)
    assert "Left out: 1" in sentences(app)
    assert len([element for element in app.markdown if element.value[:1].isdigit()]) == 2
    app.text_area(key="search:lines").set_value(" ").run()
    assert app.error
    assert not app.exception


def test_an_uploaded_file_has_the_servers_limit_whatever_the_browser_lets_through(monkeypatch: pytest.MonkeyPatch):
    given = types.SimpleNamespace(name="texts.csv", size=10_000_001)
    monkeypatch.setattr(kept_file.st, "file_uploader", lambda label, **options: given)
    with pytest.raises(EncoderError, match="10,000,001 bytes, and at most 10,000,000 are read"):
        kept_file.upload("Texts", "a", "b", kept_file.ENDINGS, limits.SEARCH_FILE.usual)
    given.size -= 1
    assert kept_file.upload("Texts", "a", "b", kept_file.ENDINGS, limits.SEARCH_FILE.usual) is given


@pytest.mark.parametrize("name", ["texts.csv", "texts.tsv", "texts.jsonl"])
def test_a_file_of_any_format_is_searched(name: str):
    lines = {".csv": "id;text\n1;one\n2;two", ".tsv": "id\ttext\n1\tone\n2\ttwo", ".jsonl": '"one"\n{"text": "two"}'}
    given = sources._read(lines[name[5:]].encode("utf-16"), name)
    assert given.texts == ("one", "two")
    assert not given.n_left_out


def test_many_texts_wait_for_a_click_and_stay_in_the_session():
    app = visit("search")
    app.text_area(key="search:lines").set_value("\n".join(f"secret {n}" for n in range(120))).run()
    assert_well(app)
    press(app, "Embed the texts")
    assert_well(app)
    assert "secret" in written(app)
    assert not any("secret" in str(key) for key in cache._STORE._entries)
    assert "secret" not in written(visit("search"))


def test_a_collection_of_another_model_is_refused(minilm: encoder.TextEncoder):
    import dataclasses

    from pages.core.view.view import View

    view = View(cache.ModelKey(), "x", None, 0, 0, None, None, "viridis")
    collection = search.embed(minilm, LINES[:3])
    assert sources.collection(view, collection) is collection
    with pytest.raises(encoder.EncoderError, match="other made"):
        sources.collection(view, dataclasses.replace(collection, model="other"))


def test_a_cross_encoder_ranks_the_first_hits_again(tmp_path, minilm: encoder.TextEncoder, monkeypatch):
    import torch

    from encoder import classify
    from encoder.classify.class_heads import linear_head
    from encoder.model.classifier import ClassifierConfig

    torch.manual_seed(0)
    config = ClassifierConfig("sequence", ("relevant",), pooling="mean", scale="sigmoid")
    cross = classify.with_head(minilm, linear_head(torch.randn(1, 384), torch.zeros(1), config))
    encoder.save(cross, tmp_path / "cross")
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    app = visit("search", query="naps", cross_encoder="cross")
    app.session_state["lazy:search-rerank"] = True
    app.run()
    assert_well(app)
    collection = search.embed(minilm, LINES)
    places = [place for place, _ in search.nearest(collection, minilm, "naps", search.TOP)]
    found = search.rerank(cross, "naps", collection.texts, places)
    shown = [
        element.value.replace("\\", "")
        for element in app.markdown
        if " was " in element.value and "score" in element.value
    ]
    assert len(shown) == len(LINES)
    for rank, (hit, line) in enumerate(zip(found, shown, strict=True), 1):
        assert line.startswith(f"{rank}. ")
        assert f"was {hit.before}," in line
        assert LINES[hit.place] in line
    app.button(key="search:cross:1").click().run()
    assert_well(app)
    assert (app.query_params["text"], app.query_params["pair"]) == ("naps", LINES[found[0].place])
    assert app.query_params["source"] == "cross"
    app = visit("search", query="naps", cross_encoder="elsewhere")
    app.session_state["lazy:search-rerank"] = True
    app.run()
    assert app.error
    assert not app.exception


def test_wordnets_examples_wait_for_a_click(monkeypatch):
    from encoder import probe

    monkeypatch.setattr(probe, "examples", lambda: probe.bundled("pos").texts[:150])
    app = visit("search", search_in="wordnet", query="water")
    assert_well(app)
    press(app, "Embed the texts")
    assert_well(app)
    assert len([element for element in app.markdown if element.value[:1].isdigit()]) == 8
    assert_well(visit("search", search_in="wordnet", query="fire"))  # computed for every visitor
