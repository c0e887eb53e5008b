"""Collections: every text has a score, misses have reasons and edits, boilerplate is found, places are measured."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import encoder
from encoder import search, texts
from encoder.errors import EncoderError
from encoder.inputs import digits
from encoder.texts import misses, positions

TICKETS = [
    "Hello team, my order 48213 has not arrived. Kind regards",
    "Hello team, I want my money back for the broken kettle. Kind regards",
    "Hello team, the app crashes when I log in. Kind regards",
    "Hello team, where is my parcel? Kind regards",
    "Password mails never come.",
]
QUERY = "the package was not delivered"


@pytest.fixture(scope="module")
def ranking(minilm: encoder.TextEncoder) -> texts.Ranking:
    return texts.rank(minilm, QUERY, search.embed(minilm, TICKETS))


def test_every_text_has_its_score_and_rank(minilm: encoder.TextEncoder, ranking: texts.Ranking):
    vectors = minilm.embed([QUERY, *TICKETS]).double().numpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert ranking.scores == pytest.approx(vectors[1:] @ vectors[0], abs=1e-5)
    assert [one.rank for one in ranking.rows] == [1, 2, 3, 4, 5]
    assert {ranking.rows[0].place, ranking.rows[1].place} == {0, 3}
    assert ranking.lowest_match((0, 3)) == pytest.approx(min(ranking.scores[[0, 3]]))
    assert ranking.lowest_match(()) is None
    with pytest.raises(EncoderError, match="choose 0 to 4"):
        ranking.of(5)


def test_no_text_stands_out_where_the_best_score_is_usual_among_the_texts():
    vectors = np.random.default_rng(0).normal(size=(7, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    collection = search.Collection(tuple("abcdefg"), vectors.astype(np.float32), "m")
    cosines = (vectors @ vectors.T)[np.triu_indices(7, 1)]
    high = np.quantile(cosines, 0.95)
    for best, is_usual in ((high - 0.01, True), (high + 0.01, False), (cosines.min() - 1, True)):
        found = texts.Ranking("q", collection, np.array([best, *[best - 1] * 6]), "cosine")
        assert (found.usual is not None) == is_usual
        assert not is_usual or found.usual.high == pytest.approx(high, abs=1e-6)
    assert dataclasses.replace(found, kind="MaxSim").usual is None, "pairs of texts have another score"
    few = dataclasses.replace(collection, texts=("a", "b", "c"), vectors=collection.vectors[:3])
    assert texts.Ranking("q", few, np.full(3, -1.0), "cosine").usual is None


def test_other_scores_rank_too(minilm: encoder.TextEncoder):
    found = texts.rank(minilm, QUERY, search.embed(minilm, TICKETS[:2]), kind="MaxSim")
    expected = [encoder.similarity.late_interaction(minilm, QUERY, text).score for text in TICKETS[:2]]
    assert found.scores == pytest.approx(expected, abs=1e-4)
    with pytest.raises(EncoderError, match="cosine"):
        texts.query_words(minilm, found)
    missed = texts.why_not_found(minilm, found, 1)
    asked = encoder.explain_score(minilm, QUERY, TICKETS[1], kind="MaxSim")
    assert missed.answers == tuple((one.word, pytest.approx(one.effect, abs=1e-5)) for one in asked.words_a)
    assert all(dict(missed.answers)[word] < misses.LEAST_LOSS for word in missed.unanswered)


def test_captions_are_ranked_for_an_image_and_images_for_an_image():
    digit_words = encoder.load("digit-words", device="cpu")
    names = ("3", "8", "0")
    images = [digits.decode(digits.examples()[name]) for name in names]
    captions = ("a handwritten three", "a handwritten eight", "a handwritten zero")
    for place, image in enumerate(images):
        found = texts.rank(digit_words, image, search.embed(digit_words.text, captions))
        assert found.rows[0].place == place
        why = encoder.explain_score(digit_words, image, captions[place])
        assert found.scores[place] == pytest.approx(why.score, abs=1e-5)
    model = digit_words.image
    found = texts.rank(model, images[0], search.embed_signals(model, images, names))
    assert found.scores[0] == pytest.approx(1, abs=1e-5)
    assert found.scores[1] == pytest.approx(encoder.explain_score(model, images[0], images[1]).score, abs=1e-5)


def test_a_long_text_is_edited_by_phrases(minilm: encoder.TextEncoder):
    long = " ".join(f"The {word} of room {at} is new." for at, word in enumerate(["lamp", "chair", "door", "rug"] * 4))
    found = texts.rank(minilm, QUERY, search.embed(minilm, [long, TICKETS[0]]))
    levels = {one.what: one.level for one in texts.why_not_found(minilm, found, 0).edits}
    assert levels == {"in": "word", "out": encoder.explain_score(minilm, QUERY, long).source.sides[1].level}
    assert levels["out"] != "word"


def test_the_querys_words_add_up_to_every_score(minilm: encoder.TextEncoder, ranking: texts.Ranking):
    words = texts.query_words(minilm, ranking)
    assert words.words == ("the", "package", "was", "not", "delivered")
    assert words.shares.sum(axis=0) == pytest.approx(ranking.scores, abs=1e-5)
    two = texts.compare(minilm, ranking, 0, 2, words)
    assert sum(row[1] for row in two.words) == pytest.approx(two.first.score, abs=1e-5)
    assert sum(row[2] for row in two.words) == pytest.approx(two.second.score, abs=1e-5)
    shares = np.array([row[1:] for row in two.components])
    assert shares.sum(axis=0) == pytest.approx([two.first.score, two.second.score], abs=1e-5)


def test_a_text_that_was_not_found_says_why_and_what_would_move_it(minilm: encoder.TextEncoder, ranking: texts.Ranking):
    missed = texts.why_not_found(minilm, ranking, 2)
    assert missed.ranked.rank == ranking.of(2).rank
    assert "package" in missed.unanswered
    assert not {"the", "was"} & set(missed.unanswered), "function words are no reason"
    named = {*missed.unanswered, *missed.left_out}
    assert named == {word for word, share in missed.answers if share < missed.least}, "none is dropped in silence"
    little = dataclasses.replace(missed, answers=(("parcel", -0.003), ("kettle", 0.2)))
    assert little.unanswered == (), "a share that hardly moves the rank is no reason"
    best = missed.edits[0]
    assert best.what == "in"
    assert best.word in QUERY
    vectors = minilm.embed([QUERY, best.text]).double().numpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert best.score == pytest.approx(vectors[0] @ vectors[1], abs=1e-5), "the edited text was run"
    assert best.rank == 1 + sum(np.delete(ranking.scores, 2) > best.score)
    assert {one.what for one in missed.edits} == {"in", "out"}


def test_hits_have_their_strongest_words_and_false_friends(minilm: encoder.TextEncoder, ranking: texts.Ranking):
    labels = ("delivery", "refund", "bug", "delivery", "bug")
    rows = texts.hit_words(minilm, ranking, 3, labels)
    assert [row.ranked.rank for row in rows] == [1, 2, 3]
    assert rows[[row.ranked.place for row in rows].index(3)].strongest[0][0] == "parcel"
    unrelated = texts.rank(minilm, "zebra crossing", ranking.collection)
    every = texts.hit_words(minilm, unrelated, len(unrelated.scores))
    assert all(effect > 0 for row in every for _, effect in row.strongest), "such a word lifts its text"
    assert [row.false_friend for row in rows] == [False, False, True]
    few = tuple("delivery" if one == rows[1].ranked.place else "" for one in range(5))
    assert not any(row.false_friend for row in texts.hit_words(minilm, ranking, 3, few)), "most have no label"
    with pytest.raises(EncoderError, match="labels"):
        texts.hit_words(minilm, ranking, 3, labels[:2])


def test_boilerplate_is_found_by_its_mean_effect(minilm: encoder.TextEncoder):
    found = texts.pulling(minilm, search.embed(minilm, TICKETS))
    words = {one.words: one for one in found}
    assert words["regards"].texts == 4
    assert words["regards"].effect > 0
    assert words["hello"].effect > 0
    assert "kettle" not in words, "a word of one text pulls nothing together"
    with pytest.raises(EncoderError, match="3 texts"):
        texts.pulling(minilm, search.embed(minilm, TICKETS[:2]))


def test_the_effect_of_places_is_measured_and_bounded(minilm: encoder.TextEncoder):
    text = " ".join(f"The {word} is in room {at}." for at, word in enumerate("kettle lamp chair door rug".split()))
    found = texts.position_sensitivity(minilm, text)
    assert (len(found.passages), found.level) == (5, "sentence")
    assert found.n_runs == 25, "each passage once at each place"
    assert (found.low <= found.effect).all()
    assert (found.effect <= found.high).all()
    assert found.of_ends[0] <= found.first_over_last <= found.of_ends[1]
    assert found.index == pytest.approx(1 - found.effect.min() / found.effect.max())
    other = texts.position_sensitivity(minilm, text, seed=1)
    assert other.of_ends == pytest.approx(found.of_ends), "nothing but the index by chance is drawn"
    several = texts.position_sensitivity(minilm, [text, text + " The end is near.", "Too short."])
    assert several.n_texts == 2
    short = texts.position_sensitivity(minilm, "Order 48213 never arrived.")
    assert [words for words, _ in short.passages] == ["Order", "48213", "never", "arrived."]
    assert short.level == "word"
    with pytest.raises(EncoderError, match="3 sentences"):
        texts.position_sensitivity(minilm, "One. Two.")


def test_passages_that_differ_are_no_effect_of_their_places():
    """A passage that counts 100 times as much as the others does so wherever it is."""
    weights = np.array([1.0, 0.01, 0.02, 0.01, 0.03])
    found = positions.of_squares([np.repeat(weights[:, None], 5, axis=1)])
    assert found.index == pytest.approx(0.0, abs=1e-9)
    assert found.of_ends == pytest.approx((1.0, 1.0))
    slope = positions.of_squares([weights[:, None] * np.array([3.0, 2.0, 2.0, 2.0, 1.0])])
    assert slope.first_over_last == pytest.approx(3.0)
    assert slope.is_certain


@pytest.mark.parametrize("n_texts", [1, 6])
def test_the_interval_of_places_covers(n_texts: int, monkeypatch: pytest.MonkeyPatch):
    """Where places count alike, it excludes 1 in about 5% of runs; where they do not, it has the true ratio in 95%."""
    monkeypatch.setattr(positions, "DRAWS", 1)
    rng = np.random.default_rng(0)
    slope, runs = np.linspace(4.0, 1.0, 6), 600
    wrong = missed = 0
    for _ in range(runs):
        squares = [rng.gamma(0.7, size=(6, 1)) * rng.lognormal(size=(6, 6)) for _ in range(n_texts)]
        wrong += positions.of_squares(squares).is_certain
        low, high = positions.of_squares([one * slope for one in squares]).of_ends
        missed += not low <= 4.0 <= high
    assert 0.02 < wrong / runs < 0.08
    assert 0.02 < missed / runs < 0.08


def test_the_index_of_places_that_count_alike_is_one_of_chance(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(positions, "DRAWS", 100)
    rng = np.random.default_rng(0)
    found = [positions.of_squares([rng.lognormal(size=(5, 5))]) for _ in range(40)]
    assert np.mean([one.index > one.by_chance for one in found]) < 0.2
    assert np.mean([one.index for one in found]) > 0.3, "noise alone raises the index"
