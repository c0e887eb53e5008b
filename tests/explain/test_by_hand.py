"""The calculation by hand: what the notes are compared with, and the whole layer against the engine's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from encoder import EncoderConfig, EncoderError
from encoder.explain.by_hand import Inputs, claims, compute
from encoder.model.encoder import Encoder
from encoder.model.layers import Block


def test_positional_encoding_by_the_formula():
    rows = compute(Inputs()).position
    assert rows[0].tolist() == [0, 1, 0, 1]
    assert rows[1] == pytest.approx([0.8415, 0.5403, 0.0100, 0.9999], abs=6e-5)
    assert rows[2] == pytest.approx([0.9093, -0.4161, 0.0200, 0.9998], abs=5e-5)


def test_with_the_notes_encoding():
    example = compute(Inputs(positions="notes"))
    expected = [[0.2, 1.4, 0.8, 1.6], [1.34, 0.64, 0.98, 1.69], [1.2, 1.23, 0.36, 1.39]]
    assert example.x_position == pytest.approx(np.array(expected), abs=1e-12)
    expected = [[2.30, 2.14, 1.98, 1.82], [2.496, 2.358, 2.220, 2.082], [1.802, 1.938, 2.074, 2.210]]
    assert example.q == pytest.approx(np.array(expected), abs=1e-12)


def test_what_agrees_and_what_does_not():
    verdicts = {claim.key: claim.agrees for claim in claims()}
    assert verdicts == {
        "positions": False,
        "sum": True,
        "queries": True,
        "dot": True,
        "softmax": False,
        "eighth": True,
        "single": False,
        "sizes": False,
    }


def test_each_claim_is_complete():
    for claim in claims():
        assert claim.statement.endswith(".")
        assert claim.reason.endswith(".")
        assert len(claim.notes) == len(claim.computed) == len(claim.agreeing)
        assert not claim.labels or len(claim.labels) == len(claim.notes)
        for said, true in zip(claim.notes, claim.computed, strict=True):
            assert len(said) == len(true)
            assert said == tuple(round(number, claim.digits) for number in said), "digits are those that the notes give"


def test_number_by_number():
    found = {claim.key: claim for claim in claims()}
    assert found["positions"].agreeing == ((True, True, False, False), (False, False, False, False))
    assert found["softmax"].computed[0][0] == pytest.approx(0.3815, abs=5e-5)
    assert found["sizes"].computed == ((12, 768), (24, 1024))
    assert found["single"].computed == ((1.0,),)
    assert "0.651" in found["single"].reason
    assert "1.1526" in found["dot"].reason


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("positions", ["notes", "formula"])
def test_the_layer_is_the_engines(placement: str, positions: str):
    """The same numbers through encoder.layers.Block, in float64."""
    inputs = Inputs(
        norm_placement=placement,
        positions=positions,
        attention_gain=(0.9, 1.1, 1.2, 0.8),
        attention_shift=(0.1, 0.0, -0.1, 0.2),
        ffn_gain=(1.3, 0.7, 1.0, 1.1),
        ffn_shift=(0.0, 0.3, 0.1, -0.2),
    )
    example = compute(inputs)
    config = EncoderConfig(
        vocab_size=1,
        d_model=4,
        n_layers=1,
        n_heads=1,
        d_ffn=6,
        norm_placement=placement,
        norm_eps=inputs.eps,
        position="none",
        embedding_norm=False,
        final_norm=False,
        activation="relu",
        attention_bias=False,
    )
    encoder = Encoder(config, seed=0).double()
    block: Block = encoder.block(0)
    weights = {
        "attention.w_q": inputs.w_q,
        "attention.w_k": inputs.w_k,
        "attention.w_v": inputs.w_v,
        "attention.w_o": inputs.w_o,
        "ffn.w_in": inputs.w_in,
        "ffn.w_out": inputs.w_out,
    }
    state = {f"{name}.weight": torch.tensor(rows, dtype=torch.float64).T for name, rows in weights.items()}
    vectors = {
        "ffn.w_in.bias": inputs.b_in,
        "ffn.w_out.bias": inputs.b_out,
        "attention_norm.weight": inputs.attention_gain,
        "attention_norm.bias": inputs.attention_shift,
        "ffn_norm.weight": inputs.ffn_gain,
        "ffn_norm.bias": inputs.ffn_shift,
    }
    block.load_state_dict(state | {name: torch.tensor(row, dtype=torch.float64) for name, row in vectors.items()})
    x = torch.from_numpy(example.x_position)[None]
    with torch.no_grad():
        output = block(x, encoder.attention_contexts(x, None)[0])[0]
    assert example.output == pytest.approx(output.numpy(), abs=1e-12)


def test_everything_follows_an_edit():
    before, after = compute(Inputs()), compute(Inputs().replace(w_q=np.zeros((4, 4)).tolist()))
    assert after.attention == pytest.approx(np.full((3, 3), 1 / 3))
    assert np.abs(after.output - before.output).max() > 1e-3
    assert compute(Inputs().replace(scaled=False)).scale == 1.0
    assert before.scale == 0.5
    assert before.attention.sum(axis=1) == pytest.approx(1)


def test_the_intermediate_results_fit_together():
    example = compute(Inputs())
    assert example.dots == pytest.approx(example.q @ example.k.T)
    assert example.attention_sum == pytest.approx(example.x_position + example.attention_output)
    assert example.attention_norm.normalised.mean(axis=1) == pytest.approx(0, abs=1e-12)
    assert (example.hidden >= 0).all()
    assert (example.hidden == 0).any()
    assert len({round(float(value), 9) for value in example.output.ravel()}) == 12


def test_other_sizes():
    inputs = Inputs().replace(
        words=["a", "b"],
        embeddings=np.ones((2, 4)),
        positions="formula",
        w_in=np.ones((4, 3)),
        b_in=[0, 0, 0],
        w_out=np.ones((3, 4)),
    )
    assert compute(inputs).hidden.shape == (2, 3)
    assert hash(inputs) == hash(inputs.replace())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"w_k": ((1.0, 2.0),)}, "W_K: 1 × 2 .*4 × 4"),
        ({"embeddings": ((0.1, None, 0.3, 0.4),) * 3}, "embeddings: .*cell"),
        ({"embeddings": ((0.1, float("inf"), 0.3, 0.4),) * 3}, "embeddings: .*cell"),
        ({"w_v": (("x",) * 4,) * 4}, r"W_V: .*\bnumber\b"),
        ({"embeddings": ((0.1, 0.2),)}, "W_Q: 4 × 4 .*2 × 2"),
        ({"positions": "own", "position_rows": ((1.0,) * 4,)}, r"positions\b.* 1 rows of 4\b"),
        ({"eps": -1.0}, "eps=-1.0"),
        ({"embeddings": ()}, "at least one row"),
        ({"positions": "rotary"}, "choose notes, formula or own"),
        ({"norm_placement": "both"}, "choose post or pre"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict, message: str):
    with pytest.raises(EncoderError, match=message):
        compute(Inputs().replace(**changes))
