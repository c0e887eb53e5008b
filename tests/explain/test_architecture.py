"""The blocks of the diagram: their parameters are the model's, their shapes the tensors', their FLOPs torch's."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from encoder import EncoderConfig, EncoderError, Patches, TextEncoder, explain
from encoder.explain import cost as costs
from encoder.explain import timing
from encoder.explain.architecture import architecture
from encoder.model.encoder import Encoder
from tests.explain.conftest import SCRATCH, TEXT, model_of

BASE = {"vocab_size": 37, "d_model": 24, "n_layers": 3, "n_heads": 3, "d_ffn": 40, "max_positions": 29}
MORE = {
    "pooler": {"pooler": True},
    "no biases of q, k, v": {"qkv_bias": False, "norm_bias": False},
    "two groups": {"layer_groups": 2, "norm_placement": "pre"},
    "images": {"vocab_size": 0, "patches": Patches(12, 4), "norm_placement": "pre", "embedding_norm": False},
    "no embedding norm, narrow": {"embedding_norm": False, "embedding_width": 10},
}
CONFIGS = {name: EncoderConfig(**(BASE | changes)) for name, changes in (SCRATCH | MORE).items()}


@pytest.mark.parametrize("name", CONFIGS)
def test_parameters_are_the_models(name: str):
    config = CONFIGS[name]
    drawn = architecture(config, 7)
    model = Encoder(config, seed=0)
    assert drawn.n_parameters == sum(parameter.numel() for parameter in model.parameters())
    assert sum(block.parameters for block in drawn.blocks) == drawn.n_parameters
    assert sum(block.share for block in drawn.blocks) == pytest.approx(1)


def test_minilm_has_its_parameters(minilm: TextEncoder):
    assert architecture(minilm.config, 9).n_parameters == minilm.n_parameters == 22_713_216


@pytest.mark.parametrize("name", CONFIGS)
def test_the_drawing_holds_together(name: str):
    config = CONFIGS[name]
    drawn = architecture(config, 7)
    keys = [block.key for block in drawn.blocks]
    assert len(keys) == len(set(keys))
    order = {key: place for place, key in enumerate(keys)}
    for edge in drawn.edges:
        assert order[edge.source] < order[edge.target]
    fed = {edge.target for edge in drawn.edges}
    starts = set(keys) - fed
    assert starts <= {"tokens", "embedding.position"}
    residuals = [edge for edge in drawn.edges if edge.residual]
    assert len(residuals) == 2 * config.n_layers
    for block in drawn.blocks:
        assert block.step is None or block.step in {step.key for step in explain.STEPS}
        assert block.flops >= 0
        assert block.memory > 0
        for edge in drawn.edges:
            if edge.target == block.key and not edge.residual and block.kind in ("norm", "output"):
                assert drawn[edge.source].outputs == block.inputs


@pytest.mark.parametrize(("placement", "kinds"), [("pre", ["norm", "q"]), ("post", ["q", "k"])])
def test_the_norms_move(placement: str, kinds: list[str]):
    drawn = architecture(EncoderConfig(**(BASE | {"norm_placement": placement})), 7)
    layer = [block.kind for block in drawn.of_layer(1)]
    assert layer[:2] == kinds
    assert layer[-1] == ("add" if placement == "pre" else "norm")
    assert ("final_norm" in {block.key for block in drawn.blocks}) == (placement == "pre")
    edges = {(edge.source, edge.target) for edge in drawn.edges if edge.residual}
    start = "layers.0.ffn_add" if placement == "pre" else "layers.0.ffn_norm"
    assert (start, "layers.1.attention_add") in edges


def test_shared_layers_are_counted_once():
    drawn = architecture(CONFIGS["two groups"], 7)
    by_layer = [sum(block.parameters for block in drawn.of_layer(layer)) for layer in range(3)]
    assert by_layer[0] == by_layer[2] > 0
    assert by_layer[1] == 0
    assert {block.shared_with for block in drawn.of_layer(1) if block.kind in ("q", "norm", "ffn")} == {0}


def test_what_is_drawn_follows_the_config():
    def details(**changes) -> str:
        return " ".join(block.detail for block in architecture(EncoderConfig(**(BASE | changes)), 7).blocks)

    assert "ReLU" in details(activation="relu")
    assert "× x W_gate" in details(gated=True)
    assert "sines and cosines" in details(position="sinusoidal")
    assert "turned by position" in details(position="rotary")
    assert "causal mask" in details(causal=True)
    assert "5 tokens each way" in details(attention_window=5)
    assert "bias by offset" in details(relative_buckets=8)


@pytest.mark.parametrize("name", ["minilm", *SCRATCH])
def test_every_block_opens_a_tensor_of_its_shape(name: str):
    model = model_of(name)
    trace = model.trace(TEXT)
    drawn = architecture(model.config, trace.n_tokens)
    for block in drawn.blocks:
        if block.opens is None:
            continue
        opened = explain.tensor(trace, block.opens, head=1)
        width = block.outputs[-1][1]
        rows = 1 if block.opens == "pooled" else trace.n_tokens
        assert opened.values.shape == (rows, width), block.key
        assert (opened.head is not None) == (block.outputs[0][0] == "H")
        assert opened.columns == ("keys" if block.outputs[-1][0] == "T" else "components")


def test_derived_tensors_are_right(minilm: TextEncoder):
    trace = minilm.trace(TEXT)
    same = torch.testing.assert_close
    update = explain.tensor(trace, "layers.3.attention_out").values
    total = torch.tensor(update) + trace.values["layers.2.after_ffn"]
    same(total, trace.values["layers.3.attention_norm.input"], atol=1e-4, rtol=1e-4)
    update = explain.tensor(trace, "layers.3.ffn_out").values
    total = torch.tensor(update) + trace.values["layers.3.after_attention"]
    same(total, trace.values["layers.3.ffn_norm.input"], atol=1e-4, rtol=1e-4)
    recorded = minilm.trace(TEXT, request=("attention_out", "ffn_out", "ffn.hidden"))
    for name in ("attention_out", "ffn_out", "ffn.hidden"):
        computed = explain.tensor(trace, f"layers.3.{name}").values
        same(torch.tensor(computed), recorded.values[f"layers.3.{name}"], atol=1e-4, rtol=1e-4)
        assert (
            explain.tensor(recorded, f"layers.3.{name}").values == recorded.values[f"layers.3.{name}"].numpy()
        ).all()
    rows = explain.tensor(trace, "layers.3.attention", head=5, rows=slice(2, 6))
    same(torch.tensor(rows.values), trace.attention(3, 5)[2:6], atol=1e-6, rtol=1e-5)
    assert rows.first == 2
    with pytest.raises(EncoderError, match=r"No tensor .layers"):
        explain.tensor(trace, "layers.0.nothing")
    with pytest.raises(EncoderError, match="No layer 77"):
        explain.tensor(trace, "layers.77.q")


# --- cost -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["minilm", "post, rotary, gated SiLU", "post, shared layers, narrow tables"])
def test_flops_are_torchs_own_count(name: str):
    """torch counts matrix products; the explicit path has them all as such."""
    model = model_of(name)
    sentence = model.tokenize(TEXT)
    with FlopCounterMode(display=False) as counter:
        model.trace_tokens(sentence, request=("scores",))
    cost = costs.cost(model.config, len(sentence), model.n_parameters)
    pooler = 2 * model.config.d_model**2 if model.config.pooler else 0  # loaded, and not run by a trace
    counted = cost.around - pooler + model.config.n_layers * (cost.products(1) + cost.products(2))
    assert counted == counter.get_total_flops()


@pytest.mark.parametrize("name", ["minilm", "post, rotary, gated SiLU"])
def test_blocks_and_parts_cost_the_same(name: str):
    config = model_of(name).config
    blocks = sum(block.flops for block in architecture(config, 11).of_layer(1))
    assert blocks == sum(part.flops for part in costs.layer_parts(config, 11))


def test_where_n_squared_overtakes():
    minilm = EncoderConfig(vocab_size=10, d_model=384, n_layers=6, n_heads=12, d_ffn=1536)
    crossing = costs.crossover(minilm)
    assert crossing.n_tokens == 2304
    assert "6 D" in crossing.formula
    assert "2{,}304" in crossing.numbers
    below, above = (costs.curve(minilm, [n]) for n in (2303, 2305))
    assert below["quadratic"] < below["linear"]
    assert above["quadratic"] > above["linear"]


@pytest.mark.parametrize("changes", [{}, {"gated": True}, {"d_head": 5}, {"d_ffn": 96}])
def test_crossover_in_general(changes: dict):
    config = EncoderConfig(**(BASE | changes))
    n = costs.crossover(config).n_tokens
    lengths = [1000]
    linear, quadratic = (costs.curve(config, lengths)[name][0] for name in ("linear", "quadratic"))
    assert n == pytest.approx(1000 * linear / quadratic)


def test_formulas_give_their_values():
    for part in costs.layer_parts(CONFIGS["post, rotary, gated SiLU"], 13):
        assert eval_latex(part.work.numbers) == part.flops
        assert eval_latex(part.memory.numbers) == part.bytes
        assert part.power == (2 if "n^{2}" in part.work.symbols else 1)


def eval_latex(numbers: str) -> int:
    """The value of "4 \\cdot 9^{2} \\cdot 1{,}536"."""
    product = 1
    for factor in numbers.replace("{,}", "").split(r" \cdot "):
        base, _, power = factor.partition("^")
        product *= int(base) ** int(power.strip("{}") or 1)
    return product


def test_memory_of_the_whole(minilm: TextEncoder):
    cost = costs.cost(minilm.config, 128, minilm.n_parameters)
    assert cost.weights == 4 * 22_713_216
    assert cost.maps == 4 * 6 * 12 * 128**2
    trace = minilm.trace(TEXT)
    cost = costs.cost(minilm.config, trace.n_tokens, minilm.n_parameters)
    assert cost.stream == sum(tensor.numel() * 4 for tensor in trace.residual.values())


def test_measured_curve(build):
    encoder = build(position="rotary").encoder
    lengths = (8, 16, 32)
    timings = list(timing.time_layer(encoder, lengths))
    assert [one.n_tokens for one in timings] == list(lengths)
    assert [one.done for one in timings] == [1, 2, 3]
    assert all(one.layer > 0 and one.between > 0 and one.rest >= 0 for one in timings)
    fitted = timing.fit(encoder.config, timings)
    assert fitted.seconds.shape == (3,)
    assert fitted.linear > 0 < fitted.quadratic


def test_measuring_stops_when_nobody_asks(build):
    measuring = timing.time_layer(build().encoder, (8, 10**9))
    assert next(measuring).n_tokens == 8
    measuring.close()


def test_lengths(minilm: TextEncoder):
    lengths = timing.default_lengths(minilm.config)
    assert lengths[0] == 64
    assert 2304 < lengths[-1] < 2 * 2304
    with pytest.raises(EncoderError, match="at least 1 token"):
        list(timing.time_layer(minilm.encoder, [0]))
    with pytest.raises(EncoderError, match="Nothing was measured"):
        timing.fit(minilm.config, [])


def test_fit_gives_back_what_the_formula_made():
    """Times made from known speeds: the fit finds the speeds, and the crossing where the formula says."""
    config = EncoderConfig(vocab_size=10, d_model=384, n_layers=6, n_heads=12, d_ffn=1536)
    lengths = [256, 512, 1024, 2048, 4096]
    flops = costs.curve(config, lengths)
    timings = [
        timing.Timing(n, (linear + quadratic) / 1e9, quadratic / 1e9, 1, 5)
        for n, linear, quadratic in zip(lengths, flops["linear"], flops["quadratic"], strict=True)
    ]
    fitted = timing.fit(config, timings)
    assert fitted.linear == pytest.approx(1e9)
    assert fitted.quadratic == pytest.approx(1e9)
    assert fitted.crossover == pytest.approx(2304, rel=1e-3)
    assert timing.fit(config, timings[:2]).crossover is None
