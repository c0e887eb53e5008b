"""Texts under AppTest: numbers are the engine's, a head filters words, broken lines are named, texts stay private."""

from __future__ import annotations

import dataclasses
import html
import shlex
import types
from pathlib import Path

import pandas as pd
import pytest
import torch
from streamlit.testing.v1 import AppTest

import encoder
from encoder import corpus, search, texts
from encoder.classify.class_heads import linear_head
from encoder.cli import main
from encoder.errors import EncoderError
from encoder.inputs import digits, spoken_digits
from encoder.measure import telling
from encoder.model.classifier import ClassifierConfig
from encoder.run import ModelSpec
from encoder.scores.sides import Side
from pages.base.access import limits
from pages.core.inputs import kept_file
from pages.core.stores import cache, model_store
from pages.core.widgets import export
from pages.core.words import number
from pages.state import former
from pages.texts import listed, places, sources, subject
from tests.pages.apps import assert_well, exported, labels, noted, numbers, press, sentences, visit, words, written

LINES = sources.EXAMPLE.splitlines()
QUERY = "an animal that naps"
TEXT = "The old dog sat in the garden."


def ranks(app: AppTest) -> list[str]:
    """The labels of the ranking's buttons, the first rank first."""
    return [button.label for button in app.button if str(button.key).startswith("texts:rank:")]


def test_every_text_has_its_rank_and_a_click_selects_it(minilm: encoder.TextEncoder):
    app = visit("texts", query=QUERY)
    assert_well(app)
    ranking = texts.rank(minilm, QUERY, search.embed(minilm, LINES))
    assert len(ranks(app)) == len(LINES), "no text is left out"
    for one, label in zip(ranking.rows, ranks(app), strict=True):
        assert label.startswith(f"{one.rank}. **{number(one.score, listed.DIGITS)}**")
    why = encoder.explain_score(minilm, QUERY, LINES[ranking.rows[0].place])
    strongest = max((*why.words_a, *why.words_b), key=lambda word: abs(word.effect))
    side = "query" if strongest in why.words_a else "text"
    does = f"{'falls' if strongest.effect > 0 else 'rises'} by {number(abs(strongest.effect), 4)}"
    assert f"“**{strongest.word}**” of the {side}, the cosine {does}" in words(app)
    answered = html.unescape("".join(element.proto.body for element in app.get("html")))
    without = number(round(why.score, 4) - round(strongest.effect, 4), 4)
    assert f"“{strongest.word}” of the {side}, the cosine {does}, from {number(why.score, 4)} to {without}." in answered
    last = ranking.rows[-1]
    app.button(key=f"texts:rank:{last.place}").click().run()
    assert_well(app)
    assert app.query_params["text_place"] == [str(last.place)] or app.query_params["text_place"] == str(last.place)
    assert f"rank **{last.rank}** of {len(LINES)}" in written(app)
    assert "trace" not in exported(app), "the lines are about the query and the text, not about another sentence"
    assert f"{len(LINES) * (len(LINES) - 1) // 2} pairs of the example texts" in written(app)
    assert [button.key for button in app.button if button.proto.icon == listed.SELECTED] == [f"texts:rank:{last.place}"]


@pytest.mark.parametrize(("query", "stands_out"), [(QUERY, True), ("wrote angry letter landlord heating", False)])
def test_the_page_says_that_no_text_stands_out(query: str, *, stands_out: bool, minilm: encoder.TextEncoder):
    ranking = texts.rank(minilm, query, search.embed(minilm, LINES))
    assert (ranking.usual is None) == stands_out
    assert ("None stands out" in written(visit("texts", query=query))) != stands_out


def test_the_command_line_explains_the_same_score(tmp_path: Path, minilm: encoder.TextEncoder):
    app = visit("texts", query=QUERY, text_place="2", each_word="1")
    line = shlex.split(exported(app, "bash"))
    assert main.main([*line[1:], "--out", str(tmp_path / "why.csv")]) == 0
    found = pd.read_csv(tmp_path / "why.csv")
    score = encoder.explain_score(minilm, QUERY, LINES[2]).score
    assert found.loc[found["what"] == "pair", "value"].sum() == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize("part", ["pairs", "circuit"])
