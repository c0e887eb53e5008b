"""The switches of the block: each trains, is saved, opens as an encoder, and explains itself."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from encoder import explain
from encoder.errors import ConfigError
from encoder.train import blocks, single_file
from encoder.train.loop import TaskRun, sink_numbers
from encoder.train.settings import ATTENTION, REGISTERS, TaskSettings

SHORT = TaskSettings(length=6, n_symbols=4, n_layers=2, n_heads=4, d_model=16, steps=3, warmup_steps=0, frames=2)
EVERYTHING = {
    **{name: preset.settings(SHORT) for name, preset in blocks.PRESETS.items()},
    **{part: dataclasses.replace(SHORT, attention=part) for part in ATTENTION.values()},
    "ALiBi": dataclasses.replace(SHORT, position="alibi"),
}


@pytest.mark.sample(4, "trains another block")
@pytest.mark.parametrize("name", EVERYTHING)
def test_a_block_trains_is_saved_and_explains_itself(name: str):
    settings = EVERYTHING[name]
    run = TaskRun(settings)
    run.run_here()
    view = run.poll()
    assert view.status == "done"
    frame, tokens = view.frames[-1], SHORT.length + settings.registers
    assert frame.sample.shape == (2, 4, SHORT.length, SHORT.length)
    assert frame.sinks.shape == (2, 4, 5)
    assert ((frame.sinks[..., 0] >= 0) & (frame.sinks[..., 0] < tokens)).all()
    assert ((frame.sinks[..., 3] >= 1) & (frame.sinks[..., 3] <= tokens)).all()
    assert ((frame.sinks[..., 4] >= 1 - 1e-4) & (frame.sinks[..., 4] <= 4 + 1e-4)).all()  # heads of width 4
    again = single_file.from_bytes(single_file.to_bytes(run.snapshot()))
    assert torch.equal(again.predict(run.inputs), run.snapshot().predict(run.inputs))
    trace = again.text_encoder.trace(run.task.text(run.inputs[0]))
    assert trace.n_tokens == tokens
    np.testing.assert_allclose(
        trace.layer_attention(1)[:, settings.registers :, settings.registers :].numpy(), frame.sample[1], atol=1e-5
    )
    assert explain.chain(trace, np.float64).largest <= 1e-4


def test_registers_come_before_the_sequence():
    trace = TaskRun(dataclasses.replace(SHORT, attention="registers")).text_encoder().trace("0 1 2 3 0 1")
    assert trace.tokens[:REGISTERS] == ("[REG0]", "[REG1]")


def test_a_part_that_nobody_knows():
    with pytest.raises(ConfigError, match="attention='mixer'"):
        dataclasses.replace(SHORT, attention="mixer")


def test_another_trial_has_other_weights_and_the_same_held_out_sequences():
    first, second = (TaskRun(dataclasses.replace(SHORT, trial=trial)) for trial in (0, 1))
    assert torch.equal(first.inputs, second.inputs)
    assert not torch.equal(first.snapshot().model.head.weight, second.snapshot().model.head.weight)


def test_the_numbers_of_a_sink():
    run = TaskRun(SHORT)
    attention = run.snapshot().model.encoder.block(0).attention
    pattern, v = torch.zeros(2, 4, 6, 6), torch.ones(2, 4, 6, 4)
    pattern[..., 2] = 1.0  # every head attends to token 2
    v[:, :, 2] = 0.0  # and takes nothing from it
    found = sink_numbers(pattern, attention, v)
    assert found.tolist() == [[2.0, 1.0, 0.0, 6.0, 0.0]] * 4
    v[:, :, 2] = 3.0  # it adds the same vector to every token
    assert sink_numbers(pattern, attention, v)[:, 4].tolist() == pytest.approx([1.0] * 4, abs=1e-4)
    w_o = attention.w_o.weight.view(-1, 4, 4)
    v = torch.randn(2, 4, 6, 4, generator=torch.Generator().manual_seed(0))
    pattern, gate = pattern.normal_(generator=torch.Generator().manual_seed(1)).softmax(-1), torch.rand(2, 4, 6, 1)
    added = torch.einsum("bhtk,dhk->bhtd", pattern @ v * gate, w_o).detach()
    squares = torch.linalg.svdvals(added).square()
    expected = (squares.sum(-1).square() / squares.square().sum(-1)).mean(0)
    torch.testing.assert_close(sink_numbers(pattern, attention, v, gate)[:, 4].detach(), expected)


def test_the_interval_is_students():
    found = blocks.Interval.of([0.1, 0.2, 0.3, 0.4, 0.5])
    assert (found.mean, found.n) == (pytest.approx(0.3), 5)
    assert found.half == pytest.approx(2.776 * np.std([0.1, 0.2, 0.3, 0.4, 0.5], ddof=1) / 5**0.5)


def test_the_recorded_comparison_is_of_these_presets():
    recorded = blocks.recorded()
    assert set(recorded.accuracy) == set(blocks.TASKS)
    for of_task in recorded.accuracy.values():
        assert list(of_task) == list(blocks.PRESETS)
        assert all(len(values) == blocks.SEEDS for values in of_task.values())
