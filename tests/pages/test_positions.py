"""Positions under AppTest: every kind of position, with its numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from encoder.figures.numbers import three_digits
from encoder.measure import positions
from pages.core.words.formulas import change, number
from tests.load import every_family
from tests.pages.apps import assert_well, visit, written

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

#: Said of a model whose output for the reversed text is the same.
SAME_ORDER = "up to rounding"


def rotary_trace(minilm: encoder.TextEncoder) -> encoder.Trace:
    """The trace of the untrained model that the controls build with rotary positions."""
    sizes = {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_ffn": 256, "max_positions": 8192}
    config = encoder.EncoderConfig(vocab_size=minilm.config.vocab_size, position="rotary", **sizes)
    return encoder.build(config, minilm.tokenizer, seed=0).trace("one two three")


@pytest.mark.sample(4, "the page with another encoding")
@pytest.mark.parametrize(
    ("kind", "rows", "term"),
    [
        ("learned", "sentence", "**random**"),
        ("sinusoidal", "all", "**sines and cosines**"),
        ("rotary", "sentence", "**rotates**"),
        ("none", "all", "**no positions**"),
    ],
)
def test_the_encoding_of_an_untrained_model_is_named(kind: str, rows: str, term: str) -> None:
    model = {"model": "scratch", "positions": kind, "text": "one two"}
    app = visit("positions", positions_part="encoding", rows=rows, **model)
    assert_well(app)
    assert term in written(app)
    assert "learned" not in app.markdown[0].value.replace("nothing is learned", "")
    assert (SAME_ORDER in written(visit("positions", **model))) == (kind == "none"), (
        "only without positions the order makes no difference"
    )


def test_learned_positions_with_their_numbers(minilm: encoder.TextEncoder) -> None:
    trace, shown = (
        minilm.trace("The cat sat"),
        written(visit("positions", positions_part="encoding", text="The cat sat")),
    )
    assert "**learned**" in shown
    assert f"position vectors {three_digits(float(trace.position.norm(dim=-1).mean()))}" in shown
    shown = written(visit("positions", text="The cat sat"))
    # The reversed sentence, typed by hand.
    other = minilm.trace("sat cat the").output[[0, 3, 2, 1, 4]]
    cosine = torch.cosine_similarity(trace.output, other, dim=-1)
    least = trace.labels[int(cosine.argmin())]
    assert re.search(rf"“{re.escape(least)}”.* \*\*{float(cosine.min()):.3f}\*\*", shown)
    assert f"**{float(cosine.mean()):.3f}**" in shown
    assert "[CLS] · sat · cat · the · [SEP]" in shown


def without(**query: str) -> str:
    app = visit("positions", positions_part="without", **query)
    assert_well(app)
    return written(app)


def test_without_positions(minilm: encoder.TextEncoder) -> None:
    text = "The animal didn't cross the street because it was too tired."
    shown = without(layer="3", head="1", i="10", j="2")
    trace, other = minilm.trace(text), minilm.trace(text, edits=[encoder.edits.DropPositions()])
    weights = [float(one.attention(3, 1)[10, 2]) for one in (trace, other)]
    assert f"“it” → “animal”: {change(*weights)}" in shown
    cosine = torch.cosine_similarity(trace.output, other.output, dim=-1)
    assert f"**{number(float(cosine.mean()))}**" in shown
    assert f"“{trace.labels[int(cosine.argmin())]}”** changes most: **{number(float(cosine.min()))}**" in shown
    vectors = [minilm.vectors(one.output[None]) for one in (trace, other)]
    assert f"cosine **{three_digits(float(torch.cosine_similarity(*vectors)))}**" in shown
    assert "cannot tell the order" in shown
    assert "trained with positions" in shown


def test_without_positions_where_the_order_stays_or_nothing_is_left_out() -> None:
    assert "its causal mask stays" in without(model="digit-words", text="an odd digit")
    assert "no position vector is added" in without(model="digits-post")
    shown = without(model="scratch", positions="none", text="one two")
    assert "**no positions**" in shown
    assert "choose another model" in shown


def test_an_odd_width_has_no_sines() -> None:
    app = visit(
        "positions",
        positions_part="encoding",
        model="scratch",
        positions="learned",
        width="13",
        heads="1",
        text="one two",
    )
    assert_well(app)
    assert re.search(r"\b13\b.* odd\b", written(app))


def test_rotary_products_depend_on_the_signed_offset_alone(minilm: encoder.TextEncoder) -> None:
    trace = rotary_trace(minilm)
    query = {
        "positions_part": "encoding",
        "model": "scratch",
        "positions": "rotary",
        "text": "one two three",
        "i": "1",
        "j": "3",
        "head": "1",
    }
    app = visit("positions", **query)
    assert_well(app)
    product = float(trace.q[0, 1, 1] @ trace.k[0, 1, 3])
    offsets, products = positions.turned_products(trace, 0, 1, 1, 3, 2)
    assert list(offsets) == [-2, -1, 0, 1, 2]
    assert products[-1] == pytest.approx(product, abs=1e-5)
    assert abs(products[0] - products[-1]) > 0.1, "the opposite offset gives another product"
    assert f"offset 2: {number(product)}" in written(app)
    assert f"offset −2: {number(float(products[0]))}" in written(app)
    # The same query and key, both rotated by five more positions, give the same product.
    cos, sin = positions.turns(trace.encoder, 0, 6)
    moved = [rotated(x, cos[5], sin[5]) for x in (trace.q[0, 1, 1], trace.k[0, 1, 3])]
    assert float(moved[0] @ moved[1]) == pytest.approx(product, abs=1e-4)


def rotated(x: torch.Tensor, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """x [K] with each pair of components rotated by its angle."""
    first, second = np.split(x.numpy().astype(np.float64), 2)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos])


def test_a_long_text_is_not_reversed() -> None:
    app = visit("positions", model="scratch", layers="1", width="12", heads="2", ffn="20", text="a b " * 520)
    assert_well(app)
    assert "1,042" in written(app)
    assert "1,024" in written(app)


@pytest.mark.parametrize("position", ["learned", "none"])
def test_relative_positions(
    position: str, tmp_path: Path, minilm: encoder.TextEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = encoder.EncoderConfig(
        vocab_size=minilm.config.vocab_size,
        d_model=12,
        n_layers=1,
        n_heads=3,
        d_ffn=20,
        max_positions=64,
        position=position,
        relative_buckets=8,
        relative_max_distance=16,
    )
    model = encoder.build(config, minilm.tokenizer, seed=0)
    encoder.save(model, tmp_path / "relative")
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    app = visit(
        "positions", positions_part="encoding", model="other", source="relative", text="one two three", head="2"
    )
    assert_well(app)
    shown = written(app)
    assert ("a **learned** vector" in shown) == (position == "learned")
    offsets, biases = positions.distance_biases(model.encoder, 5)
    high = int(biases[2].argmax())
    largest, offset = re.escape(number(float(biases[2][high]))), re.escape(number(float(offsets[high]), 0))
    assert re.search(rf"Head 2\b.*\*{largest}\*.*\boffset {offset}", shown)
    assert SAME_ORDER not in written(visit("positions", model="other", source="relative", text="one two three"))


def test_the_curve_of_the_sines_has_their_numbers() -> None:
    app = visit(
        "positions",
        positions_part="similar",
        model="scratch",
        positions="none",
        width="512",
        rows="all",
        product="dot",
        heads="4",
    )
    assert_well(app)
    table = positions.sines(2, 512)
    assert f"{float(table[0] @ table[1]):.2f} at distance 1" in written(app)


def test_cosine_0_means_orthogonal() -> None:
    app = visit("positions", positions_part="similar", text="one two", product="cosine")
    assert "0: orthogonal" in app.segmented_control(key="view:product").help


def test_layers_rotate_by_their_own_base() -> None:
    app = visit(
        "positions", positions_part="encoding", model="scratch", positions="rotary", width="32", heads="2", layer="1"
    )
    assert "10,000^(2c/16)" in written(app)


def test_a_selected_position_names_the_most_similar_ones(minilm: encoder.TextEncoder) -> None:
    table = positions.added(minilm.encoder, 5)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines = unit @ unit[2]
    first, second = [int(one) for one in np.argsort(-cosines) if one != 2][:2]
    shown = written(visit("positions", positions_part="encoding", text="The cat sat", i="2"))
    assert (
        f"position {first} (cosine **{cosines[first]:.2f}**) and {second} (cosine **{cosines[second]:.2f}**)" in shown
    )
    assert "Position 2" not in written(visit("positions", positions_part="encoding", text="The cat sat"))


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tiny checkpoints of families whose scores depend on positions."""
    root = tmp_path_factory.mktemp("families")
    for name in ("deberta-v2", "deberta, one term", "bloom", "beit", "umt5", "roformer, own table"):
        case = every_family.ALL[name]
        every_family.write(case, case.make(), root / name.replace(", ", "-").replace(" ", "-"))
    return root


