"""Text to ids, padding, other norms, the plane, and the LaTeX of every step."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch.nn.functional as F

from encoder import EncoderError, TextEncoder, explain
from encoder.explain import Place, Variant, latex
from tests.explain.conftest import NAMES, SHORT, TEXT, model_of, traces_of


def test_text_to_ids(minilm: TextEncoder):
    trace = minilm.trace_batch([SHORT, TEXT])[0]
    step = explain.text_to_ids(trace, query=1)
    assert step.ids == trace.ids
    wrong = replace(step, tokens=(*step.tokens[:-1], replace(step.tokens[-1], id=step.tokens[-1].id + 1)))
    assert not wrong.check(minilm.tokenizer)[0].agrees  # one off is another word, however large the ids are
    assert [token.characters for token in step.tokens[:4]] == ["", "Hi", "there", ""]
    assert [token.special for token in step.tokens[:4]] == [True, False, False, True]
    assert not any(token.real for token in step.tokens[4:])
    for token in step.tokens:
        assert minilm.tokenizer.backend.token_to_id(token.token) == token.id


def test_a_pair_keeps_its_segments(minilm: TextEncoder):
    step = explain.text_to_ids(minilm.trace("A river", "The bank"))
    assert [(token.characters, token.segment) for token in step.tokens] == [
        ("", 0),
        ("A", 0),
        ("river", 0),
        ("", 0),
        ("The", 1),
        ("bank", 1),
        ("", 1),
    ]


@pytest.mark.parametrize(
    "word", ["embeddings", "unbelievably", "Déjà", "tokenization", "zzzqqqxyz", "cat", "☃", "x" * 101]
)
def test_word_pieces_are_the_tokenizers(minilm: TextEncoder, word: str):
    attempts = explain.word_pieces(minilm.tokenizer, word)
    found = [attempt.piece for attempt in attempts if attempt.id is not None]
    if found[-1:] == ["[UNK]"]:  # pieces found before the unknown part count for nothing
        found = ["[UNK]"]
    assert found == minilm.tokenizer.backend.encode(word, add_special_tokens=False).tokens


def test_word_pieces_try_the_longest_first(minilm: TextEncoder):
    attempts = explain.word_pieces(minilm.tokenizer, "embeddings")
    assert [attempt.piece for attempt in attempts][:2] == ["embeddings", "embedding"]
    assert [attempt.piece for attempt in attempts if attempt.id is not None] == ["em", "##bed", "##ding", "##s"]


def test_three_norms_are_torchs(minilm: TextEncoder):
    trace, other, name = minilm.trace(TEXT), minilm.trace(SHORT), "layers.2.ffn_norm"
    x, eps = trace.norms[name].input, trace.norms[name].eps
    outputs = explain.norm.three_norms(x.numpy(), eps)
    expected = {
        "layer": F.layer_norm(x, x.shape[-1:], eps=eps),
        "rms": F.rms_norm(x, x.shape[-1:], eps=eps),
        "batch": F.batch_norm(x, None, None, training=True, eps=eps),
    }
    found = explain.norm_moments(trace, other, name)
    assert list(found.moments) == ["input", "layer", "rms", "batch"]
    for kind, output in expected.items():
        assert np.abs(outputs[kind] - output.numpy()).max() < 1e-4, kind
        mean, std = found.moments[kind]
        np.testing.assert_allclose(mean, output.mean(-1).numpy(), atol=1e-5)
        np.testing.assert_allclose(std, output.std(-1, correction=0).numpy(), atol=1e-4)
    assert (np.abs(found.moments["layer"][0]) < 1e-5).all()
    assert found.moments["layer"][1] == pytest.approx(1.0, abs=1e-4)
    assert outputs["batch"].std(axis=0) == pytest.approx(1.0, abs=1e-3)


def test_rmsnorm_sets_the_root_mean_square_to_1_and_not_the_deviation():
    x = np.random.default_rng(0).normal(3.0, 1.0, (5, 24)).astype(np.float32)
    rms = explain.norm.three_norms(x, 1e-12)["rms"]
    assert np.sqrt((rms**2).mean(axis=1)) == pytest.approx(1.0, abs=1e-5)
    assert (rms.std(axis=1) < 0.6).all()


def test_orthogonal_vectors_have_cosine_0():
    x = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    assert explain.arithmetic.cosine(x, x[:1]).tolist() == [1.0, 0.0, 1.0, -1.0]


def test_only_batch_norm_depends_on_the_company(minilm: TextEncoder):
    apart = explain.norm_moments(minilm.trace(TEXT), minilm.trace(SHORT), "layers.0.attention_norm").apart
    assert apart["layer"] == apart["rms"] == 0
    assert apart["batch"] > 0.1


def test_norms_that_are_not_there(minilm: TextEncoder):
    trace = minilm.trace(SHORT)
    with pytest.raises(EncoderError, match="no norm 'final_norm'"):
        explain.normalised(trace, "final_norm", 0)
    with pytest.raises(EncoderError, match="no norm 'nonsense'"):
        explain.norm_moments(trace, trace, "nonsense")


def test_which_neurons_are_active():
    relu, _ = traces_of("pre, sinusoidal, ReLU")["alone"]
    layer = explain.hidden_activations(relu, 1)
    assert layer.threshold == 0
    assert layer.active_share == pytest.approx(float((relu.values["layers.1.ffn.hidden"] > 0).float().mean()))
    assert 0.2 < layer.active_share < 0.8
    gelu, _ = traces_of("minilm")["alone"]
    layer, hidden = explain.hidden_activations(gelu, 1, threshold=0.05), gelu.values["layers.1.ffn.hidden"]
    assert layer.active_share == pytest.approx(float((hidden > 0.05).float().mean()))
    assert (hidden < -0.05).any()  # GELU's small negative values do not count
    assert layer.active_by_token.mean() == pytest.approx(layer.active_share)
    assert layer.never.tolist() == (hidden <= 0.05).all(dim=0).tolist()
    gated = next(traces_of(name)["alone"][0] for name in NAMES if model_of(name).config.gated)
    layer, hidden = explain.hidden_activations(gated, 1), gated.values["layers.1.ffn.hidden"]
    assert layer.active_share == pytest.approx(float((hidden.abs() > layer.threshold).float().mean()))


# --- LaTeX -----------------------------------------------------------------------------------------------------------


def every_formula(name: str) -> dict[str, explain.Formula]:
    trace, _ = traces_of(name)["alone"]
    place = Place(1, 1, 3, 2, 5, 7)
    found = {
        "ids": explain.text_to_ids(trace, 3),
        "embedding": explain.embedding(trace, place),
        **{which: explain.projection(trace, place, which) for which in "qkv"},
        "score": explain.score(trace, place),
        "unscaled": explain.score(trace, place, Variant(scaled=False)),
        "softmax": explain.softmax(trace, place),
        "mixing": explain.weighted_sum(trace, place),
        "heads": explain.output_projection(trace, place),
        "attention": explain.add_norm(trace, place, "attention"),
        "ffn": explain.feed_forward(trace, place),
        "pooled": explain.pooled(trace, "mean", place),
    }
    formulas = {key: step.formula for key, step in found.items()}
    formulas["output of ffn"] = found["ffn"].output_formula
    if found["attention"].norm is not None:
        formulas["norm"] = found["attention"].norm.formula
    if found["q"].rotation is not None:
        formulas["rotation"] = found["q"].rotation.formula
    if found["embedding"].position_formula is not None:
        formulas["position"] = found["embedding"].position_formula
    return formulas


@pytest.mark.parametrize(
    "name",
    ["minilm", "post, rotary, gated SiLU", "pre, sinusoidal, ReLU", "post, relative bias", "pre, rotary, windows"],
)
def test_formulas_are_balanced_latex(name: str):
    for key, formula in every_formula(name).items():
        for line in (formula.symbols, formula.numbers):
            bare = re.sub(r"\\[{}]", "", line)
            assert bare.count("{") == bare.count("}"), (key, line)
            assert sorted(re.findall(r"begin\{(\w+)", line)) == sorted(re.findall(r"end\{(\w+)", line)), (key, line)
            assert line.count(r"\begin") == line.count(r"\end"), (key, line)
            assert "nan" not in line, (key, line)
            assert "None" not in line, (key, line)
            assert line.isascii(), (key, line)


def test_formulas_hold_the_selected_numbers():
    trace, _ = traces_of("minilm")["alone"]
    place = Place(2, 3, 4, 1, 5)
    score = explain.score(trace, place)
    assert f"{score.value:.4f}" in score.formula.numbers
    assert f"{score.dot:.4f}" in score.formula.numbers
    assert r"\sqrt{32}" in score.formula.numbers
    softmax = explain.softmax(trace, place)
    assert f"{softmax.value:.4f}" in softmax.formula.numbers
    assert f"{softmax.total:.4f}" in softmax.formula.numbers
    q = explain.projection(trace, place, "q")
    assert f"{q.value:.4f}" in q.formula.numbers
    assert "381 more" in q.formula.numbers


def test_colours_say_which_vector_it_is():
    formulas = every_formula("minilm")
    blue, red, green = (latex.COLOURS[role][0] for role in "qkv")
    assert blue in formulas["q"].numbers
    assert red in formulas["k"].numbers
    assert green in formulas["v"].numbers
    assert {blue, red} <= set(re.findall(r"\\textcolor\{(#\w+)\}", formulas["score"].symbols))
    assert green in formulas["mixing"].symbols
    score = formulas["score"].symbols
    dark = latex.for_theme(score, dark=True)
    assert blue not in dark
    assert latex.COLOURS["q"][1] in dark
    assert latex.for_theme(dark, dark=False) == score


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.0000"), (-0.0, "0.0000"), (0.18412, "0.1841"), (-1.5, "-1.5000"), (0.00002, r"2.00\cdot 10^{-5}"),
        (-3.4e38, r"-\infty"), (1.2345e7, r"1.23\cdot 10^{7}"), (float("-inf"), r"-\infty"),
    ],
)  # fmt: skip
def test_numbers(value: float, expected: str):
    assert latex.number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0.0000"), (0.0048714, "0.004871"), (0.51693, "0.5169"), (13.342, "13.3420"), (3e-9, r"3.00\cdot 10^{-9}")],
)
def test_what_is_divided_by_keeps_four_figures(value: float, expected: str):
    assert latex.divisor(value) == expected


def test_numbers_keep_their_third_decimal():
    for value in np.linspace(-2, 2, 401):
        assert abs(float(latex.number(float(value)).replace(r"\cdot 10^", "e").strip()) - value) < 5e-5


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("the", r"\text{the}"), ("##ing", r"\text{\#\#ing}"), ("50%_{x}", r"\text{50\%\_\{x\}}"), ("$&^~\\", None),
        ("猫", r"\text{token}"), ("🙂", r"\text{token}"), ("a\nb", r"\text{token}"),
    ],
)  # fmt: skip
def test_words_are_escaped(words: str, expected: str | None):
    written = latex.text(words)
    if expected is not None:
        assert written == expected
    assert not re.search(r"(?<!\\)[$%#&_]", written)


def test_short_sums_are_written_out():
    assert len(latex.products([1, 2], [3, 4])) == 2
    assert latex.left_out(3) == []
    assert "1 more" in latex.left_out(4)[0]
    assert "1{,}533 more" in latex.left_out(1536)[0]


def test_every_sum_contains_the_chosen_term():
    terms = latex.written_out(9, lambda index: f"t{index}", chosen=7)
    assert terms == ["t0", "t1", *latex.left_out(9), "t7"]
    assert latex.written_out(9, lambda index: f"t{index}", chosen=2) == ["t0", "t1", "t2", *latex.left_out(9)]
    assert latex.written_out(2, lambda index: f"t{index}", chosen=1) == ["t0", "t1"]
    trace = model_of("minilm").trace(TEXT)
    place = Place(layer=2, head=3, query=4, key=trace.n_tokens - 2)
    mixed = explain.weighted_sum(trace, place)
    weight, value = mixed.weights[place.key], mixed.values[place.key, place.component]
    assert rf"{weight:.4f} \cdot" in mixed.formula.numbers
    assert f"{value:.4f}" in mixed.formula.numbers
    assert (
        latex.number(explain.softmax(trace, place).exponentials[place.key])
        in explain.softmax(trace, place).formula.numbers
    )
