"""The derivative through learned sinks and gated outputs is autograd's."""

from __future__ import annotations

import torch

from encoder.similarity import derivative
from tests.engine.conftest import tiny


def test_sinks_and_gates_have_the_derivative_of_autograd():
    model = tiny(attention_sinks=True, output_gate=True, norm_placement="pre")
    x = model.trace("the cat sat on a mat").values["embedding"][None].clone()
    context = model.encoder.attention_contexts(x, None)[1]
    block = model.encoder.block(1)
    direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        value, tangent = derivative.derivative(lambda y: block(y, context), x)
    expected, change = torch.autograd.functional.jvp(lambda y: block(y, context), x, direction)
    torch.testing.assert_close(value, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(tangent(direction), change, atol=1e-4, rtol=1e-4)
