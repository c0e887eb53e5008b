"""What tells an encoder where a token stands, for any number of positions, apart from any sentence.

Shapes: N positions, E width of the tables, K width of a head, H heads.
"""

from __future__ import annotations

import numpy as np
import torch

from encoder import attend
from encoder.config import EncoderConfig
from encoder.embed import sinusoidal
from encoder.errors import EncoderError
from encoder.model import Encoder


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
    if config.position != "rotary":
        raise EncoderError(f"The positions of this model are {config.position}: no query or key is turned.")
    base = config.rotary_base_of_layer(layer)
    cos, sin = attend.rotary_angles(torch.arange(n_positions), config.d_head, base)
    pairs = config.d_head // 2  # the second half repeats the first
    return cos[:, :pairs].numpy(), sin[:, :pairs].numpy()


def turned_apart(cos: np.ndarray) -> np.ndarray:
    """cos [N, K/2] of `turns` -> [N]: dot product of two equal unit vectors, turned as at positions so far apart.

    Each pair contributes the cosine of the angle between the two positions, so the distance alone counts; the vector
    has the same length in every pair.
    """
    return cos.astype(np.float64).mean(axis=1)


@torch.no_grad()
def distance_bias(encoder: Encoder, head: int, farthest: int) -> tuple[np.ndarray, np.ndarray] | None:
    """(distances j - i, what is added to the scores of `head` there), -farthest .. farthest; None where nothing is."""
    if encoder.relative_bias is None:
        return None
    distances = torch.arange(-farthest, farthest + 1)
    table = encoder.relative_bias.weight.float().cpu()
    bias = attend.relative_bias(
        table, torch.zeros(1, dtype=torch.long), distances, encoder.config.relative_max_distance
    )
    return distances.numpy(), bias[head, 0].numpy()
