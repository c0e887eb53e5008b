"""The circuit of a cosine: the share of each head, each FFN, the embeddings and each norm's bias.

With every norm's mean and deviation, and the size of both sentence vectors, as they are in this run, the vector of a
text is the sum of what its components write (`gradients.direct_effect`). So its product with the other text's unit
vector is a sum over components, and this sum is the cosine. A share is the mean over the two texts:

    share(c) = (u_c . e_b + e_a . v_c) / 2,    e_a = sum of u_c,    e_b = sum of v_c.

What follows the residual stream and is not linear in it (a dense layer's bias and activation) has a share of its own.
The check switches a component off in one text, runs the model again and measures what the cosine loses, then in the
other text: `measured` is the mean of both. It includes what later layers then do differently, and the change of the
vector's size, so it need not equal the share. Embeddings are not switched off: without them there is no text.

Shapes: T tokens, D d_model, E width of a vector.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from encoder.causal.variants import Variant, run_variants
from encoder.edits import AblateHead, Call, Zero
from encoder.encoders.named import NamedEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.gradients.direct import DirectEffect, direct_effect
from encoder.scores.kinds import Cosine, Score
from encoder.scores.sides import Side, masked_pool
from encoder.trace.trace import Trace

#: Components that are checked by switching them off.
CHECKED = 10


@dataclass(frozen=True)
class Component:
    """A component and its share of the cosine. measured: what the cosine loses without it; None: not switched off.

    layer, head: its place; None where it has none.
    """

    name: str
    share: float
    measured: float | None = None
    layer: int | None = None
    head: int | None = None


@dataclass(frozen=True)
class Circuit:
    """All components, the largest share first; the shares add up to `cosine`."""

    components: tuple[Component, ...]
    cosine: float

    @property
    def sum(self) -> float:
        """The sum of all shares."""
        return sum(one.share for one in self.components)

    @property
    def correlation(self) -> float | None:
        """Of share and measured effect over the components that were switched off (Pearson); None for fewer than 3."""
        pairs = np.array([(one.share, one.measured) for one in self.components if one.measured is not None])
        if len(pairs) < 3 or not pairs.std(axis=0).all():
            return None
        return float(np.corrcoef(pairs.T)[0, 1])


def circuit(score: Score, checked: int = CHECKED) -> Circuit:
    """The shares of all components, the `checked` largest ones measured by switching them off.

    Raises EncoderError for another score than a cosine, and for models whose parts do not add up (`direct_effect`).
    """
    if not isinstance(score, Cosine):
        raise EncoderError("A circuit is a sum that makes a vector: choose the kind cosine.")
    runs = [_Run(score, side) for side in (0, 1)]
    prefixes = _prefixes(*(run.side.model for run in runs))
    shares: dict[str, Component] = {}
    of: dict[str, list[tuple[_Run, Variant]]] = {}
    for run, prefix in zip(runs, prefixes, strict=True):
        for part, variant in run.components():
            name = prefix + part.name
            known = shares.get(name, replace(part, name=name, share=0.0))
            shares[name] = replace(known, share=known.share + part.share / 2)
            if variant:
                of.setdefault(name, []).append((run, variant))
    order = sorted(shares.values(), key=lambda one: -abs(one.share))
    tested = [one.name for one in order if one.name in of][:checked]
    measured = dict.fromkeys(tested, 0.0)
    for run in runs:
        own = [(name, variant) for name in tested for at, variant in of[name] if at is run]
        for (name, _), lost in zip(own, run.lost([variant for _, variant in own]), strict=True):
            measured[name] += lost / 2
    found = [replace(one, measured=measured.get(one.name)) for one in order]
    return Circuit(tuple(sorted(found, key=lambda one: -one.share)), score.value())


def _prefixes(one: NamedEncoder, other: NamedEncoder) -> tuple[str, str]:
    """What tells the components of both sides apart: nothing where both have one encoder."""
    if one.encoder is other.encoder:
        return "", ""
    return (f"{one.takes} ", f"{other.takes} ") if one.takes != other.takes else ("query ", "document ")


class _Run:
    """One side: its trace, its unit vector, and the other side's."""

    def __init__(self, score: Cosine, side: int) -> None:
        self.side: Side = score.sides[side]
        self.unit, self.other = (torch.from_numpy(score.unit_vector(at)) for at in (side, 1 - side))
        model = self.side.model
        if isinstance(model, TextEncoder):
            assert self.side.sentence is not None
            self.trace: Trace = model.trace_tokens(self.side.sentence)
        else:
            self.trace = model.trace(self.side.given)

    def components(self) -> list[tuple[Component, Variant]]:
        """Each component with its share and the edit that switches it off; () where nothing does."""
        effect = direct_effect(self.trace, self._direction())
        cosine = float(self.unit @ self.other)
        found: list[tuple[Component, Variant]] = [(Component("embeddings", effect.embedding), ())]
        for layer in range(len(effect.ffn)):
            found += self._of_layer(effect, layer)
        for name, share in effect.norms.items():
            found.append((Component(f"{name} bias", share), self._without_bias(name)))
        rest = cosine - effect.sum
        return [*found, (Component("after the output", rest), ())]

    def _of_layer(self, effect: DirectEffect, layer: int) -> list[tuple[Component, Variant]]:
        found: list[tuple[Component, Variant]] = [
            (Component(f"L{layer} H{head}", float(share), None, layer, head), (AblateHead(layer, head),))
            for head, share in enumerate(effect.heads[layer])
        ]
        others = [part for part in self.trace.config.sublayers if part != "attention"]  # their share is one number
        name = f"L{layer} FFN" if self.trace.config.conformer is None else f"L{layer} FFNs and convolution"
        off = tuple(Zero(f"{part}_out", layer=layer) for part in others)
        found.append((Component(name, float(effect.ffn[layer]), None, layer), off))
        bias = self.trace.encoder.block(layer).attention.w_o.bias
        if bias is not None:
            edit = Call("attention_out", _less(bias), layer=layer)
            has_norm = self.trace.encoder.block(layer).attention_out_norm is not None
            part = Component(f"L{layer} attention bias", float(effect.attention_bias[layer]), None, layer)
            found.append((part, () if has_norm else (edit,)))
        return found

    def _without_bias(self, name: str) -> Variant:
        """The edit that takes a norm's bias away, at the point where the norm's output is the residual stream."""
        if name == "final_norm":
            norm = self.trace.encoder.final_norm
            return () if norm is None or norm.bias is None else (Call("output", _less(norm.bias)),)
        layer, part = int(name.split()[0][1:]), name.split()[1].removesuffix("_norm")
        norm = self.trace.encoder.block(layer).norm_of(part)  # type: ignore[arg-type]
        if (
            norm is None
            or norm.bias is None
            or part not in ("attention", "ffn")
            or self.trace.encoder.block(layer).end_norm is not None
        ):
            return ()
        return (Call(f"after_{part}", _less(norm.bias), layer=layer),)

    def _direction(self) -> Tensor:
        """[T, D]: its product with the output, summed, is the cosine less what is constant after the output."""
        with torch.enable_grad():
            output = self.trace.output.detach().clone().requires_grad_()
            everything = torch.ones(1, len(output), dtype=torch.bool, device=output.device)
            side = self.side
            if isinstance(side.model, TextEncoder):  # the size is frozen here, so scaling to norm 1 would count twice
                side = replace(side, model=replace(side.model, normalise=False))
            pooled = masked_pool(side, output.unsqueeze(0), everything)[0]
            size = pooled.detach().norm()
            (found,) = torch.autograd.grad(pooled @ (self.other.to(pooled) / size), output)
        return found

    def lost(self, variants: list[Variant]) -> list[float]:
        """What the cosine loses by each edit of this side."""
        found = [0.0] * len(variants)
        for rows, outputs in run_variants(self.side.model, self.trace, variants):
            kept = torch.ones(outputs.shape[:2], dtype=torch.bool, device=outputs.device)
            with torch.no_grad():
                vectors = torch.nn.functional.normalize(masked_pool(self.side, outputs, kept), dim=-1)
            for row, cosine in zip(rows, (vectors.cpu() @ self.other).tolist(), strict=True):
                found[row] = float(self.unit @ self.other) - cosine
        return found


def _less(bias: Tensor) -> Callable[[Tensor], Tensor]:
    return partial(_subtract, bias.detach())


def _subtract(bias: Tensor, value: Tensor) -> Tensor:
    return value - bias.to(value)
