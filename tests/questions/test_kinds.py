"""Every kind of question: its truth against the trace, a right and a wrong answer, and what it refuses."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
import torch

import encoder
from encoder.edits import AblateHead
from encoder.figures.numbers import in_words
from encoder.measure import norm_weighting
from encoder.run import ModelSpec, Run, Text
from pages.core.frame.frame import import_params
from pages.teaching.lessons import library
from pages.teaching.questions import (
    KINDS,
    QUANTITIES,
    Look,
    Question,
    QuestionError,
    gestures,
    read_answer,
    read_question,
)
from pages.teaching.questions.kinds import NumberQuestion, OrderQuestion
from pages.teaching.questions.misconceptions import Reason
from pages.teaching.questions.open_kinds import ConceptQuestion
from pages.teaching.questions.quantities import Quantity
from pages.teaching.stage import exhibit

TEXT = "The animal didn't cross the street because it was too tired."
OTHER = "She sat on the bank of the river."


@pytest.fixture(scope="module")
def look() -> Look:
    return Look(Run(ModelSpec(device="cpu"), Text(TEXT)).but(layer=4, head=9))


@pytest.fixture(scope="module")
def trace() -> encoder.Trace:
    return encoder.load("minilm", device="cpu").trace(TEXT)


def graded(question: Question, answer: Any, look: Look) -> tuple[float, bool]:
    grade = question.grade(read_answer(question, json.dumps(answer), look), look)
    return grade.score, grade.right


def test_a_number_is_computed_once_for_all_screens(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def counted(look: Look, times: float) -> float:
        asked.append((look.run.text, look.layer))
        return times * (1 + look.layer)

    monkeypatch.setitem(QUANTITIES, "counted", Quantity("counted", counted, "", True))
    items = {str(layer): {"counted": {"times": 2, "layer": layer}} for layer in range(3)}
    question = read_question({"kind": "order", "ask": "?", "items": items})
    for answer in (["2", "1", "0"], ["0", "1", "2"]) * 5:
        assert graded(question, answer, look)[1] == (answer[0] == "2")
    assert sorted(asked) == [(TEXT, 0), (TEXT, 1), (TEXT, 2)]
    assert graded(question, ["2", "1", "0"], look.about(OTHER))[1]
    assert len(asked) == 6
    in_layer = read_question({"kind": "head", "ask": "?", "quantity": {"counted": {"times": 3}}, "layer": 1})
    assert len(in_layer.truth(look).value) == 12
    assert len(asked) == 18
    assert graded(in_layer, [1, 5], look)[1]
    assert len(asked) == 18


def test_which_token(look: Look, trace: encoder.Trace) -> None:
    i = trace.labels.index("it")
    row = trace.attention(4, 9)[i]
    words = row.clone()
    full_stop = trace.labels.index(".")
    words[[0, i, full_stop, -1]] = -1
    question = read_question({"kind": "token", "ask": "What does it attend to most?", "query": "it"})
    assert question.truth(look).value == [int(words.argmax())]
    close = replace(question, layer=4, head=5)  # two weights that differ in the second of the digits shown
    assert close.truth(look).value == [trace.labels.index("animal")]
    with pytest.raises(QuestionError):
        graded(question, full_stop, look)
    assert graded(question, int(words.argmax()), look) == (1.0, True)
    assert graded(question, int(words.argsort()[-2]), look) == (0.0, False)
    among_all = read_question({"kind": "token", "ask": "?", "query": i, "among": "all", "layer": 0, "head": 2})
    assert among_all.truth(look).value == [int(trace.attention(0, 2)[i].argmax())]
    for answer in (0, i, "it", None, True, 99, -1):
        with pytest.raises(QuestionError):
            graded(question, answer, look)


def test_which_head(look: Look, trace: encoder.Trace) -> None:
    i, j = trace.labels.index("it"), trace.labels.index("animal")
    weights = torch.stack([trace.attention(layer, head)[i, j] for layer in range(6) for head in range(12)]).view(6, 12)
    best = divmod(int(weights.argmax()), 12)
    question = read_question({"kind": "head", "ask": "?", "quantity": {"weight": {"query": "it", "key": "animal"}}})
    assert list(best) in question.truth(look).value
    assert graded(question, list(best), look) == (1.0, True)
    worst = divmod(int(weights.argmin()), 12)
    score, right = graded(question, list(worst), look)
    assert not right
    assert score < 0.1
    smallest = {
        "kind": "head",
        "ask": "?",
        "quantity": {"weight": {"query": "it", "key": "animal"}},
        "pick": "smallest",
    }
    in_layer = read_question(smallest | {"layer": 2})
    values = {tuple(one): float(weights[tuple(one)]) for one in in_layer.truth(look).value}
    assert min(weights[2].tolist()) in values.values()
    for answer in ([6, 0], [0], "L0 H1", 3, [[0], 1]):
        with pytest.raises(QuestionError):
            graded(question, answer, look)
    previous = read_question({"kind": "head", "ask": "?", "quantity": {"head_measure": {"name": "previous"}}})
    assert previous.truth(look).numbers


def test_a_number(look: Look, trace: encoder.Trace) -> None:
    i, j = trace.labels.index("it"), trace.labels.index("animal")
    score = float(trace.scores(4, 9)[i, j])
    question = read_question(
        {"kind": "number", "ask": "?", "quantity": {"score": {"query": "it", "key": "animal"}}, "within": 0.01}
    )
    assert question.truth(look).value == pytest.approx(score, abs=1e-5)
    assert graded(question, round(score, 3), look) == (1.0, True)
    assert graded(question, score + 0.02, look) == (0.0, False)
    flops = read_question({"kind": "number", "ask": "?", "quantity": {"layer_flops": {"n": 1024}}, "factor": 1.5})
    true = flops.truth(look).value
    assert [graded(flops, true * ratio, look)[1] for ratio in (1, 1.4, 0.7, 1.6, 0.5, -1)] == [True] * 3 + [False] * 3
    for answer in ("0.2", None, True, [1]):
        with pytest.raises(QuestionError):
            graded(question, answer, look)
    with pytest.raises(QuestionError):
        read_answer(question, "NaN", look)


def test_an_order(look: Look) -> None:
    items = {str(layer): {"update": {"sublayer": "attention", "layer": layer}} for layer in range(4)}
    question = read_question({"kind": "order", "ask": "?", "items": items})
    truth = question.truth(look)
    assert list(truth.numbers.values()) == sorted(truth.numbers.values(), reverse=True)
    assert graded(question, truth.value, look) == (1.0, True)
    assert graded(question, truth.value[::-1], look) == (0.0, False)
    swapped = [truth.value[1], truth.value[0], *truth.value[2:]]
    assert graded(question, swapped, look)[0] == pytest.approx(5 / 6)
    for answer in (["0", "1"], ["0", "0", "1", "2"], "0123"):
        with pytest.raises(QuestionError):
            graded(question, answer, look)


def test_true_or_false(look: Look, trace: encoder.Trace) -> None:
    special = float(trace.attention(4, 9)[trace.labels.index("it")][[0, -1]].sum())
    definition = {"kind": "true or false", "ask": "?", "left": {"on_special_tokens": {"query": "it"}}}
    for threshold, truth in ((special - 0.01, True), (special + 0.01, False)):
        question = read_question(definition | {"right": threshold})
        assert question.truth(look).value is truth
        assert graded(question, truth, look) == (1.0, True)
        assert graded(question, not truth, look) == (0.0, False)
    equal = read_question(definition | {"compare": "equal", "right": special})
    assert equal.truth(look).value is True
    between = read_question(definition | {"compare": "below", "right": "n_tokens"})
    assert between.truth(look).value is True


def test_drawn_attention(look: Look, trace: encoder.Trace) -> None:
    row = trace.attention(4, 9)[trace.labels.index("it")].double()
    question = read_question({"kind": "draw", "ask": "?", "query": "it"})
    assert graded(question, row.tolist(), look) == (pytest.approx(1, abs=1e-6), True)
    assert graded(question, (2 * row).tolist(), look)[0] == pytest.approx(1, abs=1e-6)
    least = [0.0] * trace.n_tokens
    least[int(row.argmin())] = 1.0
    score, right = graded(question, least, look)
    assert not right
    assert score == pytest.approx(float(row.min()), abs=1e-6)
    for answer in ([1.0], [0.0] * trace.n_tokens, [-1.0] + [1.0] * (trace.n_tokens - 1), "x" * trace.n_tokens):
        with pytest.raises(QuestionError):
            graded(question, answer, look)


def test_a_sentence_is_run(look: Look) -> None:
    model = encoder.load("minilm", device="cpu")

    def weight(text: str) -> float:
        trace = model.trace(text)
        return float(trace.attention(0, 2)[trace.labels.index("sat"), trace.labels.index("she")])

    example = "She sat on the bank of the river."
    definition = {
        "kind": "sentence",
        "ask": "?",
        "quantity": {"weight": {"query": "sat", "key": "she", "layer": 0, "head": 2}},
        "than": weight(example) / 2,
        "example": example,
    }
    question = read_question(definition)
    assert question.grade(question.truth(look).value, look).right
    below = "In the very long and cold winter of that year she often sat alone."
    threshold = (weight(example) + weight(below)) / 2
    compare = "above" if weight(example) > weight(below) else "below"
    question = read_question(definition | {"than": threshold, "compare": compare})
    assert graded(question, example, look) == (1.0, True)
    assert graded(question, below, look) == (0.0, False)
    with pytest.raises(QuestionError, match="sat"):
        graded(question, "Nothing of the kind.", look)
    for answer in ("", "   ", 3, "x" * 301):
        with pytest.raises(QuestionError):
            graded(question, answer, look)


def test_a_poll(look: Look) -> None:
    question = read_question({"kind": "choice", "ask": "?", "options": ["yes", "no"]})
    assert graded(question, 1, look) == (1.0, True)
    for answer in (2, -1, "yes", True):
        with pytest.raises(QuestionError):
            graded(question, answer, look)


def test_the_probability_of_a_word_without_a_head() -> None:
    look = Look(Run(ModelSpec("twin-pre", device="cpu"), Text("a state in the United [MASK]")).but(layer=0, head=2))
    asked = {"kind": "number", "ask": "?", "quantity": {"missed_word": {"word": "states"}}, "factor": 2}
    twin = encoder.load("twin-pre", device="cpu")
    plain, off = twin.trace(look.text), twin.trace(look.text, edits=[AblateHead(0, 2)])
    measure = encoder.causal.MaskedWord("states", scale="probability").on(twin, plain)
    with torch.no_grad():
        before, after = (float(measure(trace.output[None])[0]) for trace in (plain, off))
    assert read_question(asked).truth(look).value == pytest.approx(before - after, abs=1e-5)


def test_the_variance_of_a_dot_product_is_the_width(look: Look) -> None:
    asked = {"kind": "number", "ask": "?", "quantity": {"dot_variance": {"width": 32}}, "factor": 1.2}
    trial = {"d_k = 2": {"dot_variance": {"width": 2}}, "d_k = 16": {"dot_variance": {"width": 16}}}
    question = read_question(asked | {"trial": trial})
    assert graded(question, 32, look) == (1.0, True)
    assert isinstance(question, NumberQuestion)
    for seed in (1, 2):
        tried = question.tried(look, seed)
        assert tried["d_k = 2"] == pytest.approx(2, rel=0.1)
        assert tried["d_k = 16"] == pytest.approx(16, rel=0.1)
    assert question.tried(look, 1) != question.tried(look, 2)


CONCEPT = [
    {"says": "Half.", "holds": {"left": "n_tokens", "compare": "above", "right": 100}, "misconception": "winner"},
    {
        "says": "It has {} tokens.",
        "quantity": "n_tokens",
        "holds": {"left": "n_tokens", "compare": "below", "right": 99},
    },
]


def test_options_of_which_one_holds(look: Look) -> None:
    question = read_question({"kind": "concept", "ask": "?", "options": CONCEPT})
    assert isinstance(question, ConceptQuestion)
    assert question.is_computed
    assert question.texts(look)[1] == f"It has {look.trace.n_tokens} tokens."
    assert graded(question, 1, look) == (1.0, True)
    assert graded(question, 0, look) == (0.0, False)
    assert question.reason(0, look).misconception == "winner"
    assert question.reason(1, look).said == ""
    two = read_question({"kind": "concept", "ask": "?", "options": [CONCEPT[1], CONCEPT[1]]})
    with pytest.raises(QuestionError, match="exactly one"):
        two.truth(look)
    for options in (
        [CONCEPT[0]],
        [{"says": ""}, {"says": "x"}],
        [*CONCEPT, {"says": "x", "colour": 1}],
        "ab",
        [*CONCEPT, {"says": "x", "misconception": "none"}],
    ):
        with pytest.raises(QuestionError):
            read_question({"kind": "concept", "ask": "?", "options": options})


def test_a_conclusion_is_kept_and_not_graded(look: Look) -> None:
    question = read_question({"kind": "conclusion", "ask": "?"})
    assert question.truth(look).value is None
    assert graded(question, "A weight is a share.", look) == (1.0, True)
    for answer in ("", " ", 3, "x" * 301):
        with pytest.raises(QuestionError):
            graded(question, answer, look)


def test_a_wrong_answer_has_its_reason(look: Look) -> None:
    quantity = {"weighted_sum": {"weights": [0.75, 0.25], "values": [4, 0]}}
    mistakes = [
        {"answer": 4, "misconception": "winner"},
        {"quantity": {"weighted_sum": {"weights": [0.5, 0.5], "values": [4, 0]}}, "says": "The plain mean."},
    ]
    asked = {"kind": "number", "ask": "?", "quantity": quantity, "within": 0.1}
    question = read_question(asked | {"mistakes": mistakes})
    assert question.reason(4, look).misconception == "winner"
    assert question.reason(2.05, look) == Reason("The plain mean.")
    assert question.reason(3, look) == question.reason(17, look) == Reason()
    assert read_question(question.definition()) == question
    for wrong in ("x", [1], [{"answer": 4, "misconception": "none"}], [{"colour": 1}]):
        with pytest.raises(QuestionError):
            read_question(asked | {"mistakes": wrong})


ORDER = {
    "kind": "order",
    "items": {"a": {"softmax": {"scores": [2, 1], "at": 0}}, "b": {"softmax": {"scores": [2, 1], "at": 1}}},
}


@pytest.mark.parametrize(
    ("asked", "written", "answer"),
    [
        ({"kind": "token", "query": "it"}, "street", 8),
        ({"kind": "token", "query": "it"}, "Street (8)", 8),
        ({"kind": "token", "query": "it"}, 8, 8),
        ({"kind": "head", "quantity": {"row_entropy": {"query": "it"}}}, [2, 1], [2, 1]),
        ({"kind": "number", "quantity": "n_tokens", "within": 0}, 3, 3.0),
        (ORDER, ["b", "a"], ["b", "a"]),
        ({"kind": "true or false", "left": "n_tokens"}, False, False),
        ({"kind": "true or false", "left": "n_tokens"}, "False", False),
    ],
)
def test_a_mistake_is_written_as_a_lesson_writes_answers(asked: Any, written: Any, answer: Any, look: Look) -> None:
    question = read_question({"ask": "?", **asked, "mistakes": [{"answer": written, "says": "Mine."}]})
    assert question.mistaken(question.mistakes[0], look) == answer
    assert question.reason(answer, look).belief == "Mine."


@pytest.mark.parametrize(
    ("asked", "mistake"),
    [
        ({"kind": "token", "query": "it"}, {"answer": "zebra"}),
        ({"kind": "token", "query": "it"}, {"answer": "[CLS]"}),
        ({"kind": "token", "query": "it"}, {"answer": [7]}),
        ({"kind": "token", "query": "it"}, {"query": "zebra"}),
        ({"kind": "token", "query": "it"}, {"layer": "first"}),
        ({"kind": "token", "query": "it"}, {"query": "it", "among": "all", "layer": 99}),
        ({"kind": "head", "quantity": {"row_entropy": {"query": "it"}}}, {"answer": "L2 H1"}),
        ({"kind": "number", "quantity": "n_tokens", "within": 0}, {"answer": "three"}),
        ({"kind": "number", "quantity": "n_tokens", "within": 0}, {"quantity": {"weight": {"query": [1], "key": 2}}}),
        ({"kind": "number", "quantity": "n_tokens", "within": 0}, {"quantity": {"softmax": {"scores": "x", "at": 0}}}),
        (ORDER, {"answer": ["b"]}),
        ({"kind": "true or false", "left": "n_tokens"}, {"answer": "perhaps"}),
        ({"kind": "draw", "query": "it"}, {"answer": 5}),
        ({"kind": "conclusion"}, {"answer": 5}),
        ({"kind": "gesture", "gesture": next(iter(gestures.table()))}, {"answer": "x"}),
    ],
)
def test_a_mistake_that_is_not_an_answer_is_named_and_explains_nothing(asked: Any, mistake: Any, look: Look) -> None:
    """The check refuses it; a class whose text differs from the lesson's still gets its answers."""
    question = read_question({"ask": "?", **asked, "mistakes": [mistake]})
    with pytest.raises(QuestionError):
        question.mistaken(mistake, look)
    assert question.reason(question.truth(look).answers[0], look) == Reason()


