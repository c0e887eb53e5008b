"""A mixture of experts in the feed-forward layer (Shazeer et al. 2017; Jiang et al. 2024): a router chooses for each
token which neurons work.

Shapes: T tokens, E experts, F width of the FFN, all experts together.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.errors import ConfigError
from encoder.model.checks import MAX_LAYERS, check_kinds, check_whole


@dataclass(frozen=True)
class Experts:
    """The F neurons are `count` experts of F / count neurons each, in this order, and each token uses `chosen` of them.

    renormalised: whether the weights of a token's experts sum to 1 (Mixtral), and are not those of the softmax over all
    experts (OLMoE). layers: those that have experts; the others have as many neurons as one expert, and no router
    (Nomic Embed v2); None: all.
    """

    count: int
    chosen: int
    renormalised: bool = True
    layers: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_whole("count", self.count, 1, 4096)
        check_whole("chosen", self.chosen, 1, self.count)
        check_kinds(self)
        if self.layers is not None:
            for layer in self.layers:
                check_whole("layers", layer, 0, MAX_LAYERS - 1)
            object.__setattr__(self, "layers", tuple(self.layers))  # a list in a saved config

    def check(self, d_ffn: int, in_bias: bool) -> None:
        """Raise ConfigError unless each expert gets an equal part of the neurons, which have no biases. in_bias: of the
        layers without experts, if there are any."""
        if d_ffn % self.count:
            raise ConfigError(f"d_ffn={d_ffn} cannot be divided among {self.count} experts: choose a multiple.")
        if in_bias and self.layers is None:
            raise ConfigError("The neurons of experts have no biases here: set ffn_in_bias to False.")

    def weights(self, logits: Tensor) -> Tensor:
        """The router's logits [..., E] -> the weight of each expert [..., E]: 0 for those that are not chosen."""
        chosen = logits.softmax(dim=-1).topk(self.chosen)
        kept = torch.zeros_like(logits).scatter(-1, chosen.indices, chosen.values)
        return kept / kept.sum(dim=-1, keepdim=True) if self.renormalised else kept
