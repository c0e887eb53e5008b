"""What the patches of an image attend to: rows as maps over the image, and how far each head attends.

Shapes: L layers, H heads, T tokens, R x C patches, P = R x C.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.errors import EncoderError
from encoder.inputs.layout import Layout, PatchGrid
from encoder.measure.attention_rollout import LONGEST_WHOLE, rollout, rollouts
from encoder.measure.norm_weighting import norm_weighted_shares
from encoder.trace.trace import Trace

#: A patch is an outlier where its norm is above so many times the median norm of the layer's patches.
OUTLIER = 3.0


def is_of_patches(trace: Trace) -> bool:
    """Whether a trace is of an image or a video, whose tokens are patches."""
    return isinstance(trace.layout, PatchGrid)


def grid(trace: Trace) -> PatchGrid:
    """The patches of a trace. Raises EncoderError for a trace of something else."""
    return grid_of(trace.layout)


def grid_of(layout: Layout | None) -> PatchGrid:
    """The patches of a layout. Raises EncoderError for one of something else."""
    if not isinstance(layout, PatchGrid):
        raise EncoderError("This trace has no patches: choose a trace of an image or a video.")
    return layout


def over_image(trace: Trace, rows: Tensor) -> Tensor:
    """rows [..., T] of weights on all tokens -> [..., R, C], those on patches. Special tokens are left out."""
    patches = grid(trace)
    return rows[..., list(patches.patches)].reshape(*rows.shape[:-1], patches.rows, patches.columns)


def rows_of_token(trace: Trace, token: int) -> Tensor:
    """[L, H, T]: what one token attends to in each head. Raises EncoderError for a token that does not exist."""
    trace.check_token(token)
    return trace.rows_of_token(token)


def weighted_row(trace: Trace, layer: int, head: int, token: int) -> Tensor:
    """[T]: the row of a token in one head, each weight times the norm of what it fetches, divided by their sum."""
    return norm_weighted_shares(trace, layer, head, slice(token, token + 1))[0]


def rollout_rows(trace: Trace, token: int) -> Tensor:
    """[L, T]: the attention rollout of one token after each layer."""
    if trace.n_tokens <= LONGEST_WHOLE:  # all rows cost less than one row layer by layer
        return rollouts(trace)[:, token]
    one = slice(token, token + 1)
    return torch.stack([rollout(trace, layer, one)[0] for layer in range(trace.config.n_layers)])


def attention_distances(trace: Trace) -> Tensor:
    """[L, H]: mean distance in pixels between a patch and the patches that it attends to, weighted by attention.

    As Dosovitskiy et al. (2021, figure 7, right), for one image. Special tokens are left out, and each patch's weights
    on patches are divided by their sum. A head whose patches attend to no patch gives NaN. Of a video, the distance
    within a frame: time counts as none.
    """
    patches = grid(trace)
    own = list(patches.patches)
    places = torch.tensor(patches.coordinates)[:, -2:]
    apart = torch.cdist(places.double(), places.double()).float().to(trace.mask.device) * patches.patch_size  # [P, P]
    found = torch.zeros(trace.config.n_layers, trace.config.n_heads, device=trace.mask.device)
    place_of = {token: place for place, token in enumerate(own)}
    for layer, rows, _, pattern in trace.iter_attention(range(trace.config.n_layers), None, slice(min(own), None)):
        inside = [token for token in range(rows.start, rows.stop) if token in place_of]
        weights = pattern[:, [token - rows.start for token in inside]][..., own]  # [H, rows, P]
        near = apart[[place_of[token] for token in inside]]
        found[layer] += ((weights * near).sum(-1) / weights.sum(-1)).sum(-1)
    return found / len(places)


@dataclass(frozen=True, eq=False)
class PatchNorms:
    """Norms of the residual stream: of each patch, and of each special token.

    patches [L + 1, P]: of the input of layer 0, then after each layer; special: name -> [L + 1]; outliers bool
    [L + 1, P]: above the cut-off; cutoffs [L + 1].
    """

    patches: np.ndarray
    special: Mapping[str, np.ndarray]
    outliers: np.ndarray
    cutoffs: np.ndarray


def patch_norms(trace: Trace, times: float = OUTLIER) -> PatchNorms:
    """The norm of every token after every layer. An outlier's is above `times` the median of the layer's patches.

    Darcet et al. (2024, "Vision Transformers Need Registers") find tokens of about ten times the usual norm in large
    models, in patches without information. Their norms have two modes, so the paper cuts between them by hand (at 150
    in DINOv2-g). A multiple of the median needs no hand, and a picture of all norms shows whether there are two modes.
    """
    layout = grid(trace)
    norms = torch.stack([x.float().norm(dim=-1) for x in trace.streams]).cpu().numpy()  # [L + 1, T]
    own = norms[:, list(layout.patches)]
    cutoffs = times * np.median(own, axis=1)
    special = {name: norms[:, token] for token, name in enumerate(layout.before)}
    return PatchNorms(own, special, own > cutoffs[:, None], cutoffs)


def registers(trace: Trace) -> tuple[int, ...]:
    """The tokens that are registers."""
    return tuple(token for token, name in enumerate(grid(trace).before) if name.startswith("[REG"))


def neighbour_similarity(trace: Trace) -> tuple[float, float]:
    """Mean cosine of the position vectors of two patches that share a side, and of two that do not."""
    patches, similar = grid(trace), position_similarity(trace)
    places = torch.tensor(patches.coordinates)
    apart = (places[:, None] - places[None]).abs().sum(-1).to(similar.device)
    return float(similar[apart == 1].mean()), float(similar[apart > 1].mean())


def position_similarity(trace: Trace) -> Tensor:
    """[P, P]: cosine of the position vectors of each two patches. Raises EncoderError where no vector is added."""
    if trace.position is None:
        raise EncoderError("This model adds no position vectors: choose another one.")
    vectors = trace.position[list(grid(trace).patches)].float()
    unit = torch.nn.functional.normalize(vectors, dim=-1)
    return unit @ unit.T