def test_a_mistake_with_a_wrong_field_is_refused_when_it_is_read() -> None:
    number = {"kind": "number", "ask": "?", "quantity": "n_tokens", "within": 0}
    for mistake in ({"quantity": "zebra"}, {"within": "x"}, {"factor": 2}):
        with pytest.raises(QuestionError):
            read_question(number | {"mistakes": [mistake]})


@pytest.mark.parametrize(
    "quantity",
    [
        {"weight": {"query": "it", "key": "animal"}},
        {"score": {"query": "it", "key": "animal"}},
        {"row_entropy": {"query": "it"}},
        {"on_special_tokens": {"query": "it"}},
        {"head_measure": {"name": "entropy"}},
        {"on_later_tokens": {"query": "it"}},
        {"on_padding": {"query": "it", "length": 24}},
        {"causal_weight": {"query": "it", "key": "animal"}},
        {"norm_weighted": {"query": "it", "key": "animal"}},
        "stream_growth",
        "missed",
        {"softmax": {"scores": [2, 1], "at": 0}},
        {"norm_std": {"token": "it", "norm": "layers.1.ffn_norm", "side": "before"}},
        {"norm_mean": {"token": "it", "norm": "layers.1.ffn_norm", "side": "after"}},
        {"token_id": {"token": "it"}},
        "n_tokens",
        {"n_tokens": {"text": OTHER}},
        {"sentence_cosine": {"other": OTHER}},
        {"token_cosine": {"token": "the", "other": OTHER, "other_token": "the", "layer": 2}},
        {"update": {"sublayer": "ffn"}},
        {"layer_flops": {"n": 128, "part": "scores"}},
        "n_parameters",
        {"config": {"field": "d_ffn"}},
        "n_pieces",
        {"weighted_sum": {"weights": [0.5, 0.5], "values": [1, 3]}},
        {"dot_variance": {"width": 4}},
        {"transformed_norm": {"key": "it"}},
        "query_components",
        {"pooled_cosine": {"rule": "mean"}},
        {"padding_cosine": {"length": 24}},
    ],
    ids=str,
)
def test_every_quantity_is_a_number(quantity: object, look: Look) -> None:
    question = read_question({"kind": "number", "ask": "?", "quantity": quantity, "factor": 2})
    assert math.isfinite(question.truth(look).value)


