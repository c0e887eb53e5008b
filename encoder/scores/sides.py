"""One side of a comparison: an input whose parts can be left out, each in its place, many at once.

A part is left out by what the model can hide: its tokens are not attended to and are not pooled, as padding is. The
other tokens keep their positions and vectors of input, and special tokens stay. So a text with everything left out is
the model's empty text.

Shapes: n variants, G parts, T tokens, D d_model, E width of a vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from encoder.encoders.named import NamedEncoder
from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.inputs.layout import Layout, PatchGrid, TubeletGrid
from encoder.inputs.sound_layout import SoundLayout
from encoder.inputs.text import Tokenized, readable
from encoder.model.device import explain_out_of_memory, one_thread
from encoder.scores.parts import Level, Part, cut_at, parts

#: Tokens that are run at a time.
TOKENS_AT_ONCE = 1024
#: Up to so many tokens in all, one thread does less work than several: it leaves a server the other cores.
SMALL_TOKENS = 512
#: A picture or a sound is divided into at most so many parts.
REGIONS = 16


@dataclass(frozen=True, eq=False)
class Side:
    """An input and its parts. level: what a part is; keep masks are bool [n, G], True for a part that stays."""

    model: Any
    parts: tuple[Part, ...]
    level: Level | str
    #: The embeddings, [1, T, D].
    x: Tensor
    #: True for tokens that pooling counts, [T].
    pooled: Tensor
    sentence: Tokenized | None = None
    #: The words at which the text was cut; "": it is read whole.
    cut_at: str = ""
    text: str = ""
    prompt: str = ""
    #: Tokens from this place on are not attended to, but have outputs (ColBERT's filler); 0: none.
    hidden: int = 0
    #: The image or sound.
    given: Any = None
    layout: Layout | None = None
    #: The number of parts that was allowed.
    most: int = 0

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each part."""
        return tuple(part.label for part in self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def everything(self) -> np.ndarray:
        """The mask that keeps every part: [1, G]."""
        return np.ones((1, len(self)), dtype=bool)

    def without_each(self) -> np.ndarray:
        """The masks that leave out one part each: [G, G]."""
        return ~np.eye(len(self), dtype=bool)

    def over_patches(self, values: np.ndarray) -> np.ndarray | None:
        """A number for each part [G] -> for each patch of an image [R, C]; None of any other input."""
        if not isinstance(self.layout, PatchGrid):
            return None
        tokens = np.zeros(self.x.shape[1])
        for part, value in zip(self.parts, values, strict=True):
            tokens[list(part.tokens)] = value
        found: np.ndarray = tokens[list(self.layout.patches)].reshape(self.layout.rows, self.layout.columns)
        return found

    def kept_tokens(self, keep: np.ndarray) -> Tensor:
        """keep [n, G] -> bool [n, T]."""
        member = np.zeros((len(self), self.x.shape[1]), dtype=bool)
        for row, part in enumerate(self.parts):
            member[row, list(part.tokens)] = True
        gone = (~np.asarray(keep, dtype=bool)).astype(np.float32) @ member.astype(np.float32) > 0
        return torch.from_numpy(~gone).to(self.x.device)

    def outputs(self, keep: np.ndarray) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        """keep [n, G] -> (rows, outputs [m, T, D], kept tokens [m, T]), batch by batch, the longest first.

        The outputs of tokens that are left out are 0.
        """
        yield from self.outputs_of(self.kept_tokens(keep))

    def outputs_of(self, kept: Tensor) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        """The same for kept tokens, bool [n, T]."""
        with one_thread() if int(kept.sum()) <= SMALL_TOKENS else nullcontext():
            yield from self._batches(kept)

    def _batches(self, kept: Tensor) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        lengths = kept.sum(dim=1)
        order = torch.argsort(lengths, descending=True, stable=True)
        packs, first = _packs(self.model) and not self.hidden, 0
        while first < len(order):
            longest = int(lengths[order[first]]) if packs else kept.shape[1]
            rows = order[first : first + max(1, TOKENS_AT_ONCE // max(1, longest))]
            with explain_out_of_memory(self.x.device, len(rows) * longest), torch.no_grad():
                yield rows.cpu().numpy(), self._run(kept[rows], longest if packs else 0), kept[rows]
            first += len(rows)

    def _run(self, kept: Tensor, longest: int) -> Tensor:
        """Outputs [m, T, D] of masks [m, T]. longest: places that the kept tokens are gathered into; 0: mask."""
        encoder = self.model.encoder
        x = self.x.expand(len(kept), -1, -1)
        if not longest or bool(kept.all()):
            seen = kept.clone()
            if self.hidden:
                seen[:, self.hidden :] = False
            mask = None if bool(seen.all()) else seen
            out: Tensor = encoder.before_layer(self.model.config.n_layers, x, mask)
            return out.masked_fill(~kept.unsqueeze(-1), 0.0)
        places = torch.argsort((~kept).int(), dim=1, stable=True)[:, :longest]  # the kept ones first, in their order
        real = torch.gather(kept, 1, places)
        index = places.unsqueeze(-1).expand(-1, -1, x.shape[-1])
        mask = None if bool(real.all()) else real
        packed = encoder.before_layer(self.model.config.n_layers, torch.gather(x, 1, index), mask)
        whole = packed.new_zeros(len(kept), kept.shape[1], packed.shape[-1])
        return whole.scatter_(1, index[..., : packed.shape[-1]], packed.masked_fill(~real.unsqueeze(-1), 0.0))


def _packs(model: NamedEncoder) -> bool:
    """Whether attention knows no places, so that kept tokens may move together: positions are in the embeddings."""
    config = model.config
    return (
        config.position in ("learned", "sinusoidal")
        and not config.relative_buckets
        and config.disentangled is None
        and config.attention_window is None
        and not config.causal
    )


def text_side(model: TextEncoder, text: str, most: int, prompt: str | None = None) -> Side:
    """A text in at most `most` parts. prompt: as of `embed`; its tokens always stay. Raises TextError."""
    before = model.prompt(prompt)
    sentence = model.tokenize(before + readable(text), max_tokens=model.max_embed_tokens)
    return side_of(model, sentence, most, before, text)


def side_of(
    model: TextEncoder,
    sentence: Tokenized,
    most: int,
    before: str = "",
    text: str = "",
    pair_side: int | None = None,
    hidden: int = 0,
) -> Side:
    """A tokenized text, or with `pair_side` one text of a pair, in at most `most` parts. hidden: as of `Side`."""
    found, level = parts(sentence, most, len(before), pair_side)
    batch = model.tokenizer.batch([sentence], model.device)
    with torch.no_grad():
        x = model.encoder.embedding(batch.ids, None, batch.segments, places=batch.places)
    pooled = torch.ones(len(sentence), dtype=torch.bool, device=model.device)
    if before and not model.pools_prompt:
        pooled[: model._prompt_tokens(before)] = False
    return Side(model, tuple(found), level, x, pooled, sentence, cut_at(sentence), text, before, hidden, most=most)


def signal_side(model: SignalEncoder, given: Any) -> Side:
    """An image, a video or a sound in at most REGIONS parts: neighbouring patches, or stretches of time.

    Raises EncoderError for a model whose pooling has weights of its own for every patch.
    """
    prepared = model.prepare(given).unsqueeze(0).to(device=model.device, dtype=model.encoder.dtype)
    with torch.no_grad():
        x = model.encoder.embedding(prepared, None, None)
    layout = model.trace(given).layout
    if isinstance(layout, TubeletGrid):
        found, level = _stretches_of_video(layout), "region"
    elif isinstance(layout, PatchGrid):
        found, level = _blocks(layout), "region"
    else:
        found, level = _stretches(layout), "stretch"  # type: ignore[arg-type]
    pooled = torch.ones(x.shape[1], dtype=torch.bool, device=x.device)
    return Side(model, tuple(found), level, x, pooled, given=given, layout=layout)


def _stretches(layout: SoundLayout) -> list[Part]:
    """Parts of a sound, one after another: all tokens that begin in a stretch of time, whatever their band."""
    own = [(token, span) for token, span in enumerate(layout.spans) if span is not None]
    starts = sorted({span.start for _, span in own})
    groups = [group.tolist() for group in np.array_split(starts, min(REGIONS, len(starts)))]
    ends = [*(group[0] for group in groups[1:]), max(span.end for _, span in own)]
    found = []
    for group, end in zip(groups, ends, strict=True):
        tokens = tuple(token for token, span in own if group[0] <= span.start <= group[-1])
        found.append(Part(f"{group[0]:.2f}-{end:.2f} s", tokens, (tokens[0], tokens[-1] + 1)))
    return found


def _blocks(grid: PatchGrid) -> list[Part]:
    """Neighbouring patches, in as many rows and columns as REGIONS allows."""
    most = round(REGIONS**0.5)
    down, across = (np.linspace(0, n, min(n, most) + 1).round().astype(int) for n in (grid.rows, grid.columns))
    found = []
    for row, column in product(range(len(down) - 1), range(len(across) - 1)):
        patches = product(range(down[row], down[row + 1]), range(across[column], across[column + 1]))
        places = tuple(grid.token(*patch) for patch in patches)
        found.append(Part(f"row {row + 1}, column {column + 1}", places, (places[0], places[-1] + 1)))
    return found


def _stretches_of_video(grid: TubeletGrid) -> list[Part]:
    """Stretches of time steps, in two rows and two columns of regions each where there are as many patches."""
    halves = min(2, grid.side)
    places = torch.tensor(grid.coordinates)  # [P, 3]
    times = np.array_split(range(int(places[:, 0].max()) + 1), min(REGIONS // halves**2, len(grid.firsts)))
    found = []
    for steps, row, column in product(times, range(halves), range(halves)):
        inside = torch.tensor([row, column]) == places[:, 1:] * halves // grid.side
        own = inside.all(dim=1) & (places[:, 0] >= int(steps[0])) & (places[:, 0] <= int(steps[-1]))
        tokens = tuple(sorted(grid.patches[index] for index in own.nonzero().flatten().tolist()))
        first, last = (grid.tokens[one].split()[0].removeprefix("f").split("-") for one in (tokens[0], tokens[-1]))
        found.append(
            Part(
                f"frames {first[0]} to {last[-1]}, row {row + 1}, column {column + 1}",
                tokens,
                (tokens[0], tokens[-1] + 1),
            )
        )
    return found


def masked_pool(side: Side, output: Tensor, kept: Tensor) -> Tensor:
    """Outputs [m, T, D] and kept tokens [m, T] -> vectors [m, E] in float64, as the checkpoint pools."""
    model = side.model
    if isinstance(model, TextEncoder):
        return model.pool(output, kept & side.pooled).double()
    if bool(kept.all()):
        return model.pool(output).double()
    has_cls = model.layout is not None and "[CLS]" in model.layout.before
    if has_cls:
        return model.pool(output).double()
    # A pooling without a mask of its own sees the kept tokens only.
    rows = [model.pool(one[real].unsqueeze(0))[0] for one, real in zip(output, kept, strict=True) if bool(real.any())]
    if len(rows) != len(output):
        raise EncoderError("An input without any token has no vector: keep one part.")
    return torch.stack(rows).double()
