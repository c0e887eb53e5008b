"""Numbers of a batch of texts, measured during its forward pass: attention by chunks, norms layer by layer.

No map is kept: the memory is that of a forward pass and one chunk. The measures are those of `encoder.measure`.

Shapes: B texts, L layers, H heads, T tokens (queries i, keys j), R query rows of a chunk, D d_model, O offsets, G key
groups.
"""

import math
from functools import lru_cache

import torch
from torch import Tensor

from encoder.corpus.groups import KEY_MEASURES, Groups
from encoder.encoders.text import TextEncoder
from encoder.measure.head_measures import OFFSETS, RowSums
from encoder.trace.trace import row_chunks

#: The profile has each offset j - i up to this one, on both sides, and one entry for all that are farther.
FARTHEST = 32
#: Offsets j - i in the profile; the first and the last: all that are farther.
N_OFFSETS = 2 * FARTHEST + 3
#: Pairs of tokens up to which the factors of `_by_offset` are kept: 1 MB each.
KEEP_FACTORS = 4096
#: What the table of tokens says about each head and token: the weight on these, in units of 1/255.
BEHAVIOUR = (*OFFSETS, "cls", "sep")


class Watcher:
    """A visitor of the hook points (`encoder.model.hooks.Visitor`) of a forward pass of B texts of one length.

    After the pass, `measures`: name -> [L] of [B, H], sums over queries; `profile`: [L] of [B, H, O], sums of weights;
    `received`: [L] of [B, H, G], sums over queries; `norms`: name -> [B, T]; `kept`: layer number (0: the
    embeddings, L: the output) -> [b, T, D]; `behaviour`: [L] of [b, H, T, 5]; `maps`: [L] of [s, H, rows, T].
    """

    def __init__(
        self,
        model: TextEncoder,
        groups: Groups,
        *,
        strong: float,
        vectors: tuple[int, ...] = (),
        vectors_of: tuple[int, ...] = (),
        maps_of: dict[int, int] | None = None,
    ) -> None:
        """vectors: layer numbers whose vectors of the texts `vectors_of` are kept; maps_of: text -> every so many-th
        row of its maps is kept."""
        self._config, self.groups, self._strong = model.config, groups, strong
        self._vectors, self._vectors_of, self._maps_of = vectors, list(vectors_of), maps_of or {}
        device = model.device
        self._contexts = model.encoder.attention_contexts(torch.empty(1, groups.n_tokens, device=device), None)
        self._q = self._stream = self._before = torch.empty(0)
        self._beside: dict[str, Tensor] = {}
        n_maps = groups.n_texts * self._config.n_heads
        self._rows = row_chunks(n_maps, groups.n_tokens, range(groups.n_tokens))
        most_rows = self._rows[0].stop
        self._memory = torch.empty(2, n_maps * most_rows * groups.n_tokens, device=device)
        self.measures: dict[str, list[Tensor]] = {}
        self.profile: list[Tensor] = []
        self.received: list[Tensor] = []
        self.norms: dict[str, Tensor] = {}
        self.kept: dict[int, Tensor] = {}
        self.behaviour: list[Tensor] = []
        self.maps: list[dict[int, Tensor]] = []

    def needs_scores(self, layer: int) -> bool:
        """The pass may use torch's fused attention; maps are computed here."""
        return False

    def visit(self, name: str, layer: int | None, value: Tensor) -> Tensor:
        """Measure the value of one hook point; nothing is changed."""
        if name == "q":
            self._q = value
        elif name in ("beside.q", "beside.k"):  # before q and k
            self._beside[name] = value
        elif name == "k":
            assert layer is not None
            self._heads(layer, self._q, value)
        elif name.endswith("norm.input") and name not in ("q_norm.input", "k_norm.input"):  # of the residual stream
            norm = name.removesuffix(".input")
            full = norm if layer is None else f"layers.{layer}.{norm}"
            mean = value.float().mean(-1, keepdim=True)
            spread = (value.float() - mean).norm(dim=-1) / math.sqrt(value.shape[-1])  # faster than Tensor.std
            self.norms[f"norm_mean/{full}"] = mean.squeeze(-1)
            self.norms[f"norm_std/{full}"] = spread
        elif name == "embedding":
            self._layer_begins(0, value)
        elif name in ("attention_out", "ffn_out"):
            length = _lengths(self._stream)
            self.norms[f"{name.removesuffix('_out')}_update/{layer}"] = _lengths(value) / length
        elif name == self._config.after_layer:
            assert layer is not None
            cosine = torch.cosine_similarity(self._before.float(), value.float(), dim=-1)
            self.norms[f"cosine/{layer}"] = cosine
            self._layer_begins(layer + 1, value)
        elif name.startswith("after_"):
            self._stream = value
        elif name == "output":
            self._keep(self._config.n_layers, value)
        return value

    def _layer_begins(self, number: int, value: Tensor) -> None:
        self._stream = self._before = value
        self.norms[f"length/{number}"] = _lengths(value)
        if number < self._config.n_layers:
            self._keep(number, value)

    def _keep(self, number: int, value: Tensor) -> None:
        if number in self._vectors and self._vectors_of:
            self.kept[number] = value[self._vectors_of].half().cpu()

    # --- attention ----------------------------------------------------------------------------------------------------

    def _heads(self, layer: int, q: Tensor, k: Tensor) -> None:
        """q, k [B, H, T, K]: the attention of all heads of a layer, chunk by chunk."""
        n_texts, n_heads, n_tokens, _ = q.shape
        context, apart = self._contexts[layer], self._config.beside
        if apart is not None:
            of_boxes = [self._beside[f"beside.{name}"].float() for name in "qk"]
            context = context.with_beside(of_boxes[0], of_boxes[1], apart.score_scale)
        k = k.float().contiguous()
        of_rows = RowSums((n_texts, n_heads), n_tokens, n_tokens, q.device)
        received = torch.zeros(n_texts, n_heads, n_tokens, device=q.device)
        offsets = torch.zeros(n_texts * n_heads, N_OFFSETS + 1, device=q.device)
        alike = torch.zeros(n_texts, n_heads, 2, device=q.device)
        special, maps = [], {text: list[Tensor]() for text in self._maps_of}
        for rows in self._rows:
            shape = (n_texts, n_heads, rows.stop - rows.start, n_tokens)
            scores, weights = self._memory[:, : math.prod(shape)].view(2, *shape)
            context.float32_scores(q[:, :, rows], k, rows, out=scores)
            context.pattern(scores, weights)
            of_rows.add(rows, scores, weights, self._strong)
            received += weights.sum(2)
            flat = weights.flatten(2)  # [B, H, R x T]
            offsets.addmm_(flat.flatten(0, 1), _by_offset(n_tokens, rows.start, rows.stop).to(flat.device))
            if (factors := self.groups.alike(rows)) is not None:
                alike.baddbmm_(flat, factors)
            if self._vectors_of:
                chosen = weights[self._vectors_of]
                special.append(chosen @ self.groups.keys[self._vectors_of, None, :, :2])  # [b, H, R, 2]
            for text, step in self._maps_of.items():
                first = -rows.start % step  # rows 0, step, 2 step, ... of the whole map
                maps[text].append(weights[text, :, first::step].clone())
        self._finish_layer(of_rows, received, offsets.view(n_texts, n_heads, -1), alike)
        if self._vectors_of:
            on = of_rows.offsets[:, self._vectors_of].clamp(min=0.0).permute(1, 2, 3, 0)  # [b, H, T, 3]
            self.behaviour.append(torch.cat([on, torch.cat(special, 2)], -1).mul(255).round().byte().cpu())
        self.maps.append({text: torch.cat(parts, 1) for text, parts in maps.items()})

    def _finish_layer(self, rows: RowSums, received: Tensor, offsets: Tensor, alike: Tensor) -> None:
        sums = rows.totals()
        sums |= {"distance": offsets[..., -1], "same_token": alike[..., 0], "own_word": alike[..., 1]}
        groups = received @ self.groups.keys  # [B, H, G]
        sums |= dict(zip(KEY_MEASURES, groups.unbind(-1), strict=False))
        for name, value in sums.items():
            self.measures.setdefault(name, []).append(value)
        self.profile.append(offsets[..., :-1])
        self.received.append(groups[..., len(KEY_MEASURES) :])