def test_quantities_of_a_decoder_against_its_trace() -> None:
    model, written = encoder.load("dates-pre", device="cpu"), "1998-03-21"
    asked = library.look_of({"model": "dates-pre", "text": "21 March 1998", "layer": "1", "head": "2"})
    decoder = model.trace("21 March 1998", target=written).decoder
    off = model.decode(model.trace("21 March 1998"), written, edits=(AblateHead(1, 2, cross=True),)).decoder
    sums = [one.log_probabilities.double() for one in (decoder, off)]  # a prompt of one token
    expected = {
        "cross_weight": (
            {"target": written, "at": 3, "key": 1},
            decoder.cross_attention(1, 2)[3, 1],
        ),
        "decoder_weight": ({"target": written, "query": 3, "key": 1}, decoder.attention(1, 2)[3, 1]),
        "written_probability": ({"target": written, "at": 3}, sums[0][3].exp()),
        "missed_output": ({"target": written, "at": 3}, sums[0][3] - sums[1][3]),
    }
    for name, (arguments, value) in expected.items():
        question = read_question({"kind": "number", "ask": "?", "quantity": {name: arguments}, "factor": 2})
        assert question.truth(asked).value == pytest.approx(float(value), rel=1e-4, abs=1e-6), name
        lines = exhibit.row(question, asked, question.truth(asked))
        said = in_words(float(value)) if value >= exhibit.SMALL else "<0.001"
        assert [one.said for one in lines if one.right] == ([said] if "weight" in name else [])


