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
    """x [B, T, D] through the layers first, ..., last - 1, and through the final norm where that is all of them."""
    encoder, n_layers = model.encoder, model.config.n_layers
    for context in encoder.attention_contexts(x, None)[first:last]:
        x = encoder.block(context.layer)(x, context)
    if encoder.final_norm is not None and last == n_layers and not first == last == n_layers:
        x = encoder.final_norm(x)
    return x


def vector(model: TextEncoder, x: Tensor, layer: int) -> Tensor:
    """The sentence vectors of norm 1, [B, E], from x [B, T, D] before `layer`."""
    output = run(model, x, layer, model.config.n_layers)
    pooled = model.pool(output, torch.ones(output.shape[:2], dtype=torch.bool))
    return pooled / pooled.norm(dim=-1, keepdim=True)


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
        x = run(model, embedded(model, list(sentence.ids))[None], 0, layer)
        start = run(model, embedded(model, replaced)[None], 0, layer) if reference == "pad" else torch.zeros_like(x)
    points, weights = (torch.from_numpy(numbers)[:, None, None] for numbers in np.polynomial.legendre.leggauss(steps))
    at = (start + (points + 1) / 2 * (x - start)).requires_grad_()  # [B, T, D], each point a row of its own
    vectors = vector(model, at, layer)
    rows = [torch.autograd.grad(of_all, at, retain_graph=True)[0] for of_all in vectors.sum(0)]  # E times [B, T, D]
    jacobian = torch.stack([(weights / 2 * row).sum(0) for row in rows])  # [E, T, D]
    return torch.einsum("etd,td->te", jacobian, (x - start)[0])
