"""An image or a video in the check: vectors of its patches, their positions, rotations and biases, in numpy.

Shapes: F frames (1 of an image), C channels, S pixels of a side, E width of the tables, P patches, T tokens, H heads,
R components that rotate.
"""

import numpy as np
from numpy.typing import NDArray

from encoder.explain.arithmetic import Floats
from encoder.model.config import Patches


def patch_vectors(pixels: Floats, weight: Floats, bias: Floats | None) -> Floats:
    """pixels [C, S, S] or [F, C, S, S], weight [E, C, p, p] or [E, C, t, p, p] -> [P, E]: a linear map of each patch of
    p x p pixels, in videos of t frames. What is left over at an edge belongs to no patch."""
    frames = pixels if pixels.ndim == 4 else pixels[None]
    depth, size = (weight.shape[2] if weight.ndim == 5 else 1), weight.shape[-1]
    steps, side = len(frames) // depth, frames.shape[-1] // size
    cut = frames[: steps * depth, :, : side * size, : side * size]
    apart = cut.reshape(steps, depth, cut.shape[1], side, size, side, size)
    patches = apart.transpose(0, 3, 5, 2, 1, 4, 6).reshape(steps * side**2, -1)  # [P, C x t x p x p]
    out: Floats = patches @ weight.reshape(len(weight), -1).T
    return out if bias is None else out + bias


def rows_of_tokens(table: Floats, shape: Patches) -> Floats:
    """A table of positions -> [T, E]: those of the special tokens, 0 for registers, and those of the patches, scaled
    where the table is of another grid."""
    n_first, n_last = shape.cls + shape.distillation, len(table) - shape.detection
    of_patches = table[n_first:n_last]
    if shape.table is not None:
        down, across = (cubic(length, shape.side) for length in shape.table)
        grid = of_patches.reshape(*shape.table, -1)
        of_patches = np.einsum("ir,jc,rce->ije", down, across, grid).reshape(shape.side**2, -1)
    nothing = np.zeros((shape.registers, table.shape[1]), dtype=table.dtype)
    return np.concatenate((table[:n_first], nothing, table[n_last:], of_patches))


def cubic(before: int, after: int) -> NDArray[np.float64]:
    """[after, before]: how much of each old place a new one gets, by Keys' cubic with a = -0.75; edges repeat (torch's
    "bicubic" along one side)."""
    a, weights = -0.75, np.zeros((after, before))
    for place in range(after):
        centre = (place + 0.5) * before / after - 0.5
        first = int(np.floor(centre)) - 1
        for old in range(first, first + 4):
            x = abs(centre - old)
            near, far = ((a + 2) * x - (a + 3)) * x**2 + 1, a * (((x - 5) * x + 8) * x - 4)
            weights[place, min(max(old, 0), before - 1)] += near if x <= 1 else far
    return weights


def angles_of(shape: Patches, width: int, base: float) -> NDArray[np.float64]:
    """[T, R]: the angles of the pairs' first components, then of their second ones."""
    if not shape.frames:
        return np.tile(angles_of_grid(width, base, shape.side, shape.n_tokens - shape.count), 2)
    angles = angles_of_tubelets(width, base, shape.steps, shape.side)
    return np.concatenate((angles[:, 0::2], angles[:, 1::2]), axis=1)  # neighbours are pairs


def angles_of_grid(width: int, base: float, side: int, special: int) -> NDArray[np.float64]:
    """[T, K/2]: DINOv3's angles of a head of `width` components. Half of the pairs rotate by the row of the patch's
    centre, from -1 to 1, half by its column; `special` tokens do not rotate."""
    rows, columns = np.divmod(np.arange(side**2), side)
    places = 2 * (np.stack((rows, columns), axis=1) + 0.5) / side - 1  # [P, 2]
    rates = 2 * np.pi / base ** (4 * np.arange(width // 4) / width)
    angles = (places[:, :, None] * rates).reshape(side**2, -1)
    return np.concatenate((np.zeros((special, angles.shape[1])), angles))


def angles_of_tubelets(width: int, base: float, steps: int, side: int) -> NDArray[np.float64]:
    """[T, R]: V-JEPA 2's angle of each of `width` components: a third by time step, a third by row, a third by column;
    the rates of a third are those of its first half, twice."""
    step, within = np.divmod(np.arange(steps * side**2), side**2)
    places = np.stack((step, *np.divmod(within, side)), axis=1)  # [T, 3]
    third = width // 3
    rates = base ** (-2 * (np.arange(third) % (third // 2)) / third)
    angles: NDArray[np.float64] = (places[:, :, None] * rates).reshape(len(places), width)
    return angles


def bias_of_grid(table: Floats, side: int, queries: NDArray[np.integer]) -> Floats:
    """table [(2S - 1)^2 + 3, H] -> [H, Ti, T]: BEiT's bias by the rows and columns between two patches, query minus
    key; the last three numbers are those of [CLS] to a patch, of a patch to [CLS], and of [CLS] itself."""
    width, keys = 2 * side - 1, np.arange(side**2 + 1)
    (i_row, i_column), (j_row, j_column) = (np.divmod(places - 1, side) for places in (queries, keys))
    down, across = i_row[:, None] - j_row + side - 1, i_column[:, None] - j_column + side - 1
    rows = down * width + across
    from_cls, to_cls = np.broadcast_arrays(queries[:, None] == 0, keys == 0)
    rows = np.where(from_cls, len(table) - 3, rows)
    rows = np.where(to_cls, len(table) - 2, rows)
    return table[np.where(from_cls & to_cls, len(table) - 1, rows)].transpose(2, 0, 1)