def test_every_kind_and_quantity_is_tested() -> None:
    assert set(KINDS) == {
        "token",
        "head",
        "number",
        "order",
        "true or false",
        "draw",
        "sentence",
        "choice",
        "concept",
        "conclusion",
        "test",
        "gesture",
    }
    assert len(QUANTITIES) == 36


def test_quantities_against_the_trace(look: Look, trace: encoder.Trace) -> None:
    def value(quantity: object) -> float:
        return read_question({"kind": "number", "ask": "?", "quantity": quantity, "factor": 2}).truth(look).value

    row = trace.attention(4, 9)[trace.labels.index("it")].double()
    assert value({"row_entropy": {"query": "it"}}) == pytest.approx(float(-(row * row.log()).sum()), abs=1e-6)
    i = trace.labels.index("it")
    assert value({"on_later_tokens": {"query": "it"}}) == pytest.approx(float(row[i + 1 :].sum()), abs=1e-6)
    assert value({"on_padding": {"query": "it", "length": 24}}) == 0
    causal = float(row[2] / row[: i + 1].sum())
    assert value({"causal_weight": {"query": "it", "key": "animal"}}) == pytest.approx(causal, abs=1e-6)
    assert value({"causal_weight": {"query": "it", "key": "tired"}}) == 0
    off = look.loaded.trace(look.text, edits=[AblateHead(4, 9)])
    vectors = [look.loaded.pool(one.output[None], one.mask[None])[0] for one in (trace, off)]
    assert value("missed") == pytest.approx(1 - float(vectors[0] @ vectors[1]), abs=1e-5)
    shares = norm_weighting.norm_weighted_shares(trace, 4, 9)
    assert value({"norm_weighted": {"query": "it", "key": "animal"}}) == pytest.approx(float(shares[i, 2]), abs=1e-6)
    x = trace.norms["layers.1.ffn_norm"].input[i].double()
    moments = {"token": "it", "norm": "layers.1.ffn_norm", "side": "before"}
    assert value({"norm_std": moments}) == pytest.approx(float(x.std(correction=0)), abs=1e-5)
    assert value({"norm_mean": moments}) == pytest.approx(float(x.mean()), abs=1e-5)
    assert trace.source
    assert value({"token_id": {"token": "it"}}) == trace.source.ids[i]
    assert value({"config": {"field": "d_ffn"}}) == 1536
    assert value({"softmax": {"scores": [2, 1], "at": 0}}) == pytest.approx(1 / (1 + math.exp(-1)))
    assert value("n_parameters") == 22_713_216
    assert value("n_tokens") == len(trace.labels)
    assert value("n_pieces") == len(trace.labels) - 2
    assert value({"weighted_sum": {"weights": [0.75, 0.25], "values": [4, 0]}}) == 3
    why, dog = encoder.explain_score(look.loaded, look.text, "A dog."), {"other": "A dog.", "word": "animal"}
    words = [word.word for word in why.words_a]
    assert value({"word_effect": dog}) == pytest.approx(why.words_a[words.index("animal")].effect, abs=1e-6)
    shares = [value({"pair_share": {**dog, "its_word": word}}) for word in ("A", "dog")]
    assert sum(shares) == pytest.approx(float(why.pairs[words.index("animal")].sum()), abs=1e-6)
    width = 32
    w_o = trace.encoder.block(4).attention.w_o.weight[:, 9 * width : 10 * width].double()
    transformed = w_o @ trace.layer_qkv(4)[2][9][i].double()
    assert value({"transformed_norm": {"key": "it"}}) == pytest.approx(float(transformed.detach().norm()), rel=1e-5)
    assert value("query_components") == 384
    assert value({"pooled_cosine": {"rule": "mean"}}) == pytest.approx(1, abs=1e-6)
    assert value({"pooled_cosine": {"rule": "cls"}}) < 0.99
    assert value({"padding_cosine": {"length": 24}}) == pytest.approx(1, abs=1e-6)
    model = encoder.load("minilm", device="cpu")
    one, two = model.embed([TEXT, OTHER])
    assert value({"sentence_cosine": {"other": OTHER}}) == pytest.approx(float(one @ two), abs=1e-5)


