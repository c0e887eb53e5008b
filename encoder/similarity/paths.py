"""The path from a reference to a text, and the integral of the derivative over it, in bounded memory.

Shapes: T tokens, C directions, N points of the path, D d_model, E width of the sentence vector.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.inputs.text import Tokenized
from encoder.model.device import explain_out_of_memory
from encoder.model.hooks import visiting
from encoder.similarity.derivative import linearise

Reference = Literal["pad", "zero"]
REFERENCES: tuple[Reference, ...] = get_args(Reference)

#: The largest tensor of a chunk of directions has about this many numbers.
CHUNK_NUMBERS = 1_500_000


@dataclass(frozen=True, eq=False)
class Path:
    """One text: its tokens, start r and end x [1, T, D], and the vectors of norm 1 at both, float64 [E]."""

    sentence: Tokenized
    start: Tensor
    end: Tensor
    start_vector: Tensor
    end_vector: Tensor

    @property
    def change(self) -> Tensor:
        """What an exact integral over the path gives: [E]."""
        return self.end_vector - self.start_vector


class _OtherTokens:
    """A visitor that replaces the vectors of the token table; positions and segments stay."""

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors

    def visit(self, name: str, layer: int | None, value: Tensor) -> Tensor:
        return self.vectors if name == "embedding.tokens" else value

    def needs_scores(self, layer: int) -> bool:
        return False


def _run(model: TextEncoder, sentence: Tokenized, layer: int, token_ids: Tensor) -> Tensor:
    """The vectors before `layer` [1, T, D] of a text whose tokens are replaced by `token_ids` [1, T]."""
    encoder = model.encoder
    batch = model.tokenizer.batch([sentence], model.device)
    with explain_out_of_memory(model.device, len(sentence)), torch.no_grad():
        with visiting(_OtherTokens(encoder.embedding.tokens(token_ids))):
            x: Tensor = encoder.embedding(batch.ids, None, batch.segments, places=batch.places)
        return encoder.before_layer(layer, x, places=batch.places)


def vectors_before(model: TextEncoder, sentence: Tokenized, layer: int) -> Tensor:
    """A text's vectors before `layer`, of n_layers the output: [1, T, D]."""
    return _run(model, sentence, layer, torch.tensor([sentence.ids], device=model.device))


def reference_before(model: TextEncoder, sentence: Tokenized, layer: int, reference: Reference) -> Tensor:
    """A reference's vectors before `layer`: [1, T, D]."""
    if reference == "zero":
        return torch.zeros_like(vectors_before(model, sentence, layer))
    pad = model.tokenizer.pad_id
    ids = [kept if special else pad for kept, special in zip(sentence.ids, sentence.special, strict=True)]
    return _run(model, sentence, layer, torch.tensor([ids], device=model.device))


def make_path(model: TextEncoder, sentence: Tokenized, layer: int, reference: Reference) -> Path:
    end, start = vectors_before(model, sentence, layer), reference_before(model, sentence, layer, reference)
    with explain_out_of_memory(model.device, len(sentence)), torch.no_grad():
        vectors = [linearise(model, x, layer)[0][0].cpu().double() for x in (start, end)]
    for vector, name in zip(vectors, ("reference", "text"), strict=True):
        if not bool(vector.isfinite().all()):
            raise EncoderError(f"The sentence vector of the {name} has no direction: choose another text or reference.")
    return Path(sentence, start, end, vectors[0], vectors[1])


# --- the integral -----------------------------------------------------------------------------------------------------


def nodes(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre points in 0 to 1 and their weights, which sum to 1: two arrays [steps]."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    return (points + 1) / 2, weights / 2


def integrate_whole(model: TextEncoder, path: Path, layer: int, steps: int) -> Tensor:
    """The integral in the direction x - r: float64 [E]."""
    direction = path.end - path.start
    total = torch.zeros_like(path.end_vector)
    points, weights = (torch.from_numpy(part) for part in nodes(steps))
    at_once = _at_once(model, len(path.sentence))
    for first in range(0, steps, at_once):
        point, weight = points[first : first + at_once], weights[first : first + at_once]
        with explain_out_of_memory(model.device, len(path.sentence)), torch.no_grad():
            x = path.start + point.to(direction).view(-1, 1, 1) * direction  # [N, T, D]
            _, tangent = linearise(model, x, layer)
            total += weight @ tangent(direction.expand_as(x)).cpu().double()
    return total


def moving_tokens(path: Path) -> Tensor:
    """The tokens whose vector differs from its reference: positions [n]. The others have no part in the cosine."""
    return (path.end != path.start)[0].any(dim=-1).nonzero()[:, 0]


def integrate(model: TextEncoder, path: Path, layer: int, steps: int) -> Iterator[tuple[Tensor, Tensor]]:
    """J (x_i - r_i) in parts that add up: (tokens [C], float64 [C, E]) for each point and chunk of tokens."""
    difference = (path.end - path.start)[0]  # [T, D]
    chunks = chunks_of(moving_tokens(path), model, len(path.sentence))
    for point, weight in zip(*nodes(steps), strict=True):
        with explain_out_of_memory(model.device, len(path.sentence)), torch.no_grad():
            _, tangent = linearise(model, path.start + float(point) * (path.end - path.start), layer)
        for tokens in chunks:
            with explain_out_of_memory(model.device, len(path.sentence)), torch.no_grad():
                part = tangent(single_directions(difference, tokens)).cpu().double() * float(weight)
            yield tokens.cpu(), part


def single_directions(vectors: Tensor, tokens: Tensor) -> Tensor:
    """vectors [T, D], tokens [C] -> [C, T, D]: in each direction one token's vector, and zeros for the others."""
    directions = vectors.new_zeros(len(tokens), *vectors.shape)
    directions[torch.arange(len(tokens), device=tokens.device), tokens] = vectors[tokens]
    return directions


def _at_once(model: TextEncoder, n_tokens: int) -> int:
    """Directions, or points, that are computed at a time."""
    config = model.config
    widest = n_tokens * max(config.d_ffn, config.n_heads * n_tokens, 3 * config.d_model)
    return max(1, (CHUNK_NUMBERS if model.device.type == "cpu" else 20 * CHUNK_NUMBERS) // widest)


def chunks_of(tokens: Tensor, model: TextEncoder, n_tokens: int) -> list[Tensor]:
    """`tokens` in parts that are computed at a time; none where there are no tokens."""
    size = _at_once(model, n_tokens)
    return [tokens[first : first + size] for first in range(0, len(tokens), size)]
