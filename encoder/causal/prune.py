"""How an outcome falls when more and more heads are off: least important first, and in random orders.

After Michel et al. 2019, who order heads by a gradient on training data. Here importance is the mean size of the effect
that each head has by itself, on the same texts, so the curve flatters the order: specify other texts to check it.

Shapes: L layers, H heads, N texts, S seeds, n numbers of heads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from encoder.causal.effects import ablate_each_head, iter_effects, plain_trace
from encoder.causal.outcomes import Outcome
from encoder.causal.variants import Variant
from encoder.edits import Zero
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.trace import gradual

#: Steps of the curve: a tenth of the heads each, as in the paper.
STEPS = 10


@dataclass(frozen=True, eq=False)
class PruneCurve:
    """order: (layer, head), least important first; counts [n]: heads that are off; effects are means over the texts.

    by_importance [n]; random [S, n].
    """

    order: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]
    by_importance: np.ndarray
    random: np.ndarray


def prune_curve(
    model: TextEncoder,
    texts: Sequence[str],
    outcome: Outcome | str = "sentence",
    *,
    importance_texts: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1, 2),
) -> PruneCurve:
    """The outcome's mean change with 0, 10, ... 100% of the heads off: least important first, and in random orders.

    importance_texts: where the order comes from, else `texts`. Raises EncoderError without texts.
    """
    if isinstance(texts, str) or not texts:
        raise EncoderError("A prune curve needs several texts: specify a list with one or more.")
    n_heads = model.config.n_heads
    total = model.config.n_layers * n_heads
    sizes = torch.stack([ablate_each_head(model, text, outcome).abs() for text in importance_texts or texts]).mean(0)
    order = sizes.flatten().argsort(stable=True).tolist()
    counts = tuple(sorted({round(total * step / STEPS) for step in range(STEPS + 1)}))
    orders = [order, *(np.random.default_rng(seed).permutation(total).tolist() for seed in seeds)]
    variants = [_without(one[:count], n_heads) for one in orders for count in counts]
    shape = len(orders), len(counts)
    found = [gradual.result(iter_effects(model, plain_trace(model, text), variants, outcome, shape)) for text in texts]
    mean = torch.stack(found).double().mean(0).numpy()
    return PruneCurve(tuple(divmod(index, n_heads) for index in order), counts, mean[0], mean[1:])


def _without(heads: Sequence[int], n_heads: int) -> Variant:
    """The edits that switch these heads off, one for each layer."""
    layers: dict[int, list[int]] = {}
    for index in heads:
        layers.setdefault(index // n_heads, []).append(index % n_heads)
    return tuple(Zero("z", layer=layer, heads=tuple(sorted(some))) for layer, some in sorted(layers.items()))
