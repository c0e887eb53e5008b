"""LiLT's two streams: weights are of both, edits of the text's; effects, atlases and scores hold both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import encoder
from encoder import EncoderConfig, explain
from encoder.causal.variants import run_variants
from encoder.corpus.batch import measure_batch
from encoder.corpus.plan import MEASURES
from encoder.edits import AblateHead, SetScore, SetWeight, Zero
from encoder.errors import ConfigError, EncoderError
from encoder.explain.cost import cost, crossover
from encoder.measure.head_measures import head_measures
from encoder.model.boxes import Boxes
from encoder.scores.sides import text_side
from tests.load import every_family
from tests.load.every_family import ALL, boxes_of, ids_of

SEEN = ("layers.1.beside.out", "layers.2.beside.out")


def text_of(length: int, seed: int = 0) -> str:
    return " ".join(f"w{one}" for one in ids_of(length, seed))


@pytest.fixture(scope="module")
def model() -> encoder.TextEncoder:
    return every_family.opened(ALL["lilt"])[1]


@pytest.fixture(scope="module")
def placed(model: encoder.TextEncoder) -> encoder.Trace:
    return model.trace(text_of(18), boxes=boxes_of(18))


@pytest.mark.parametrize("edit", [AblateHead(1, 2), SetWeight(1, 2, 3, 4, 0.9), SetScore(1, 2, 3, 4, 6.0),
                                  Zero("ffn_out", layer=1)], ids=lambda one: type(one).__name__)  # fmt: skip
def test_an_edit_changes_the_stream_of_the_text_only(edit: encoder.Edit, placed: encoder.Trace):
    edited = placed.model.trace_tokens(placed.source, edits=[edit])
    same, later = (torch.allclose(edited.values[name], placed.values[name], atol=1e-4) for name in SEEN)
    assert same
    assert not later  # the next layer's weights are of both streams
    assert not torch.allclose(edited.values["layers.1.after_ffn"], placed.values["layers.1.after_ffn"], atol=1e-2)
    ((_, found),) = run_variants(placed.model, placed, [(edit,)])
    torch.testing.assert_close(found[0], edited.output, atol=1e-5, rtol=0)


def test_the_norms_of_both_streams_move(model: encoder.TextEncoder):
    moved = model.with_norm_placement("pre")
    trace = moved.trace(text_of(18), boxes=boxes_of(18))
    assert explain.chain(trace, np.float64).largest <= 1e-4
    assert not torch.allclose(trace.values[SEEN[0]], model.trace(text_of(18)).values[SEEN[0]], atol=1e-2)


def test_an_atlas_and_a_score_use_the_weights_of_both(model: encoder.TextEncoder):
    texts = [text_of(9), text_of(9, 1)]
    found = measure_batch(model, [model.tokenize(one) for one in texts], (), strong=0.1)
    for numbers, text in zip(found.measures, texts, strict=True):
        alone = head_measures(model.trace(text))
        assert numbers == pytest.approx(np.stack([alone[name] for name in MEASURES]), rel=1e-5, abs=1e-5, nan_ok=True)
    side = text_side(model, text_of(18), 8)
    keep = np.ones((1, len(side)), dtype=bool)
    keep[0, 2] = False
    ((_, outputs, kept),) = side.outputs(keep)
    with torch.no_grad():
        expected = model.encoder.before_layer(3, side.x, kept)
    assert not kept.all()
    torch.testing.assert_close(outputs[kept], expected[kept], atol=1e-5, rtol=0)


def test_the_model_says_which_stream_is_shown(tmp_path: Path):
    case = ALL["lilt"]
    model = encoder.load(every_family.write(case, case.make(), tmp_path / "model"), device="cpu")
    saved = encoder.load(encoder.save(model, tmp_path / "saved"), device="cpu")
    for one in (model, saved):
        assert sum("second residual stream" in note for note in one.notes) == 1
    with pytest.raises(EncoderError, match=r"embedding\.places"):
        model.trace("w5", edits=[Zero("embedding.places")])


def test_the_cost_has_both_streams(model: encoder.TextEncoder):
    crossing = crossover(model.config).n_tokens
    at_length = cost(model.config, round(crossing), 0)
    assert at_length.products(1) == pytest.approx(at_length.products(2), rel=0.5 / crossing)
    ids = torch.tensor([ids_of(50, 0)])
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        model.encoder(ids, places=torch.tensor([boxes_of(50)]))
    found = cost(model.config, 50, 0)
    products = model.config.n_layers * (found.products(1) + found.products(2))
    assert counter.get_total_flops() == products + 2 * 50 * 96 * 24  # the boxes' projection; no pooler ran


@pytest.mark.parametrize(
    ("places", "fields"),
    [
        (Boxes(9, joined=3, shrink=4), {}),  # 22 neurons
        (Boxes(9, joined=3, shrink=2), {"position": "rotary"}),
        (Boxes(9, joined=3, shrink=2), {"attention_sinks": True}),
        (Boxes(9, joined=3, shrink=2), {"adapter": 5}),
    ],
)
def test_layers_that_a_stream_of_boxes_does_not_fit(places: Boxes, fields: dict[str, object]):
    sizes = {"vocab_size": 9, "d_model": 16, "n_layers": 2, "n_heads": 4, "d_ffn": 22, "max_positions": 9}
    with pytest.raises(ConfigError):
        EncoderConfig(**{**sizes, **fields}, places=places)
