from __future__ import annotations

import statistics

import pytest
import torch
import torch.nn.functional as F

from benchmarks import gradients as benchmark
from encoder.errors import ConfigError, EncoderError
from encoder.model.encoder import Encoder
from encoder.train import gradients
from encoder.train.gradients import Measurement, Setting

SMALL = Setting(d_model=64, vocab_size=200, n_rows=16, n_tokens=8)


def test_the_theory_in_a_small_setting():
    found = list(gradients.measure_all((4, 8, 16), range(3), SMALL))
    pre, post = (gradients.fit_slope(found, placement) for placement in ("pre", "post"))
    assert pre is not None
    assert post is not None
    assert -0.65 < pre < -0.3
    assert -0.2 < post < 0.2
    frame = gradients.to_frame(found)
    means = frame.groupby(["placement", "layer"])[["squared_norm", "lower", "upper"]].mean()
    assert means.loc["pre"].squared_norm.between(means.loc["pre"].lower, means.loc["pre"].upper).all()
    assert means.loc["post"].squared_norm.between(1.2, 1.8).all()
    # In post-norm the gradient grows towards the output, in pre-norm it hardly does (the paper's figure 3).
    deepest = [entry for entry in found if entry.depth == 16]
    growth = {
        placement: statistics.mean(
            e.gradient_norms[-1] / e.gradient_norms[0] for e in deepest if e.placement == placement
        )
        for placement in ("pre", "post")
    }
    assert growth["post"] > 2 * growth["pre"]


@pytest.mark.slow("measures three seeds at every depth")
def test_the_benchmark_is_in_its_expected_ranges():
    result = benchmark.run(gradients.DEPTHS, (0, 1, 2), Setting(), quiet=True)
    assert result["ok"] == {
        "pre slope": True,
        "post slope": True,
        "post squared norm": True,
        "pre squared norm": True,
    }


def test_the_gradient_is_that_of_the_loss():
    """Against finite differences of the loss along the gradient's own direction, in another code path."""
    setting = Setting(d_model=16, vocab_size=30, n_rows=4, n_tokens=6)
    entry = gradients.measure(2, "pre", 5, setting)
    encoder = Encoder(setting.config(2, "pre"), seed=5)
    gradients.silence_queries_and_keys(encoder)
    generator = torch.Generator().manual_seed(5 + 1_000_003)
    words = torch.randint(1, 30, (4, 6), generator=generator)
    hidden = torch.rand((4, 6), generator=generator) < gradients.MASK_SHARE
    hidden[0, 0] = True
    table = torch.randn(30, 16, generator=generator) * (2 / 46) ** 0.5

    def loss() -> torch.Tensor:
        return F.cross_entropy(encoder(words.masked_fill(hidden, 0))[hidden] @ table.T, words[hidden])

    assert float(loss().detach()) == pytest.approx(entry.loss, rel=1e-5)
    weight = encoder.block(1).ffn.w_out.weight
    direction = torch.autograd.grad(loss(), weight)[0]
    direction = direction / direction.norm()
    losses = []
    for sign in (1, -1):
        with torch.no_grad():
            weight.add_(direction, alpha=sign * 1e-2)
            losses.append(float(loss()))
            weight.sub_(direction, alpha=sign * 1e-2)
    assert (losses[0] - losses[1]) / 2e-2 == pytest.approx(entry.last_gradient_norm, rel=1e-2)


def test_attention_is_uniform_in_the_theory_alone():
    assert Setting().is_theory
    assert not Setting(uniform_attention=False).is_theory
    assert not Setting(n_heads=4).is_theory
    uniform, free = (
        gradients.measure(2, "post", 0, Setting(d_model=16, uniform_attention=flag)).gradient_norms
        for flag in (True, False)
    )
    assert uniform != free


def test_measurements_come_one_by_one_and_the_cheapest_first():
    found = gradients.measure_all((3, 1), (0,), SMALL)
    for depth in (1, 1, 3):
        entry = next(found)
        assert len(entry.gradient_norms) == len(entry.squared_norms) == entry.depth == depth
    assert len(gradients.cases((3, 1), (0,))) == 4


def test_the_same_seed_gives_the_same_figures():
    assert gradients.measure(2, "pre", 1, SMALL) == gradients.measure(2, "pre", 1, SMALL)
    assert gradients.measure(2, "pre", 1, SMALL).loss != gradients.measure(2, "pre", 2, SMALL).loss


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 0.7])
def test_the_slope_of_a_power_law_is_its_exponent(exponent: float):
    law = [Measurement(d, "pre", s, (0.0, 3.0 * d**exponent), (1.0, 1.0), 0.0) for d in (2, 5, 11) for s in (0, 1)]
    assert gradients.fit_slope(law, "pre") == pytest.approx(exponent, abs=1e-9)
    assert gradients.fit_slope(law, "post") is None
    assert gradients.fit_slope(law[:2], "pre") is None  # one depth has no slope


def test_the_bounds_as_numbers():
    assert gradients.lemma_bounds(0, "pre") == (1.5, 2.5)
    assert gradients.lemma_bounds(23, "pre") == (13.0, 37.0)
    assert gradients.lemma_bounds(5, "post") == (1.5, 1.5)
    assert gradients.theorem_line((6, 24), "pre", 256, 0.4) == pytest.approx((0.4, 0.2))
    assert gradients.theorem_line((6, 24), "post", 256, 0.4) == pytest.approx((0.4, 0.4))


def test_impossible_depths_and_widths_are_refused():
    with pytest.raises(EncoderError, match="depth=0"):
        next(gradients.measure_all((0,), (0,), SMALL))
    with pytest.raises(ConfigError, match="cannot be split"):
        gradients.measure(1, "pre", 0, Setting(d_model=30, n_heads=4))
    assert gradients.to_frame([]).empty
