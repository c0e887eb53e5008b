"""Token search under AppTest: the hits are those of the engine, a head filters them, and a click opens a sentence."""

from __future__ import annotations

import encoder
from encoder import corpus
from tests.pages.apps import assert_well, labels, press, sentences, visit, written

TEXT = "The old dog sat in the garden."


def test_the_hits_are_those_of_the_engine(minilm: encoder.TextEncoder) -> None:
    atlas = corpus.open_atlas(corpus.bundled_atlases()["minilm"])
    tokens = corpus.load_tokens(atlas, 6)
    trace = minilm.trace(TEXT)
    vector = corpus.token_vector(trace, 6, 3)
    app = visit("token_search", text=TEXT, i="3")
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
    lines = app.get("code")[-1].value
    exec(lines[lines.index("from pathlib") :], names)
    assert names["hits"] == hits
    where = corpus.Behaves(2, 11, "previous", 0.6)
    app = visit(
        "token_search", text=TEXT, i="3", layer="2", head="11", token_target="previous", token_least="0.6",
        token_others="1",
    )  # fmt: skip
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
    app = visit("token_search", text=TEXT, i="3", token_target="previous", token_least="1", layer="5", head="0")
    assert_well(app)
    assert "filter" in sentences(app)
    app = visit("token_search", text=TEXT, atlas="twin-pre", i="0", token_layer="99")
    assert_well(app)
    assert "twin-pre" in sentences(app)
    app = visit("token_search", text="", i="0")
    assert_well(app)
    app = visit("token_search", text="dog " * 60, token_layer="2")
    assert_well(app)
    assert app.selectbox[-1].options