@pytest.mark.parametrize(
    ("definition", "named"),
    [
        (None, "kind"),
        ({"kind": "riddle"}, "riddle"),
        ({"kind": "token"}, "ask"),
        ({"kind": "token", "ask": "?", "colour": "red"}, "colour"),
        ({"kind": "token", "ask": "?" * 2000}, "ask"),
        ({"kind": "token", "ask": "?", "among": "verbs"}, "among"),
        ({"kind": "number", "ask": "?", "quantity": "n_tokens"}, "within"),
        ({"kind": "number", "ask": "?", "quantity": "n_tokens", "factor": 0.5}, "factor"),
        ({"kind": "number", "ask": "?", "quantity": {"a": {}, "b": {}}, "factor": 2}, "quantity"),
        ({"kind": "number", "ask": "?", "quantity": "weights", "factor": 2}, "weights"),
        ({"kind": "head", "ask": "?", "quantity": "n_tokens"}, "n_tokens"),
        ({"kind": "order", "ask": "?", "items": {"one": "n_tokens"}}, "items"),
        ({"kind": "choice", "ask": "?", "options": ["yes"]}, "options"),
        ({"kind": "sentence", "ask": "?", "quantity": "n_tokens"}, "example"),
        ({"kind": "true or false", "ask": "?", "left": "n_tokens", "compare": "near"}, "compare"),
        ({"kind": "draw", "ask": "?", "within": 2}, "within"),
    ],
    ids=str,
)
def test_a_wrong_definition_is_named(definition: object, named: str) -> None:
    with pytest.raises(QuestionError, match=named):
        read_question(definition)


