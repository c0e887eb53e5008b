"""One place in the computation, and its limits in a model.

Shapes: L layers, H heads, T tokens (query i, key j), D d_model, K width of a head, F width of the FFN.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from encoder.errors import EncoderError
from encoder.model.config import EncoderConfig


@dataclass(frozen=True)
class Place:
    """One place in the computation. All count from 0.

    layer, head; query: token i, the row; key: token j, the column; component: of a vector, below K in q, k, v and z,
    below D in the residual stream; neuron: of the FFN's hidden layer, below F.
    """

    layer: int = 0
    head: int = 0
    query: int = 0
    key: int = 0
    component: int = 0
    neuron: int = 0

    def limits(self, config: EncoderConfig, n_tokens: int) -> dict[str, int]:
        """Field -> the first value that is too large."""
        layer = min(max(self.layer, 0), config.n_layers - 1)
        return {
            "layer": config.n_layers,
            "head": config.n_heads,
            "query": n_tokens,
            "key": n_tokens,
            "component": max(config.d_model, config.d_head, config.embedding_width),
            "neuron": config.of_layer(layer).d_ffn,
        }

    def checked(self, config: EncoderConfig, n_tokens: int, width: int | None = None) -> Place:
        """The same place. Raises EncoderError for a value that is too large; `width` limits the component."""
        limits = self.limits(config, n_tokens) | ({} if width is None else {"component": width})
        for name, limit in limits.items():
            value = getattr(self, name)
            if not 0 <= value < limit:
                raise EncoderError(f"No {name} {value} here: choose 0 to {limit - 1}.")
        return self

    def clamped(self, config: EncoderConfig, n_tokens: int, width: int | None = None) -> Place:
        """The nearest place that exists."""
        limits = self.limits(config, n_tokens) | ({} if width is None else {"component": width})
        return dataclasses.replace(
            self, **{name: min(max(getattr(self, name), 0), limit - 1) for name, limit in limits.items()}
        )
