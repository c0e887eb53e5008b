"""Numbers added to the scores for where two tokens are: learned ones by distance, by rows and columns, and ALiBi's.

Shapes: H heads, T tokens (queries i, keys j).
"""

import math

import torch
from torch import Tensor


def relative_bucket(distance: Tensor, buckets: int, max_distance: int, one_sided: bool = False) -> Tensor:
    """j - i -> bucket: half of the buckets for each side, exact up to a quarter of them, then logarithmic.

    T5's scheme (Raffel et al. 2020, section 2.1), which MPNet uses too. Distances beyond `max_distance` share a bucket.
    one_sided: all buckets are of earlier keys, and later ones are in the first (T5's decoder).
    """
    half = buckets if one_sided else buckets // 2
    side = (distance > 0).long() * (0 if one_sided else half)
    distance = (-distance).clamp(min=0) if one_sided else distance.abs()
    exact = half // 2
    # The clamp avoids the logarithm of 0; the exact branch below replaces these entries.
    far = torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact) * (half - exact)
    far = (exact + far.long()).clamp(max=half - 1)
    return side + torch.where(distance < exact, distance, far)


def relative_bias(table: Tensor, queries: Tensor, keys: Tensor, max_distance: int, one_sided: bool = False) -> Tensor:
    """table [buckets, H], queries [Ti], keys [Tj] (positions) -> [H, Ti, Tj], added to the scores."""
    distance = keys.unsqueeze(-2) - queries.unsqueeze(-1)  # [Ti, Tj], j - i
    return biases(table, relative_bucket(distance, table.shape[0], max_distance, one_sided))


def biases(table: Tensor, rows: Tensor) -> Tensor:
    """table [buckets, H], its rows [Ti, Tj] -> [H, Ti, Tj], contiguous: torch's kernel is slower with other masks."""
    return table.T.contiguous().index_select(1, rows.flatten()).view(table.shape[1], *rows.shape)


def grid_rows(queries: Tensor, keys: Tensor, side: int) -> Tensor:
    """queries [Ti], keys [Tj] -> row of the table of biases for each pair, [Ti, Tj] (BEiT; Bao et al. 2022, code).

    Token 0 is [CLS], the others are patches of a `side` x `side` grid. A row for each difference of rows and columns;
    then one for [CLS] to patches, one for patches to [CLS], one for [CLS] itself.
    """
    width = 2 * side - 1
    i, j = (queries - 1).unsqueeze(-1), (keys - 1).unsqueeze(-2)
    patches = (i // side - j // side + side - 1) * width + i % side - j % side + side - 1
    rows = torch.where((i < 0) & (j >= 0), width * width, patches)
    rows = torch.where((i >= 0) & (j < 0), width * width + 1, rows)
    return torch.where((i < 0) & (j < 0), width * width + 2, rows)


def alibi_slopes(n_heads: int) -> Tensor:
    """[H]: 2^(-8/n), 2^(-16/n), ... for n heads; where n is not a power of 2, those of the next smaller one, then every
    second slope of the next larger one (Press et al. 2022, section 3 and code)."""
    power = 2 ** (n_heads.bit_length() - 1)
    slopes = [2.0 ** (-8.0 * (head + 1) / power) for head in range(power)]
    slopes += [2.0 ** (-4.0 * (2 * head + 1) / power) for head in range(n_heads - power)]
    return torch.tensor(slopes)


def alibi(slopes: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """slopes [H] -> [H, Ti, Tj]: -slope x |i - j|, added to the scores."""
    return -slopes.view(-1, 1, 1) * (keys.unsqueeze(-2) - queries.unsqueeze(-1)).abs()