@pytest.mark.parametrize(
    "quantity",
    [
        {"weight": {"query": "zebra", "key": "it"}},
        {"weight": {"query": 99, "key": 0}},
        {"weight": {"query": "it"}},
        {"weight": {"query": "it", "key": "it", "layer": 6}},
        {"head_measure": {"name": "beauty"}},
        {"update": {"sublayer": "both"}},
        {"layer_flops": {"n": 8, "part": "soul"}},
        {"config": {"field": "__class__"}},
        {"softmax": {"scores": [2, 1], "at": 2}},
        {"dot_variance": {"width": 0}},
        {"pooled_cosine": {"rule": "sum"}},
    ],
    ids=str,
)
def test_a_quantity_that_does_not_fit_is_a_sentence(quantity: object, look: Look) -> None:
    question = read_question({"kind": "number", "ask": "?", "quantity": quantity, "factor": 2})
    with pytest.raises(QuestionError):
        question.truth(look)


def test_an_answer_has_a_limit(look: Look) -> None:
    question = read_question({"kind": "sentence", "ask": "?", "quantity": "n_tokens", "example": "One."})
    with pytest.raises(QuestionError, match="2,000"):
        read_answer(question, json.dumps("x" * 3000), look)
    with pytest.raises(QuestionError):
        read_answer(question, "not JSON", look)