def test_what_is_split_adds_up_to_the_number_on_the_page(part: str, minilm: encoder.TextEncoder):
    app = visit("texts", query=QUERY, explain=part, similar_to="My cat sleeps.")
    assert_well(app)
    score = number(encoder.explain_score(minilm, QUERY, "My cat sleeps.").score, 4)
    said = next(element.value for element in app.markdown if element.value.startswith("Sum of all"))
    assert said.count(f"**{score}**") == 2


def test_a_miss_two_hits_and_all_hits_are_the_engines(minilm: encoder.TextEncoder):
    ranking = texts.rank(minilm, QUERY, search.embed(minilm, LINES))
    place, other = ranking.rows[3].place, ranking.rows[0].place
    app = visit("texts", query=QUERY, explain="missed", text_place=str(place))
    assert_well(app)
    missed = texts.why_not_found(minilm, ranking, place)
    assert app.dataframe[1].value["Score"].tolist() == pytest.approx([one.score for one in missed.edits[:12]], abs=1e-5)
    app = visit("texts", query=QUERY, explain="missed")
    last = ranking.rows[-1]
    assert f"rank **{last.rank}** of {len(LINES)}" in written(app), "of the first hit, nobody asks why it was not found"
    app = visit("texts", query=QUERY, explain="two", text_place=str(place))
    assert_well(app)
    two = texts.compare(minilm, ranking, place, other)
    for table in app.dataframe[:2]:
        assert table.value["Difference"].sum() == pytest.approx(two.first.score - two.second.score, abs=1e-5)
    word, effect = two.lifts[0][0]
    assert f"Score of rank {two.first.rank}: falls by {number(effect, 3)} without “**{word}**”" in written(app)
    app = visit("texts", query=QUERY, explain="hits")
    assert_well(app)
    assert app.dataframe[0].value["Rank"].tolist() == [one.rank for one in ranking.rows[:10]]


def test_two_hits_compares_with_the_first_other_hit_until_one_is_chosen(minilm: encoder.TextEncoder):
    app = visit("texts", query=QUERY, explain="two")
    assert "text_against" not in app.query_params
    app.text_input(key="view:query").input("the storm at sea").run()
    ranking = texts.rank(minilm, "the storm at sea", search.embed(minilm, LINES))
    assert app.selectbox(key="texts:against").value == ranking.rows[1].place
    third = ranking.rows[2].place
    app.selectbox(key="texts:against").select(third).run()
    assert_well(app)
    assert app.selectbox(key="texts:against").value == third
    assert app.query_params["text_against"] in (str(third), [str(third)])


def test_words_that_the_tokenizer_does_not_know_are_named():
    assert "[UNK]" not in sentences(visit("texts", query=QUERY))
    app = visit("texts", query="\N{GRINNING FACE}")
    assert_well(app)
    assert "[UNK]" in sentences(app)


def test_a_text_that_is_in_no_list_is_named_and_the_list_is_not_judged():
    app = visit("texts", query="wrote angry letter landlord heating", similar_to="My cat sleeps.")
    assert "None stands out" not in written(app)
    assert "“**My cat sleeps.**”: cosine" in written(app)


@pytest.mark.parametrize("model", ["digits-post", "digit-words", "spoken-words"])
def test_an_image_or_a_sound_is_explained_as_the_engine_does(model: str):
    loaded = encoder.load(model, device="cpu")
    takes = "sound" if model == "spoken-words" else "image"
    app = visit("texts", model=model, tower=takes, explain="pairs", text_matches="0,1")
    assert_well(app)
    assert "check_circle" not in "".join(ranks(app))  # of a search among texts, where they can be undone
    assert "Lowest score of a match" not in written(app)
    if takes == "sound":
        given, other = spoken_digits.examples()["seven"].sound, "a voice says seven"
    else:
        given, other = digits.decode(digits.examples()["3"]), "a handwritten three"
    assert other in ranks(app)[0] or model == "digits-post"
    if model == "digits-post":
        best = max(set(digits.examples()) - {"3"}, key=lambda name: _cosine(loaded, given, name))
        assert ranks(app)[0].endswith(best.rpartition(" ")[2])
        other = digits.decode(digits.examples()[best])
    score = number(encoder.explain_score(loaded, given, other).score, 4)
    said = next(element.value for element in app.markdown if element.value.startswith("Sum of all"))
    assert said.count(f"**{score}**") == 2
    assert f"why = encoder.explain_score({'model' if model == 'digits-post' else 'pair'}, " in exported(app)