def _lengths(x: Tensor) -> Tensor:
    """[B, T, D] -> [B, T]: norms, never 0."""
    return x.float().norm(dim=-1).clamp(min=torch.finfo(torch.float32).tiny)


def offset_places(n_tokens: int, rows: slice) -> Tensor:
    """[R, T]: the place of each pair in the profile."""
    queries, keys = torch.arange(rows.start, rows.stop), torch.arange(n_tokens)
    return (keys - queries.unsqueeze(-1)).clamp(-FARTHEST - 1, FARTHEST + 1) + FARTHEST + 1


def _by_offset(n_tokens: int, start: int, stop: int) -> Tensor:
    """[R x T, O + 1]: a product with it sums weights by offset, and in the last column by distance |i - j|.

    One product of this width takes a tenth of the time of as many sums of diagonals.
    """
    small = (stop - start) * n_tokens <= KEEP_FACTORS
    return _kept_factors(n_tokens, start, stop) if small else _factors(n_tokens, start, stop)


def _factors(n_tokens: int, start: int, stop: int) -> Tensor:
    places = offset_places(n_tokens, slice(start, stop)).flatten().unsqueeze(-1)
    factors = torch.zeros(len(places), N_OFFSETS + 1).scatter_(1, places, 1.0)
    distance = (torch.arange(n_tokens) - torch.arange(start, stop).unsqueeze(-1)).abs()
    factors[:, -1] = distance.flatten()
    return factors


_kept_factors = lru_cache(maxsize=64)(_factors)
