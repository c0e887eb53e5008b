"""Attribution with full Jacobians in double precision: D backward passes for each point, and none of the engine's
derivatives. The blocks are the model's own, with torch's kernels and torch's autograd."""

import copy
import dataclasses

import numpy as np
import torch
from torch import Tensor

from encoder import TextEncoder
from encoder.inputs.text import Tokenized


def in_double(model: TextEncoder) -> TextEncoder:
    """A copy in float64."""
    dense = tuple(copy.deepcopy(part).double() for part in model.dense)
    return dataclasses.replace(model, encoder=copy.deepcopy(model.encoder).double(), dense=dense)


def embedded(model: TextEncoder, ids: list[int]) -> Tensor:
    """The embeddings [T, D], every token at the position that a real token has."""
    part, config = model.encoder.embedding, model.config
    x = part.tokens(torch.tensor(ids))
    if part.segments is not None:
        x = x + part.segments(torch.tensor(0))
    if config.position == "sinusoidal":
        x = x + part.positions(torch.zeros(1, len(ids), dtype=torch.long), None, len(ids))
    elif config.position == "learned":
        x = x + part.positions.table(torch.arange(len(ids)) + config.position_offset)
    if part.norm is not None:
        x = part.norm(x)
    return x if part.projection is None else part.projection(x)


def run(model: TextEncoder, x: Tensor, first: int, last: int) -> Tensor:
    """x [T, D] through the layers first, ..., last - 1, and through the final norm where that is all of them."""
    encoder, n_layers = model.encoder, model.config.n_layers
    x = x.unsqueeze(0)
    for context in encoder.attention_contexts(x, None)[first:last]:
        x = encoder.block(context.layer)(x, context)
    if encoder.final_norm is not None and last == n_layers and not first == last == n_layers:
        x = encoder.final_norm(x)
    return x[0]


def vector(model: TextEncoder, x: Tensor, layer: int) -> Tensor:
    """The sentence vector of norm 1, [E], from x [T, D] before `layer`."""
    output = run(model, x, layer, model.config.n_layers).unsqueeze(0)
    pooled = model.pool(output, torch.ones(output.shape[:2], dtype=torch.bool))[0]
    return pooled / pooled.norm()


def attributed(model: TextEncoder, a: str, b: str, layer: int, steps: int, reference: str) -> np.ndarray:
    """[T_a, T_b], with the Gauss-Legendre points that the engine takes for `steps`."""
    model = in_double(model)
    parts = [integrated(model, model.tokenize(text), layer, steps, reference) for text in (a, b)]
    return (parts[0] @ parts[1].T).numpy()


def integrated(model: TextEncoder, sentence: Tokenized, layer: int, steps: int, reference: str) -> Tensor:
    """(mean Jacobian) (x_i - r_i) for each token: [T, E]."""
    pad = model.tokenizer.pad_id
    replaced = [kept if special else pad for kept, special in zip(sentence.ids, sentence.special, strict=True)]
    with torch.no_grad():
        x = run(model, embedded(model, list(sentence.ids)), 0, layer)
        start = run(model, embedded(model, replaced), 0, layer) if reference == "pad" else torch.zeros_like(x)
    points, weights = np.polynomial.legendre.leggauss(steps)
    jacobian = sum(
        weight / 2 * torch.autograd.functional.jacobian(lambda y: vector(model, y, layer), start + at * (x - start))
        for at, weight in zip((points + 1) / 2, weights, strict=True)
    )  # [E, T, D]
    return torch.einsum("etd,td->te", jacobian, x - start)