def test_an_order_that_nobody_moved_is_wrong_and_the_same_for_all(look: Look) -> None:
    import_params()  # of the pages that lessons open
    asked = [
        (f"{found.name} {number}", step.question, library.look_of(step.view))
        for found in library.lessons()[0]
        for number, step in found.numbered()
        if isinstance(step.question, OrderQuestion)
    ]
    assert asked
    for name, question, at in asked:
        begun = question.begins_with(at)
        assert not question.grade(question.read(begun, at), at).right, name
        assert begun == read_question(question.definition()).begins_with(at), name  # type: ignore[attr-defined]
    equal = {name: {"softmax": {"scores": [1, 1], "at": 0}} for name in "ab"}
    question = read_question({"kind": "order", "ask": "?", "items": equal})
    assert isinstance(question, OrderQuestion)
    assert sorted(question.begins_with(look)) == ["a", "b"], "no order of equal numbers is wrong"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("antidisestablishmentarianism.", 1),
        ("1,3-dimethylxanthine", 1),
        ("unbelievably weird", 2),
        ("so,very,weird", 3),
    ],
)
def test_a_text_of_one_word_has_one_word(look: Look, text: str, words: int) -> None:
    definition = {"kind": "sentence", "ask": "?", "quantity": "n_tokens", "than": 2, "example": "word", "words": 1}
    question = read_question(definition)
    if words == 1:
        assert graded(question, text, look)[1]
    else:
        with pytest.raises(QuestionError, match=str(words)):
            question.read(text, look)
