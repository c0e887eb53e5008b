"""Search under AppTest: hits are the engine's, a head filters words, broken lines are named, texts stay private."""

from __future__ import annotations

import types

import pytest

import encoder
from encoder import corpus, search
from encoder.errors import EncoderError
from encoder.measure import telling
from pages.base.access import limits
from pages.core.inputs import kept_file
from pages.core.stores import cache
from pages.search import sources
from tests.pages.apps import assert_well, exported, labels, press, sentences, visit, written

LINES = sources.EXAMPLE.splitlines()
TEXT = "The old dog sat in the garden."


@pytest.mark.slow("computes the vectors of a collection twice")
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


def test_a_query_stays_where_the_server_has_lost_the_file():
    app = visit("search", search_in="file", query="water")
    assert_well(app)
    field = next(one for one in app.text_input if one.label == "Query")
    assert field.value == "water"
    field.set_value("a bank").run()
    assert app.query_params["query"] == "a bank"


def test_many_texts_wait_for_a_click_and_stay_in_the_session(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "AT_ONCE", 100)
    app = visit("search")
    app.text_area(key="search:lines").set_value("\n".join(f"mine only {n}" for n in range(120))).run()
    assert_well(app)
    press(app, "Embed the texts")
    assert_well(app)
    assert "mine only" in written(app)
    assert not any("mine only" in str(key) for key in cache._STORE._entries)
    assert "mine only" not in written(visit("search"))


def test_a_collection_of_another_model_is_refused(minilm: encoder.TextEncoder):
    import dataclasses

    from encoder.run import Run, Text
    from pages.core.view.view import View

    view = View(Run(input=Text("x")), "viridis")
    collection = search.embed(minilm, LINES[:3])
    assert sources.collection(view, collection) is collection
    with pytest.raises(encoder.EncoderError, match="other made"):
        sources.collection(view, dataclasses.replace(collection, model="other"))


def test_wordnets_examples_wait_for_a_click(monkeypatch):
    from encoder import probe

    monkeypatch.setattr(sources, "AT_ONCE", 100)
    monkeypatch.setattr(probe, "examples", lambda: probe.bundled("pos").texts[:150])
    app = visit("search", search_in="wordnet", query="water")
    assert_well(app)
    press(app, "Embed the texts")
    assert_well(app)
    assert len([element for element in app.markdown if element.value[:1].isdigit()]) == 8
    assert_well(visit("search", search_in="wordnet", query="fire"))  # computed for every visitor


def test_the_hits_are_those_of_the_engine(minilm: encoder.TextEncoder) -> None:
    atlas = corpus.open_atlas(corpus.bundled_atlases()["minilm"])
    tokens = corpus.load_tokens(atlas, 6)
    trace = minilm.trace(TEXT)
    vector = corpus.token_vector(trace, 6, 3)
    app = visit("search", search_for="words", text=TEXT, i="3")
    assert_well(app)
    hits = tokens.nearest(vector, 10)
    assert f"**{hits[0].cosine:.3f}**; the same token: {sum(hit.token == 'dog' for hit in hits)} of 10" in written(app)
    found = [label for label in labels(app) if label.startswith("**0.")]
    assert [label[2:6] for label in found] == [f"{hit.cosine:.2f}" for hit in hits]
    of_texts = atlas.rows([hit.text for hit in hits])
    labelled = [of_texts[hit.text].labels[0] for hit in hits]
    shared = {pos: labelled.count(pos) for pos in labelled if labelled.count(pos) > 1}
    table = app.dataframe[0].value
    assert shared
    assert dict(table[table["What"] == f"Label {corpus.POS}"].iloc[:, 1:].to_numpy().tolist()) == shared
    names: dict = {"trace": trace}
    lines = exported(app)
    exec(lines[lines.index("from pathlib") :], names)
    assert names["hits"] == hits
    where = corpus.Behaves(2, 11, "previous", 0.6)
    app = visit(
        "search",
        search_for="words",
        text=TEXT,
        i="3",
        layer="2",
        head="11",
        token_target="previous",
        token_least="0.6",
        token_others="1",
    )
    assert_well(app)
    some = tokens.nearest(vector, 10, where, without="dog")
    assert len(some) > 0
    assert some != tokens.nearest(vector, 10, without="dog")
    found = [label for label in labels(app) if label.startswith("**0.")]
    assert [label[2:6] for label in found] == [f"{hit.cosine:.2f}" for hit in some]
    press(app, "**0.")
    assert app.query_params["text"] == atlas.texts([some[0].text])[some[0].text]
    assert app.query_params["i"] == str(some[0].position)
    assert_well(app)


def test_what_cannot_be_searched_is_said() -> None:
    app = visit(
        "search", search_for="words", text=TEXT, i="3", token_target="previous", token_least="1", layer="5", head="0"
    )
    assert_well(app)
    assert "filter" in sentences(app)
    app = visit("search", search_for="words", text=TEXT, atlas="twin-pre", i="0", token_layer="99")
    assert_well(app)
    assert "twin-pre" in sentences(app)
    app = visit("search", search_for="words", text="", i="0")
    assert_well(app)
    app = visit("search", search_for="words", text="dog " * 60, token_layer="2")
    assert_well(app)
    assert app.selectbox[-1].options


def test_search_opens_on_the_readers_own_input(minilm: encoder.TextEncoder) -> None:
    app = visit("search", text=TEXT)
    (place, _), *_ = search.nearest(search.embed(minilm, LINES), minilm, TEXT, 1)
    shown = [element.value for element in app.markdown if element.value.startswith("1. ")]
    assert LINES[place] in shown[0].replace("\\", "")
    app = visit("search", search_for="words")
    assert_well(app)
    chosen = next(group for group in app.get("button_group") if group.key == "search:token").value
    assert minilm.trace(app.text_area(key="view:text").value).tokens[chosen] not in telling.PRONOUNS | telling.GRAMMAR
    assert "i" not in app.query_params, "a suggestion stays out of the address"


def test_a_model_without_an_atlas_gives_way_to_the_bundled_one() -> None:
    app = visit("search", search_for="words", text=TEXT, model="scratch")
    assert_well(app)
    assert "Tokens compared" in written(app)
    assert app.selectbox(key="view:model").value == "scratch"