def opened(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, **values: str) -> str:
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(folder))
    app = visit(
        "positions",
        positions_part="encoding",
        model="other",
        source=name,
        text="w7 w20 w33 w8",
        layer="1",
        head="2",
        **values,
    )
    assert_well(app)
    return written(app)


@pytest.mark.parametrize("name", ["deberta-v2", "deberta-one-term"])
def test_deberta_shows_the_parts_of_a_score(families: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    shown = opened(families, monkeypatch, name, i="2", j="4")
    model = encoder.load(families / name, device="cpu")
    trace = model.trace("w7 w20 w33 w8")
    score = float(trace.scores(1, 2)[2, 4])
    assert f"**{number(score)}**, the score" in shown
    assert "no positions" not in shown
    terms = positions.score_terms(trace, 1, 2, slice(None))
    assert len(terms) == model.config.disentangled.n_terms
    np.testing.assert_allclose(sum(terms.values()), trace.scores(1, 2).numpy(), atol=1e-5)
    offsets, curves = positions.terms_by_offset(trace, 1, 2, 2, 4, 5)
    for term, curve in curves.items():
        assert curve[list(offsets).index(4 - 2)] == pytest.approx(terms[term][2, 4], abs=1e-5)
    with pytest.raises(encoder.EncoderError, match="DeBERTa"):
        positions.score_terms(encoder.load("twin-pre", device="cpu").trace("a"), 0, 0, slice(None))


def test_biases_of_alibi_and_of_rows_and_columns(families: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = opened(families, monkeypatch, "bloom")
    offsets, biases = positions.distance_biases(encoder.load(families / "bloom", device="cpu").encoder, 3)
    assert list(offsets) == [-3, -2, -1, 0]  # a causal model
    np.testing.assert_allclose(biases[2], -(2.0**-6) * np.abs(offsets))  # 6 heads: the slopes of 4, then others
    assert "slope" in shown
    shown = opened(families, monkeypatch, "beit")
    model = encoder.load(families / "beit", device="cpu")
    assert "rows and columns" in shown
    assert "no positions" not in shown
    found = positions.grid_biases(model.encoder, 1)
    side, context = model.config.patches.side, model.trace_image(torch.zeros(3, 24, 24)).contexts[1]
    query, key = 1 + 2 * side + 3, 1 + 4 * side + 1  # row 2, column 3; row 4, column 1; after [CLS]
    np.testing.assert_allclose(found[:, side - 1 + 2, side - 1 - 2], context.bias()[:, query, key].detach().numpy())


@pytest.mark.parametrize("name", ["deberta-v2", "bloom", "umt5"])
def test_positions_in_the_scores_are_left_out(families: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(families))
    shown = without(model="other", source=name, text="w7 w20 w33 w8")
    assert ("cannot tell the order" in shown) == (name != "bloom"), "its causal mask stays"
    assert "those of one position" in shown


def test_biases_of_each_layer_are_its_own(families: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = opened(families, monkeypatch, "umt5")
    _, biases = positions.distance_biases(encoder.load(families / "umt5", device="cpu").encoder, 6, layer=1)
    assert f"largest **{number(float(biases[2].max()))}**" in shown
    assert "Each layer has its own numbers" in shown


def test_rotations_of_a_table_are_those_of_the_weights(families: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = opened(families, monkeypatch, "roformer-own-table", i="2")
    trace = encoder.load(families / "roformer-own-table", device="cpu").trace("w7 w20 w33 w8")
    sin, cos = trace.encoder.rotary_table.weight.detach().numpy()[: trace.n_tokens].reshape(-1, 2, 4).transpose(1, 0, 2)
    angle = np.arctan2(sin[2], cos[2]) % (2 * np.pi)
    assert f"pair 0 has angle **{number(float(angle[0]))}**, pair 3 **{number(float(angle[-1]))}** radians" in shown
    factors = np.sqrt(sin**2 + cos**2)
    assert f"by {number(float(factors.min()))} to {number(float(factors.max()))}" in shown
    assert "every offset" not in shown
    with pytest.raises(encoder.EncoderError, match="table of its weights"):
        positions.turned_products(trace, 0, 0, 1, 2, 3)
    with pytest.raises(encoder.EncoderError, match=r"212 positions.* 211\b"):
        positions.turns(trace.encoder, 0, 212)


def test_layer_and_head_are_offered_where_a_picture_depends_on_them():
    def places(**values: str) -> set[str]:
        return {one.label for one in visit("positions", text="one two three", **values).number_input}

    assert not {"Layer", "Head"} & places()
    assert not {"Layer", "Head"} & places(positions_part="encoding")
    assert {"Layer", "Head"} <= places(positions_part="encoding", model="scratch", positions="rotary")
