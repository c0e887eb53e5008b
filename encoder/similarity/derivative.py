"""The derivative of the sentence vector at one point, in any number of directions.

Of y = f(x), autograd gives J^T w for any w. That is linear in w, so its derivative by w in the direction d is J d: two
backward graphs make one forward derivative. torch has forward mode too, but its levels belong to the whole process: a
thread that leaves one clears the tangents of every other thread.

Shapes: N points, C directions (N is 1, or N = C: one direction for each point), T tokens, D d_model, E width of the
sentence vector.
"""

import dataclasses
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from encoder.encoders.text import TextEncoder
from encoder.model.hooks import visiting

#: A derivative: directions [C, T, D] -> their images [C, E].
Tangent = Callable[[Tensor], Tensor]


class _Explicit:
    """A visitor for which every layer computes its scores: torch's fused attention has no second derivative."""

    def visit(self, name: str, layer: int | None, value: Tensor) -> Tensor:
        return value

    def needs_scores(self, layer: int) -> bool:
        return True


def linearise(model: TextEncoder, x: Tensor, layer: int) -> tuple[Tensor, Tangent]:
    """The sentence vector of norm 1, [N, E], from the residual stream x [N, T, D] before `layer`, and its derivative.

    layer = n_layers: x is the output, after the final LayerNorm. No token is padding.
    """
    encoder = model.encoder

    def unit_vector(x: Tensor) -> Tensor:
        for context in encoder.attention_contexts(x, None)[layer:]:
            x = encoder.block(context.layer)(x, context)
        pooled = _pooled(model, x if layer == model.config.n_layers else encoder.finish(x))
        return torch.nn.functional.normalize(pooled, dim=-1)

    return derivative(unit_vector, x)


def linearise_pooling(model: TextEncoder, x: Tensor) -> tuple[Tensor, Tangent]:
    """The same for pooling and the dense layers after it, from the output, without the scaling to norm 1."""
    return derivative(partial(_pooled, model), x)


def derivative(f: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tangent]:
    """f(x), and the derivative of f there as a function of directions."""
    with torch.enable_grad(), visiting(_Explicit()):
        x = x.detach().requires_grad_()
        y = f(x)
        w = torch.zeros_like(y, requires_grad=True)
        (pulled,) = torch.autograd.grad(y, x, w, create_graph=True)  # J^T w, [N, T, D]

    def tangent(d: Tensor) -> Tensor:
        def image(d: Tensor) -> Tensor:
            return torch.autograd.grad(pulled, w, d, retain_graph=True)[0]

        if len(d) == len(x):  # a direction for each point
            return image(d)
        images: Tensor = torch.func.vmap(image)(d.unsqueeze(1))[:, 0]  # all directions at one point
        return images

    return y.detach(), tangent


def _pooled(model: TextEncoder, output: Tensor) -> Tensor:
    """[N, T, D] -> [N, E], without the model's own scaling to norm 1."""
    mask = torch.ones(output.shape[:2], dtype=torch.bool, device=output.device)
    return dataclasses.replace(model, normalise=False).pool(output, mask)
