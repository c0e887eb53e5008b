"""What tells an encoder where a token stands, for any number of positions; and what that does to a sentence.

Shapes: N positions, T tokens, D d_model, E width of the tables, K width of a head, H heads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder import attend
from encoder.config import EncoderConfig
from encoder.embed import sinusoidal
from encoder.errors import EncoderError
from encoder.measure import tokens
from encoder.measure.sized import Sized
from encoder.model import Encoder
from encoder.trace import Trace


@torch.no_grad()
def added(encoder: Encoder, n_positions: int) -> np.ndarray | None:
    """[N, E] float32: what the model adds at positions 0 .. N-1; None where it adds nothing (rotary, none).

    Raises EncoderError for more positions than the model has.
    """
    longest = encoder.config.max_tokens
    if n_positions > longest:
        raise EncoderError(f"{n_positions:,} positions: this model has {longest:,}. Ask for those or fewer.")
    real = torch.full((1, n_positions), encoder.config.pad_id + 1, device=encoder.device)  # any id that is no padding
    rows = encoder.embedding.positions(real, None, n_positions)
    return None if rows is None else rows.float().reshape(n_positions, -1).cpu().numpy()


def sines(n_positions: int, width: int) -> np.ndarray:
    """[N, width] float32: the sinusoidal encoding (Vaswani et al. 2017, 3.5). Raises EncoderError for an odd width."""
    if width % 2:
        raise EncoderError(f"width={width}: sines and cosines come in pairs, so the width must be even.")
    return sinusoidal(torch.arange(n_positions), width).numpy()


def turns(config: EncoderConfig, layer: int, n_positions: int) -> tuple[np.ndarray, np.ndarray]:
    """cos, sin [N, K/2] float32 of the angle by which pair c of a layer's queries and keys is turned at each position.

    Raises EncoderError where positions are not rotary.
    """
    cos, sin = _rotation(config, layer, torch.arange(n_positions))
    pairs = config.d_head // 2  # the second half repeats the first
    return cos[:, :pairs].numpy(), sin[:, :pairs].numpy()


def turned_apart(cos: np.ndarray) -> np.ndarray:
    """cos [N, K/2] of `turns` -> [N]: dot product of two equal unit vectors, turned as at positions so far apart.

    Each pair contributes the cosine of the angle between the two positions, so the distance alone counts; the vector
    has the same length in every pair.
    """
    return cos.astype(np.float64).mean(axis=1)


@torch.no_grad()
def turned_products(
    trace: Trace, layer: int, head: int, query: int, key: int, farthest: int
) -> tuple[np.ndarray, np.ndarray]:
    """(distances j - i, q . k there): the dot product of two tokens' query and key, were they so far apart.

    Both are turned back to position 0, then the key is turned by each distance, -farthest .. farthest. At the distance
    that they have, it is the product that the scores are made of. Raises EncoderError where positions are not rotary.
    """
    q, k, _ = trace.layer_qkv(layer)
    cos, sin = _rotation(trace.config, layer, torch.tensor([query, key]))
    # The opposite angle turns back.
    q0, k0 = (
        attend.rotate(vector.float().cpu(), cos[row : row + 1], -sin[row : row + 1])
        for row, vector in enumerate((q[head, query : query + 1], k[head, key : key + 1]))
    )
    distances = torch.arange(-farthest, farthest + 1)
    cos, sin = _rotation(trace.config, layer, distances)
    return distances.numpy(), (attend.rotate(k0.expand(len(distances), -1), cos, sin) @ q0[0]).numpy()


def _rotation(config: EncoderConfig, layer: int, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos, sin [N, K] of the angles at any positions, negative ones too."""
    if config.position != "rotary":
        raise EncoderError(f"The positions of this model are {config.position}: no query or key is turned.")
    return attend.rotary_angles(positions, config.d_head, config.rotary_base_of_layer(layer))


@torch.no_grad()
def distance_biases(encoder: Encoder, farthest: int) -> tuple[np.ndarray, np.ndarray] | None:
    """(distances j - i, [H, 2 farthest + 1]: what is added to the scores of each head there); None where nothing is."""
    if encoder.relative_bias is None:
        return None
    distances = torch.arange(-farthest, farthest + 1)
    table = encoder.relative_bias.weight.float().cpu()
    bias = attend.relative_bias(
        table, torch.zeros(1, dtype=torch.long), distances, encoder.config.relative_max_distance
    )
    return distances.numpy(), bias[:, 0].numpy()


@torch.no_grad()
def lengths(trace: Trace) -> tuple[float, float] | None:
    """Mean lengths over the real tokens of the vectors of (position, token) that the embedding adds up; None where it
    adds no position."""
    if trace.position is None:
        return None
    both = (trace.position, trace.values["embedding.tokens"])
    position, token = (float(x[: trace.n_real].float().norm(dim=-1).mean()) for x in both)
    return position, token


@dataclass(frozen=True, eq=False)
class OrderEffect(Sized):
    """The same tokens, those of each sentence in reverse order; special tokens stay where they are.

    moved [T] bool: which tokens stand somewhere else then; cosine [T]: of every token's output with what it was;
    difference: the largest change of an output vector, as a share of its length; same: that is nothing but rounding.
    """

    moved: np.ndarray
    cosine: np.ndarray
    difference: float
    same: bool


@torch.no_grad()
def order_effect(trace: Trace) -> OrderEffect:
    """What becomes of every token when the words of its sentence come in reverse order: one forward pass.

    An encoder without positions gives the same vectors in another order (Vaswani et al. 2017, 3.5), but for rounding.
    """
    device = trace.encoder.device
    order = torch.tensor(_reversed(trace))  # position p now holds token order[p]
    ids = torch.tensor(trace.ids)[order].to(device)
    segments = None if trace.source is None else torch.zeros_like(ids)
    if segments is not None and trace.source is not None:
        segments[: len(trace.source)] = torch.tensor(trace.source.segments, device=device)
    mask = None if trace.n_real == trace.n_tokens else trace.mask.unsqueeze(0)
    turned = trace.encoder(ids.unsqueeze(0), mask, None if segments is None else segments.unsqueeze(0))[0]
    now = torch.empty_like(turned)
    now[order.to(device)] = turned
    before, after = trace.output.float(), now.float()
    change = (after - before).norm(dim=-1) / before.norm(dim=-1).clamp(min=torch.finfo(torch.float32).tiny)
    difference = float(change[: trace.n_real].max())
    return OrderEffect(
        moved=(order != torch.arange(len(order))).numpy(),
        cosine=torch.cosine_similarity(before, after, dim=-1).cpu().numpy(),
        difference=difference,
        same=difference < (1e-4 if trace.output.dtype == torch.float32 else 0.1),  # through several layers
    )


def _reversed(trace: Trace) -> list[int]:
    """[T]: for each position the token that stands there when every sentence is reversed."""
    order = list(range(trace.n_tokens))
    sentence, content = tokens.sentences(trace), tokens.is_content(trace)
    for number in set(sentence):
        places = [place for place in range(trace.n_tokens) if content[place] and sentence[place] == number]
        for place, token in zip(places, reversed(places), strict=True):
            order[place] = token
    return order