def test_many_captions_are_embedded_after_a_question(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "AT_ONCE", 1)
    app = visit("texts", model="digit-words", tower="image")
    assert_well(app)
    assert not ranks(app)
    next(button for button in app.button if button.label == "Embed the texts").click().run()
    assert_well(app)
    assert len(ranks(app)) == 10


def _cosine(model: encoder.ImageEncoder, given: object, name: str) -> float:
    return encoder.explain_score(model, given, digits.decode(digits.examples()[name])).score


def test_places_of_a_long_text_and_the_map(minilm: encoder.TextEncoder):
    long = " ".join(f"The {word} is in room {at}." for at, word in enumerate("kettle lamp chair door rug".split()))
    app = visit("texts", query=QUERY, explain="long", similar_to=long)
    assert_well(app)
    found = texts.position_sensitivity(minilm, long)
    assert number(found.index, 2) in words(app)
    unclear, clear = (places._said(dataclasses.replace(found, of_ends=(low, 1.9))) for low in (0.9, 1.1))
    assert number(found.by_chance, 2) in words(app), "chance alone raises the index"
    assert "chunks" not in unclear, "advice needs an interval without 1"
    assert "chunks" in clear
    assert_well(visit("texts", query=QUERY, explain="map"))


def test_a_marked_match_gives_the_lowest_score_of_a_match():
    app = visit("texts", query=QUERY)
    app.button(key="texts:match").click().run()
    assert_well(app)
    assert "Lowest score of a match" in written(app)
    assert "check_circle" in "".join(ranks(app))
    assert app.button(key="texts:match").label == "Not a match"


def test_old_addresses_open_the_page_with_the_same_values():
    old = {"text": "A cat", "similar_to": "A dog", "vectors": "6", "path_steps": "8", "token_a": "1"}
    assert former.current({"page": "similarity", **old}) == {
        "page": "texts", "search_for": "texts", "text": "A cat", "similar_to": "A dog",
    }  # fmt: skip
    found = former.current({"page": "token_search", "text": "A cat"})
    assert found == {"page": "texts", "search_for": "words", "text": "A cat"}
    assert former.current({"page": "search", "search_in": "wordnet"})["search_in"] == "wordnet"


def test_broken_lines_are_named_and_the_rest_is_searched():
    app = visit("texts")
    app.text_area(key="search:lines").set_value("one\n" + "x" * 2_001 + "\n\nthree").run()
    assert_well(app)
    assert "Left out: 1" in sentences(app)
    assert len(ranks(app)) == 2
    app.text_area(key="search:lines").set_value(" ").run()
    assert app.error
    assert not app.exception


