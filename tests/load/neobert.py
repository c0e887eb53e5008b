"""NeoBERT (Le Breton et al. 2025) from its definition: the reference, since transformers has no class of it.

The names of weights are those of the published checkpoint. Shapes: B batch, T tokens, H heads, K width of a head.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput


class NeoBertConfig(PreTrainedConfig):
    """The keys of the published config.json, but max_length, which transformers 5 does not write."""

    model_type = "neobert"

    def __init__(self, **fields: Any) -> None:
        usual = {"hidden_size": 768, "num_hidden_layers": 28, "num_attention_heads": 12, "intermediate_size": 3072}
        usual |= {"vocab_size": 30522, "norm_eps": 1e-6, "pad_token_id": 0}
        super().__init__(**{**usual, **fields})


def rotated(x: Tensor) -> Tensor:
    """x [B, T, H, K]: its pairs of neighbouring numbers, turned by position / 10000^(2c/K)."""
    width = x.shape[-1]
    rates = 10_000.0 ** (-torch.arange(0, width, 2, dtype=x.dtype) / width)
    angle = (torch.arange(x.shape[1], dtype=x.dtype)[:, None] * rates)[:, None]  # [T, 1, K/2]
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    turned = (a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos())
    return torch.stack(turned, dim=-1).flatten(-2)


class SwiGLU(nn.Module):
    """w3(silu(x A) * x B); A and B are one weight."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.w12 = nn.Linear(width, 2 * hidden, bias=False)
        self.w3 = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, value = self.w12(x).chunk(2, dim=-1)
        out: Tensor = self.w3(nn.functional.silu(gate) * value)
        return out


class Layer(nn.Module):
    """Attention and a feed-forward layer, each after an RMSNorm. Of each head, q, k and v are side by side."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.hidden_size
        self.n_heads = config.num_attention_heads
        self.qkv, self.wo = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        hidden = -(-int(2 * config.intermediate_size / 3) // 8) * 8  # two thirds, up to a multiple of 8
        self.ffn = SwiGLU(width, hidden)
        self.attention_norm, self.ffn_norm = (nn.RMSNorm(width, config.norm_eps) for _ in range(2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        q, k, v = self.qkv(self.attention_norm(x)).unflatten(-1, (self.n_heads, -1)).chunk(3, dim=-1)
        q, k, v = (one.transpose(1, 2) for one in (rotated(q), rotated(k), v))
        pattern = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
        x = x + self.wo((pattern @ v).transpose(1, 2).flatten(-2))
        return x + self.ffn(self.ffn_norm(x)), pattern


class NeoBertModel(PreTrainedModel):
    """The encoder."""

    config_class = NeoBertConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.encoder = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.transformer_encoder = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.layer_norm = nn.RMSNorm(config.hidden_size, config.norm_eps)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.encoder

    def forward(self, input_ids: Tensor, **options: Any) -> BaseModelOutput:
        states, maps = [self.encoder(input_ids)], []
        for layer in self.transformer_encoder:
            x, pattern = layer(states[-1])
            states.append(x)
            maps.append(pattern)
        return BaseModelOutput(self.layer_norm(states[-1]), tuple(states), tuple(maps))
