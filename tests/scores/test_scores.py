"""Explanations of scores: sums that are exact, words left out as by padding, kinds behind one interface."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch

import encoder
from encoder import scores, search
from encoder.errors import EncoderError
from encoder.inputs import spoken_digits
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.model.pooling import LateConfig, SparseConfig
from encoder.scores import game, parts
from encoder.scores.kinds import Cosine, CrossEncoder, MaxSim, Sparse, score_of

A, B = "The cat sat on the mat because of order 48213.", "A kitten rested on a rug."


def test_a_cosine_is_that_of_the_vectors_and_its_pairs_add_up_to_it(minilm: encoder.TextEncoder):
    why = encoder.explain_score(minilm, A, B)
    one, other = minilm.embed([A, B]).double()
    assert why.score == pytest.approx(float(torch.cosine_similarity(one, other, dim=0)), abs=1e-5)
    assert why.pairs.shape == (10, 6)
    assert why.pairs.sum() == pytest.approx(why.score, abs=1e-9)
    assert why.split is not None
    cat, kitten = why.split.labels[0].index("cat"), why.split.labels[1].index("kitten")
    assert why.pairs.argmax() == cat * 6 + kitten
    assert (why.split.error > 0).any(), "the split of ten words is an estimate, and says so"
    assert "48213" in [word.word for word in why.words_a], "a number is one word"


def test_a_word_is_left_out_as_padding_is(minilm: encoder.TextEncoder):
    why = encoder.explain_score(minilm, A, B)
    sentence = minilm.tokenize(A)
    cat = why.source.sides[0].parts[1]
    assert A[slice(*cat.span)] == "cat"
    assert (A[why.words_a[1].start : why.words_a[1].end], why.words_a[1].word) == ("cat", "cat")
    mask = torch.ones(1, len(sentence), dtype=torch.bool)
    mask[0, list(cat.tokens)] = False
    batch = minilm.tokenizer.batch([sentence], minilm.device)
    with torch.no_grad():
        x = minilm.encoder.before_layer(
            minilm.config.n_layers, minilm.encoder.embedding(batch.ids, None, batch.segments), mask
        )
    without = minilm.pool(x, mask)[0].double()
    other = minilm.embed(B)[0].double()
    expected = why.score - float(torch.cosine_similarity(without, other, dim=0))
    assert why.words_a[1].effect == pytest.approx(expected, abs=1e-5)
    assert max(why.words_a, key=lambda word: word.effect).word == "cat"


def test_another_text_of_the_same_query_runs_the_query_once(
    minilm: encoder.TextEncoder, monkeypatch: pytest.MonkeyPatch
):
    other = "A dog ran."
    runs = encoder.scores.Runs(), encoder.scores.Runs()
    first, fresh = encoder.explain_score(minilm, A, B, runs=runs), encoder.explain_score(minilm, A, other).table()
    assert first.words_a
    monkeypatch.setattr(encoder.scores.sides.Side, "outputs_of", _only(other))
    again = encoder.explain_score(minilm, A, other, runs=runs)
    assert again.source.sides[0] is first.source.sides[0]
    assert again.table()["effect"].tolist() == pytest.approx(fresh["effect"].tolist(), abs=1e-6)
    assert encoder.explain_score(minilm, other, other, runs=runs).score == pytest.approx(1, abs=1e-6)


def _only(text: str):
    """`Side.outputs_of` that refuses to run another text."""
    run = encoder.scores.sides.Side.outputs_of

    def outputs_of(side, kept):
        assert side.text == text
        return run(side, kept)

    return outputs_of


def test_few_parts_have_the_exact_shapley_value():
    draw = np.random.default_rng(1)
    table = {kept: draw.normal(size=3) for kept in itertools.product([False, True], repeat=5)}

    def vectors(keep: np.ndarray) -> np.ndarray:
        return np.stack([table[tuple(row.tolist())] for row in keep])

    found = game.shapley(vectors, 5, 20, has_empty=True)
    assert found.is_exact
    expected = np.zeros((5, 3))
    for order in itertools.permutations(range(5)):
        kept, before = [False] * 5, np.zeros(3)  # nothing has no vector
        for part in order:
            kept[part] = True
            expected[part] += (table[tuple(kept)] - before) / math.factorial(5)
            before = table[tuple(kept)]
    assert found.values == pytest.approx(expected, abs=1e-10)
    without_empty = game.shapley(lambda keep: vectors(keep), 5, 20, has_empty=False)
    assert without_empty.values == pytest.approx(expected, abs=1e-10), "the empty text's vector cancels"


@pytest.mark.parametrize("n_parts", [0, 1, 2, 3, 9, 30])
def test_any_number_of_parts_adds_up_and_an_additive_game_is_exact(n_parts: int):
    weights = np.random.default_rng(2).normal(size=(n_parts, 4)) + 1
    found = game.shapley(lambda keep: keep @ weights + 0.5, n_parts, 40, has_empty=True)
    assert found.values.sum(axis=0) == pytest.approx(found.whole if n_parts else np.zeros(4))
    assert found.values == pytest.approx(weights + 0.5 / max(n_parts, 1), abs=1e-8)
    assert game.pair_errors(found, found) == pytest.approx(np.zeros((n_parts, n_parts)), abs=1e-6)


@pytest.mark.parametrize("model", ["minilm", "twin_pre", "twin_post"])
def test_the_circuit_adds_up_and_is_checked_by_switching_off(model: str, request: pytest.FixtureRequest):
    loaded: encoder.TextEncoder = request.getfixturevalue(model)
    why = encoder.explain_score(loaded, A, B)
    circuit = why.whole_circuit
    rest = next(one for one in circuit.components if one.name == "after the output")
    assert abs(rest.share) < 1e-6, "nothing is left over"
    assert circuit.sum == pytest.approx(why.score, abs=1e-6)
    tested = [one for one in circuit.components if one.measured is not None]
    assert len(tested) == 10
    head = next(one for one in tested if one.head is not None)
    assert head.layer is not None
    lost = []
    for text, fixed in ((A, B), (B, A)):
        off = loaded.trace(text, edits=[encoder.edits.AblateHead(head.layer, head.head or 0)])
        pair = loaded.vector_of(off).double(), loaded.embed(fixed)[0].double()
        lost.append(why.score - float(torch.cosine_similarity(*pair, dim=0)))
    assert head.measured == pytest.approx(sum(lost) / 2, abs=1e-5)


def test_late_interaction_is_a_sum_over_pairs_of_words(minilm: encoder.TextEncoder):
    late = dataclasses.replace(minilm, late=LateConfig(n_query=32, skipped=(".",)))
    why = encoder.explain_score(late, A, B)
    assert why.kind == "MaxSim"
    assert why.score == pytest.approx(encoder.similarity.late_interaction(late, A, B).score, abs=1e-4)
    assert why.pairs.sum() == pytest.approx(why.score, abs=1e-6)
    assert why.split is not None
    assert why.split.labels[0][-1] == "(special tokens)"
    assert isinstance(why.source, MaxSim)
    with pytest.raises(EncoderError, match="cosine"):
        scores.circuit(why.source)


def test_splade_is_a_sum_over_the_vocabulary(twin_pre: encoder.TextEncoder):
    sparse = dataclasses.replace(twin_pre, sparse=SparseConfig())
    why = encoder.explain_score(sparse, "the cat sat", "a dog")
    assert why.kind == "SPLADE"
    weights = []
    for text in ("the cat sat", "a dog"):
        found = encoder.classify.sparse_vector(sparse, sparse.trace(text))
        weights.append(dict(zip(found.ids, found.weights, strict=True)))
    expected = sum(weight * weights[1].get(word, 0.0) for word, weight in weights[0].items())
    assert why.score == pytest.approx(expected, rel=1e-4)
    assert why.pairs.sum() == pytest.approx(why.score, rel=1e-9)
    assert isinstance(why.source, Sparse)
    assert sum(part for _, part in why.source.vocabulary()) == pytest.approx(why.score, rel=1e-9)


def test_orders_split_a_score_of_two_texts_in_turn():
    draw = np.random.default_rng(4)
    table = draw.normal(size=(2,) * 5)  # f of 2 parts of A, 3 of B

    def scores(keep_a: np.ndarray, keep_b: np.ndarray) -> np.ndarray:
        return table[tuple(np.concatenate([keep_a, keep_b], axis=1).T.astype(int))]

    found, error = game.crossed(scores, 2, 3, 400)
    assert found.sum() == pytest.approx(table[1, 1, 1, 1, 1])
    one, other = [*itertools.permutations(range(2))], [*itertools.permutations(range(3))]
    expected = np.zeros((3, 4))
    for first, second in itertools.product(one, other):
        masks = [
            [[part in order[:n] for part in sorted(order)] for n in range(len(order) + 1)] for order in (first, second)
        ]
        grid = np.array([[table[tuple(map(int, a + b))] for b in masks[1]] for a in masks[0]])
        for row, column in itertools.product(range(3), range(4)):
            cell = grid[row, column]
            cell -= (grid[row - 1, column] if row else 0) + (grid[row, column - 1] if column else 0)
            cell += grid[row - 1, column - 1] if row and column else 0
            at = first[row - 1] if row else 2, second[column - 1] if column else 3
            expected[at] += cell / len(one) / len(other)
    assert (abs(found - expected) <= 5 * error + 1e-9).all(), "the mean of drawn orders, within its error"
    few, _ = game.crossed(scores, 2, 3, 4)
    assert few.sum() == pytest.approx(table[1, 1, 1, 1, 1]), "the sum is exact for any number of orders"


def test_a_cross_encoder_has_words_and_pairs_that_add_up(twin_pre: encoder.TextEncoder):
    torch.manual_seed(3)
    head = Classifier(twin_pre.config.d_model, ClassifierConfig(labels=("score",), kind="sequence"))
    model = dataclasses.replace(twin_pre, classifier=head)
    why = encoder.explain_score(model, "the cat sat", "a dog ran away")
    assert (why.kind, [word.word for word in why.words_b]) == ("cross-encoder", ["a", "dog", "ran", "away"])
    logit = encoder.classify.predict(model, model.trace("the cat sat", "a dog ran away")).logits[0]
    assert why.score == pytest.approx(logit, abs=1e-5)
    assert isinstance(why.source, CrossEncoder)
    assert why.pairs.shape == (4, 5)
    assert why.pairs.sum() == pytest.approx(why.score, abs=1e-5)
    sentence = model.tokenize("the cat sat", "a dog ran away")
    batch, special = model.tokenizer.batch([sentence], model.device), torch.tensor([sentence.special])
    with torch.no_grad():
        x = model.encoder.embedding(batch.ids, None, batch.segments)
        nothing = head(model.encoder.before_layer(model.config.n_layers, x, special), special)[0, 0]
    assert why.pairs[-1, -1] == pytest.approx(float(nothing), abs=1e-5), "the special tokens by themselves"
    with pytest.raises(EncoderError, match="empty text"):
        np.asarray(encoder.explain_score(twin_pre, "", "a dog", kind="cosine").pairs)


def test_an_image_and_its_caption_have_regions_and_words(digit_words: encoder.JointEncoder):
    image = torch.rand(28, 28, generator=torch.Generator().manual_seed(0)).numpy()
    why = encoder.explain_score(digit_words, (image * 255).astype(np.uint8), "an odd digit")
    assert why.pairs.sum() == pytest.approx(why.score, abs=1e-6)
    assert why.source.sides[0].level == "region"
    assert why.circuit[0].name.startswith(("image", "text"))
    assert why.whole_circuit.sum == pytest.approx(why.score, abs=1e-6)


def test_a_sound_is_left_out_in_stretches_of_time():
    model = encoder.load("spoken-words", device="cpu")
    why = encoder.explain_score(model, spoken_digits.examples()["seven"].sound, "a voice says seven")
    side = why.source.sides[0]
    spans = side.layout.spans
    assert sorted(token for part in side.parts for token in part.tokens) == [
        token for token, span in enumerate(spans) if span is not None
    ]
    for part, following in itertools.pairwise(side.parts):
        assert max(spans[token].start for token in part.tokens) < min(spans[token].start for token in following.tokens)
    assert (side.level, why.pairs.sum()) == ("stretch", pytest.approx(why.score, abs=1e-6))


def test_no_text_is_refused_and_a_cut_one_says_where(minilm: encoder.TextEncoder):
    long = " ".join(f"Line {at} of the letter is about parcel {at}." for at in range(120))
    why = encoder.explain_score(minilm, long, "a parcel")
    side = why.source.sides[0]
    assert side.level in ("phrase", "sentence", "passage")
    assert 2 < len(side) <= 24
    assert side.cut_at
    assert side.cut_at in long
    empty = encoder.explain_score(minilm, "", B)
    assert empty.words_a == ()
    assert np.isfinite(empty.score)


@pytest.mark.slow("runs a text of many words without each of them")
def test_a_text_of_many_words_has_phrases_unless_each_word_is_asked_for(minilm: encoder.TextEncoder):
    long = " ".join(f"parcel number {at}" for at in range(25))  # without a mark: phrases of some words each
    why = encoder.explain_score(minilm, long, B)
    side = why.source.sides[0]
    assert side.level == "phrase"
    assert 8 <= len(side) <= 24
    assert "".join(long[slice(*part.span)] for part in side.parts).replace(" ", "") == long.replace(" ", "")
    each = encoder.explain_score(minilm, long, B, each_word=True)
    assert [word.word for word in each.words_a] == long.split()
    assert each.score == pytest.approx(why.score, abs=1e-6)


def test_words_are_kept_whole_and_writing_without_blanks_is_divided(minilm: encoder.TextEncoder):
    sentence = minilm.tokenize("Re: order #48213-b (unhelpfulness)!")
    assert [part.label for part in parts.words(sentence)] == ["Re", "order", "#48213-b", "unhelpfulness"]
    assert len(parts.words(minilm.tokenize("我们的订单"))) > 1
    found, level = parts.parts(minilm.tokenize("One, two. Three, four! Five."), 3)
    assert (len(found), level) == (3, "sentence")


def test_a_score_has_its_place_among_random_pairs(minilm: encoder.TextEncoder):
    texts = [f"text number {at} about {word}" for at, word in enumerate("cats dogs rain law tax bread".split())]
    collection = search.embed(minilm, texts)
    cosines = scores.random_cosines(collection)
    assert len(cosines) == 15
    assert scores.place(1.1, cosines).percentile == 100
    assert scores.place(cosines[7], cosines).percentile == pytest.approx(50)
    why = encoder.explain_score(minilm, texts[0], texts[0], collection)
    assert why.percentile is None, "15 pairs are too few for a percentage"
    assert why.place is not None
    assert "all 15 pairs" in why.place.share, "these are not a random draw"
    assert why.place.share in repr(why)
    more = search.embed(minilm, [*texts, *(f"{text} and {at}" for at in (1, 2) for text in texts)])
    assert encoder.explain_score(minilm, texts[0], texts[0], more).percentile == 100
    assert scores.place(0.0, np.linspace(-1, 1, scores.placed.PAIRS)).share == "50% of 10,000 random pairs"
    assert encoder.explain_score(minilm, A, B).percentile is None
    two = search.embed(minilm, texts[:2])
    assert encoder.explain_score(minilm, A, B, two).percentile is None, "one pair compares with nothing"
    with pytest.raises(EncoderError, match="2 texts"):
        scores.random_cosines(search.embed(minilm, texts[:1]))


def test_packed_rows_are_the_masked_ones(minilm: encoder.TextEncoder, monkeypatch: pytest.MonkeyPatch):
    score = score_of(minilm, A, B)
    packed = score.without(0)
    monkeypatch.setattr(encoder.scores.sides, "_packs", lambda model: False)
    assert score.without(0) == pytest.approx(packed, abs=1e-6)
    assert isinstance(score, Cosine)


@pytest.fixture(params=["prompts", "weights"])
def sided(request: pytest.FixtureRequest, minilm: encoder.TextEncoder) -> encoder.TextEncoder:
    """A model that reads queries and documents differently: by its prompts, by the weights of queries, too."""
    prompts = {"query": "search for: ", "document": "passage: "}
    others = {"query": minilm.with_norm_placement("pre")} if request.param == "weights" else {}
    with_prompts = {name: dataclasses.replace(one, prompts=prompts) for name, one in others.items()}
    return dataclasses.replace(minilm, prompts=prompts, sides=with_prompts)


@pytest.mark.slow("makes a model with sides, two ways")
def test_a_model_with_sides_explains_the_score_of_its_search(sided: encoder.TextEncoder):
    query, texts = "Where is my parcel?", ["Your package was sent.", "A cat sat on a mat.", "It rains."]
    collection = encoder.search.embed(sided, texts)
    ranking = encoder.texts.rank(sided, query, collection)
    assert dict(encoder.search.nearest(collection, sided, query)) == pytest.approx(
        dict(enumerate(ranking.scores)), abs=1e-5
    )
    for place, text in enumerate(texts):
        why = encoder.explain_score(sided, query, text)
        one, other = sided.embed(query, side="query")[0], sided.embed(text, side="document")[0]
        expected = float(torch.nn.functional.cosine_similarity(one, other, dim=0))
        assert (why.score, ranking.scores[place]) == pytest.approx((expected, expected), abs=1e-5)
        assert why.pairs.sum() == pytest.approx(why.score, abs=1e-6)
        assert [side.prompt for side in why.source.sides] == ["search for: ", "passage: "]
    assert sum(one.share for one in why.circuit) == pytest.approx(why.score, abs=1e-6)
    assert len({one.name for one in why.circuit}) == len(why.circuit)
    assert any(one.name.startswith("query ") for one in why.circuit) == bool(sided.sides)
    missed = encoder.texts.why_not_found(sided, ranking, 1)
    for edit in missed.edits:
        if edit.what == "out":
            assert sorted(f"{edit.text} {edit.word}".replace(".", "").split()) == sorted(texts[1].rstrip(".").split())
        again = encoder.explain_score(sided, query, edit.text).score
        assert edit.score == pytest.approx(again, abs=1e-5)
    plain = encoder.explain_score(sided, query, texts[0], prompts=("", ""))
    assert [side.prompt for side in plain.source.sides] == ["", ""]