def test_a_link_of_own_texts_shows_no_other_text_as_theirs(monkeypatch: pytest.MonkeyPatch):
    told: list[tuple[dict[str, str], list[str], str]] = []
    monkeypatch.setattr(
        export, "copy_link", lambda query, typed, *, key, note, network: told.append((dict(query), list(typed), note))
    )
    own = "\n".join(f"Box {at} is on shelf {9 - at}." for at in range(10))
    app = visit("texts", query=QUERY)
    assert told[-1][2] == ""  # everybody has the example texts
    app.text_area(key="search:lines").set_value(own).run()
    app.button(key="texts:rank:9").click().run()
    assert_well(app)
    rank = next(line for line in written(app).splitlines() if "of 10" in line)
    link, typed, note = told[-1]
    assert link["text_place"] == "9"
    assert numbers(note) == [10], "the panel says how many texts the link leaves out"
    assert not any("shelf" in value for value in link.values())
    assert "of all 45 pairs of your texts" in written(app)
    assert "texts_own" not in typed, "also without the text, the link says that texts are missing"

    other = visit("texts", **link)
    assert not other.exception
    assert ranks(other) == []
    assert "rank **" not in written(other)
    assert numbers(noted(other, "content_paste")) == [10]
    other.text_area(key="search:lines").set_value(own).run()  # as the sentence says
    assert_well(other)
    assert rank in written(other).splitlines()
    assert not noted(other, "content_paste")

    third = visit("texts", **link)
    third.text_area(key="search:lines").set_value("One.\nTwo.\nThree.").run()
    assert_well(third)
    assert "rank **1** of 3" in written(third), "the place of another collection is of no text here"
    fourth = visit("texts", **link)
    fourth.button(key="texts:without-own").click().run()
    assert_well(fourth)
    assert "rank **1** of 16" in written(fourth)
    assert "texts_own" not in fourth.query_params
    assert not visit("texts", **{**link, "texts_own": "no mark"}).exception


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
    given = sources.read(lines[name[5:]].encode("utf-16"), name)
    assert given.texts == ("one", "two")
    assert not given.n_left_out


def test_a_query_stays_where_the_server_has_lost_the_file():
    app = visit("texts", search_in="file", query="water")
    assert_well(app)
    field = next(one for one in app.text_input if one.label == "Query")
    assert field.value == "water"
    field.set_value("a bank").run()
    assert app.query_params["query"] == "a bank"


def test_many_texts_wait_for_a_click_and_stay_in_the_session(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sources, "AT_ONCE", 100)
    app = visit("texts")
    app.text_area(key="search:lines").set_value("\n".join(f"mine only {n}" for n in range(120))).run()
    assert_well(app)
    press(app, "Embed the texts")
    assert_well(app)
    assert any("mine only" in button.label for button in app.button)
    assert not any("mine only" in str(key) for key in cache._STORE._entries)
    assert not any("mine only" in button.label for button in visit("texts").button)


def test_the_first_lines_are_run_once_for_all_sessions_and_own_texts_by_each(monkeypatch: pytest.MonkeyPatch):
    ran: list[str] = []
    run = Side.outputs_of

    def outputs_of(side: Side, kept: torch.Tensor):
        ran.append(side.text)
        return run(side, kept)

    monkeypatch.setattr(Side, "outputs_of", outputs_of)
    cache.forget_traces()
    own = ("A kite flew over the hill.", "The soup is cold.")
    found = []
    for lines in (LINES, LINES, own, own):
        ran.clear()
        app = visit("texts", query=QUERY)
        app.text_area(key="search:lines").set_value("\n".join(lines)).run()
        assert_well(app)
        found.append(set(ran) & set(lines))
    assert found[0], "nothing was run"
    assert not found[1]
    assert found[2] == found[3] != set()


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
    app = visit("texts", search_in="wordnet", query="water")
    assert_well(app)
    press(app, "Embed the texts")
    assert_well(app)
    assert len(ranks(app)) == 100
    assert_well(visit("texts", search_in="wordnet", query="fire"))  # computed for every visitor


