"""Occlusion: what an outcome loses when a part of an image or of a sound is covered, and when more and more parts are.

Covering one part after another is the occlusion sensitivity of Zeiler and Fergus (2014, "Visualizing and Understanding
Convolutional Networks"), with a grey square. Covering more and more, in the order of an explanation, is the deletion
metric of Petsiuk et al. (2018, "RISE"): the lower the area below the curve, the better the order finds what the model
uses. Both change the input itself, before the first layer, unlike `MaskKeys`. The model was not trained on covered
inputs, and what covers a part changes the numbers.

Parts of an image are its patches, of a video its tubelets, as they lie on the sheet of its time steps. Parts of a sound
are windows of equal length; their samples are set to 0.

Shapes: P parts, n runs, T tokens, C channels, S side of an image in pixels, O orders.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from encoder.causal.effects import Progress
from encoder.causal.outcomes import Outcome, as_outcome
from encoder.causal.variants import TOKENS_AT_ONCE
from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder
from encoder.encoders.named import NamedEncoder
from encoder.encoders.page import PageEncoder
from encoder.encoders.video import VideoEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.layout import PatchGrid
from encoder.inputs.sound import Sound
from encoder.measure import patches, sounds
from encoder.model.device import explain_out_of_memory
from encoder.trace.trace import Trace

#: What covers a patch: black; grey, the checkpoint's mean colour (0 after normalising); the mean colour of the image.
Cover = Literal["black", "grey", "mean"]
COVERS: tuple[Cover, ...] = ("black", "grey", "mean")
#: Windows of a sound: at most so many, each of so many seconds at least.
MOST_WINDOWS, LEAST_SECONDS = 24, 0.05
#: Numbers of covered parts along a curve, at most, next to 0.
STEPS = 20
#: Random orders next to those of an explanation.
SEEDS = (0, 1, 2, 3, 4)


def windows(sound: Sound) -> np.ndarray:
    """[P + 1]: the edges of the windows in seconds."""
    count = max(1, min(MOST_WINDOWS, int(sound.seconds / LEAST_SECONDS)))
    return np.linspace(0.0, sound.seconds, count + 1)


def n_parts(model: NamedEncoder, given: Any) -> int:
    """P. Raises EncoderError for a text."""
    if isinstance(model, VideoEncoder):
        return model.patches.count
    if isinstance(model, ImageEncoder):
        grid = model.layout_of(given) if isinstance(model, PageEncoder) else model.layout
        return grid.rows * grid.columns
    if isinstance(model, AudioEncoder):
        return len(windows(given)) - 1
    raise EncoderError("Occlusion covers parts of an image, a video or a sound: for a text, use measure.deletion.")


def by_part(trace: Trace, weights: Tensor | np.ndarray, given: Any) -> np.ndarray:
    """Weights [T] of tokens -> [P]. A window of a sound gets the share of each time step that lies inside it."""
    weights = torch.as_tensor(weights).detach().cpu()
    if patches.is_of_patches(trace):
        return patches.over_image(trace, weights).numpy().ravel()
    over, edges = sounds.over_time(weights, sounds.sound_layout(trace)), windows(given)
    starts, ends = over.starts.astype(np.float64), over.starts.astype(np.float64) + over.step
    inside = np.minimum(ends, edges[1:, None]) - np.maximum(starts, edges[:-1, None])
    shares: np.ndarray = inside.clip(min=0) / over.step
    return shares @ over.columns


def covered(model: NamedEncoder, given: Any, which: np.ndarray, cover: Cover = "grey") -> Tensor:
    """Inputs of the model, n of them: bool which [n, P] says which parts are covered in each."""
    if cover not in COVERS:
        raise EncoderError(f"cover={quoted(cover)} is unknown: choose one of {', '.join(COVERS)}.")
    if which.ndim != 2 or which.shape[1] != n_parts(model, given):
        raise EncoderError(f"`which` must be [n, {n_parts(model, given)}], not {list(which.shape)}.")
    if isinstance(model, PageEncoder):
        page, grid = model.fitted(given), model.layout_of(given)
        colour = _colour(model, model.shown(given), cover, normalised=False)
        if not page.is_floating_point():  # as it is scaled once more, to one tile
            colour = (colour * 255).round().to(page.dtype)
        return torch.stack([model.vectors_of(torch.where(one, colour, page)) for one in _spread(grid, page, which)])
    if isinstance(model, ImageEncoder | VideoEncoder):
        pixels = model.prepare(given)
        cells = _tubelets(model, which) if isinstance(model, VideoEncoder) else _spread(model.layout, pixels, which)
        return torch.where(cells, _colour(model, pixels, cover), pixels)
    assert isinstance(model, AudioEncoder)
    edges = (windows(given) * given.rate).round().astype(int)
    found = []
    for row in which:
        samples = given.samples.copy()
        for part in np.flatnonzero(row):
            samples[edges[part] : edges[part + 1]] = 0.0
        found.append(model.prepare(Sound(samples, given.rate)))
    return torch.stack(found)


def _spread(grid: PatchGrid, pixels: Tensor, which: np.ndarray) -> Tensor:
    """[n, P] of patches -> [n, 1, H, W] of pixels [C, H, W]. A rest of the image that belongs to no patch stays."""
    size = grid.patch_size
    cells = torch.from_numpy(which.reshape(-1, 1, grid.rows, grid.columns))
    found = cells.repeat_interleave(size, dim=2).repeat_interleave(size, dim=3)
    rest = (0, pixels.shape[2] - found.shape[3], 0, pixels.shape[1] - found.shape[2])
    return torch.nn.functional.pad(found, rest, value=False)


def _tubelets(model: VideoEncoder, which: np.ndarray) -> Tensor:
    """[n, P] of the sheet -> [n, F, 1, S, S] of frames. A rest that belongs to no tubelet stays."""
    shape, tokens = model.patches, torch.zeros(which.shape, dtype=torch.bool)
    tokens[:, list(model.layout.patches)] = torch.from_numpy(which)
    found = tokens.view(-1, shape.steps, 1, shape.side, shape.side).repeat_interleave(shape.tubelet, dim=1)
    found = found.repeat_interleave(shape.patch_size, dim=3).repeat_interleave(shape.patch_size, dim=4)
    rest = shape.image_size - found.shape[3]
    return torch.nn.functional.pad(found, (0, rest, 0, rest, 0, 0, 0, shape.frames - found.shape[1]), value=False)


def _colour(model: ImageEncoder | VideoEncoder, pixels: Tensor, cover: Cover, normalised: bool = True) -> Tensor:
    """[C, 1, 1]: what covers a patch, as the model processes it; normalised: whether the pixels are already."""
    if cover == "mean":
        return pixels.mean(dim=(*range(pixels.dim() - 3), -2, -1), keepdim=True).view(-1, 1, 1)
    mean, std = (torch.tensor(one).view(-1, 1, 1) for one in (model.preparation.mean, model.preparation.std))
    black, grey = (-mean / std, torch.zeros_like(mean)) if normalised else (torch.zeros_like(mean), mean)
    return grey if cover == "grey" else black


def iter_covered(
    model: NamedEncoder,
    given: Any,
    plain: Trace,
    which: np.ndarray,
    outcome: Outcome | str = "sentence",
    cover: Cover = "grey",
) -> Iterator[Progress]:
    """The outcome minus that of `plain`, for each row of `which` [n, P], in batches.

    given: what `model.trace` accepts; plain: its unedited trace. Raises EncoderError for a text or an outcome that does
    not fit.
    """
    if plain.edits:
        raise EncoderError("Occlusion needs the run without edits: take the edits back.")
    with torch.no_grad():
        measure = as_outcome(outcome).on(model, plain)
        before = float(measure(plain.output.unsqueeze(0))[0])
    values = torch.full((len(which),), torch.nan)
    n_rows = max(1, TOKENS_AT_ONCE // plain.n_tokens)
    for first in range(0, len(which), n_rows):
        inputs = covered(model, given, which[first : first + n_rows], cover)
        inputs = inputs.to(device=model.device, dtype=model.encoder.dtype)
        with explain_out_of_memory(model.device, len(inputs) * plain.n_tokens), torch.no_grad():
            values[first : first + n_rows] = measure(model.encoder(inputs)).cpu() - before
        yield Progress(values.clone(), min(len(which), first + n_rows), len(which), before)


def iter_occlude_each(
    model: NamedEncoder, given: Any, plain: Trace, outcome: Outcome | str = "sentence", cover: Cover = "grey"
) -> Iterator[Progress]:
    """[P]: the effect of covering each part by itself, batch by batch. Below 0: the outcome falls."""
    yield from iter_covered(model, given, plain, np.eye(n_parts(model, given), dtype=bool), outcome, cover)


def counts(n: int) -> tuple[int, ...]:
    """The numbers of covered parts along a curve: from 0 to all, in at most STEPS steps."""
    return tuple(sorted({round(n * step / min(n, STEPS)) for step in range(min(n, STEPS) + 1)}))


def largest_first(weights: np.ndarray) -> tuple[int, ...]:
    """Parts by their weight [P]; earlier ones first among equals."""
    return tuple(np.argsort(-weights, kind="stable").tolist())


def iter_deletion_curves(
    model: NamedEncoder,
    given: Any,
    plain: Trace,
    orders: Mapping[str, Sequence[int]],
    outcome: Outcome | str = "sentence",
    cover: Cover = "grey",
    seeds: Sequence[int] = SEEDS,
) -> Iterator[Progress]:
    """[O + seeds, steps]: the change of the outcome with the first k parts of each order covered, k from `counts`.

    orders: name -> all parts, the first to be covered first. The rows after them are random orders, one for each seed.
    """
    n = n_parts(model, given)
    for name, order in orders.items():
        if sorted(order) != list(range(n)):
            raise EncoderError(f"The order {quoted(name)} must name each of the {n} parts once.")
    every = [*orders.values(), *(np.random.default_rng(seed).permutation(n).tolist() for seed in seeds)]
    steps = counts(n)
    which = np.zeros((len(every), len(steps), n), dtype=bool)
    for row, order in enumerate(every):
        for column, count in enumerate(steps):
            which[row, column, list(order[:count])] = True
    # Orders share rows, such as nothing and everything covered: each is run once.
    unique, back = np.unique(which.reshape(-1, n), axis=0, return_inverse=True)
    for found in iter_covered(model, given, plain, unique, outcome, cover):
        values = found.values[torch.from_numpy(back.reshape(len(every), len(steps)))]
        yield Progress(values, found.done, found.total, found.plain)


def area(curve: np.ndarray, n_covered: Sequence[int]) -> np.ndarray:
    """The mean of curves [..., steps] over the share of covered parts (trapezoids): RISE's area under the curve."""
    shares = np.asarray(n_covered, dtype=np.float64) / max(n_covered)
    return np.trapezoid(curve, shares, axis=-1)
