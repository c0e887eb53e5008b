"""Tables of positions that are not learned, which some checkpoints save and others leave out: sines and cosines."""

import math

import torch
from torch import Tensor

from encoder.model.embed import sinusoidal


def sines_and_cosines(rows: int, width: int) -> Tensor:
    """The table [rows, width] of sines and then cosines that Marian and RoFormer save."""
    table = sinusoidal(torch.arange(rows), width)
    return torch.cat((table[:, 0::2], table[:, 1::2]), dim=1)


def sines_of_grid(rows: int, width: int) -> Tensor:
    """[rows, width]: for the patches of a square, row by row, sines and cosines of the column and then of the row."""
    side = math.isqrt(rows)
    one = sines_and_cosines(side, width // 2)
    return torch.cat((one.repeat(side, 1), one.repeat_interleave(side, dim=0)), dim=1)


def is_sines_of_grid(table: Tensor) -> bool:
    """Whether a table [N, E] is `sines_of_grid`."""
    rows, width = table.shape
    if width % 4 or math.isqrt(rows) ** 2 != rows:
        return False
    return torch.allclose(table.float().cpu(), sines_of_grid(rows, width), atol=1e-2)