def test_the_hits_are_those_of_the_engine(minilm: encoder.TextEncoder) -> None:
    atlas = corpus.open_atlas(corpus.bundled_atlases()["minilm"])
    tokens = corpus.load_tokens(atlas, 6)
    trace = minilm.trace(TEXT)
    vector = corpus.token_vector(trace, 6, 3)
    app = visit("texts", search_for="words", text=TEXT, i="3")
    assert_well(app)
    hits = tokens.nearest(vector, 10)
    mean = number(tokens.mean_cosine(vector))
    assert f"**{hits[0].cosine:.3f}** (all tokens, mean: {mean})" in written(app)
    assert ("not in this corpus" in written(app)) == (tokens.count("dog") == 0)
    found = [label for label in labels(app) if label.startswith("**0.")]
    cosines = [one for label in found for one in label[2:].split("**", 1)[0].split(", ")]
    assert sorted(cosines) == sorted(f"{hit.cosine:.2f}" for hit in hits)
    assert len(found) == len({hit.text for hit in hits}), "a sentence has one line"
    of_texts = atlas.rows([hit.text for hit in hits])
    labelled = [of_texts[hit.text].labels[0] for hit in hits]
    shared = {pos: labelled.count(pos) for pos in labelled if labelled.count(pos) > 1}
    table = app.dataframe[0].value
    assert shared
    assert dict(table[table["What"] == f"Label of its text: {corpus.POS}"].iloc[:, 1:].to_numpy().tolist()) == shared
    names: dict = {"trace": trace}
    lines = exported(app)
    exec(lines[lines.index("from pathlib") :], names)
    assert names["hits"] == hits
    where = corpus.Behaves(2, 11, "previous", 0.6)
    app = visit(
        "texts",
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
        "texts", search_for="words", text=TEXT, i="3", token_target="previous", token_least="1", layer="5", head="0"
    )
    assert_well(app)
    assert "filter" in sentences(app)
    app = visit("texts", search_for="words", text=TEXT, atlas="twin-pre", i="0", token_layer="99")
    assert_well(app)
    assert "twin-pre" in sentences(app)
    app = visit("texts", search_for="words", text="", i="0")
    assert_well(app)
    app = visit("texts", search_for="words", text="dog " * 60, token_layer="2")
    assert_well(app)
    assert app.selectbox[-1].options


def test_search_opens_on_the_readers_own_input(minilm: encoder.TextEncoder) -> None:
    app = visit("texts", text=TEXT)
    (place, _), *_ = search.nearest(search.embed(minilm, LINES), minilm, TEXT, 1)
    assert LINES[place] in ranks(app)[0].replace("\\", "")
    app = visit("texts", search_for="words")
    assert_well(app)
    chosen = next(group for group in app.get("button_group") if group.key == "search:token").value
    assert minilm.trace(app.text_area(key="view:text").value).tokens[chosen] not in telling.PRONOUNS | telling.GRAMMAR
    assert "i" not in app.query_params, "a suggestion stays out of the address"


def test_a_model_without_an_atlas_gives_way_to_the_bundled_one() -> None:
    app = visit("texts", search_for="words", text=TEXT, model="scratch")
    assert_well(app)
    assert "Tokens compared" in written(app)
    assert app.selectbox(key="view:model").value == "scratch"


@pytest.mark.parametrize(("page", "name"), [("texts", "similar_to"), ("texts", "query")])
def test_a_text_that_no_server_splits_is_refused_in_a_sentence(
    page: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = model_store.model(ModelSpec()).tokenizer
    monkeypatch.setattr(tokenizer, "most_characters", 1_000)
    app = visit(page, **{"text": TEXT, name: "so many words " * 100})
    assert "1,400" in sentences(app)
    assert not app.exception


def test_many_texts_of_a_cross_encoder_are_ranked_by_its_own_score_after_a_click(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    monkeypatch.setattr(subject, "AT_ONCE", len(LINES) - 1)
    torch.manual_seed(0)
    twin = encoder.load("twin-post", device="cpu")
    head = linear_head(torch.randn(1, twin.config.d_model), torch.zeros(1), ClassifierConfig("sequence", ("score",)))
    encoder.save(dataclasses.replace(twin, classifier=head), tmp_path / "reranker")
    app = visit("texts", model="other", source="reranker", query=QUERY)
    assert_well(app)
    assert ranks(app) == []
    press(app, "Rank the texts")
    assert_well(app)
    reranker = encoder.load(tmp_path / "reranker", device="cpu")
    ranking = texts.rank(reranker, QUERY, search.embed(reranker, LINES))
    assert ranking.kind == "cross-encoder"
    assert [label.split(" ")[0] for label in ranks(app)] == [f"{one.rank}." for one in ranking.rows]
    for one, label in zip(ranking.rows, ranks(app), strict=True):
        assert f"**{number(one.score, listed.DIGITS)}**" in label
