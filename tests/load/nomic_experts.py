"""NomicBERT without gates, and with experts (Nussbaum et al. 2025), from its definition: transformers has neither.

The names of weights and of the keys of config.json are those of the published checkpoint. Shapes: B batch, T tokens,
H heads, K width of a head, E experts, D width, F neurons of an expert.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput


class NomicExpertsConfig(PreTrainedConfig):
    """The keys of the published config.json."""

    model_type = "nomic_bert"

    def __init__(self, **fields: Any) -> None:
        usual = {"n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": 3072, "n_positions": 2048, "vocab_size": 250048}
        usual |= {"activation_function": "swiglu", "layer_norm_epsilon": 1e-5, "type_vocab_size": 2, "pad_token_id": 0}
        usual |= {"qkv_proj_bias": True, "mlp_fc1_bias": True, "mlp_fc2_bias": True, "rotary_emb_base": 10000}
        usual |= {"num_experts": 0, "moe_top_k": 2, "moe_every_n_layers": 2, "moe_normalize_expert_weights": False}
        usual |= {"num_shared_experts": 0, "expert_choice_router": False, "ffn_div": 1, "prenorm": False}
        usual |= {"use_rms_norm": None, "causal": False, "parallel_block": False, "rotary_emb_interleaved": False}
        usual |= {"rotary_emb_fraction": 1.0, "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False}
        super().__init__(**{**usual, **fields})


class Attention(nn.Module):
    """q, k and v are three blocks of one map; the two halves of each head of q and k turn by position."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.n_heads, self.base = config.n_head, float(config.rotary_emb_base)
        self.Wqkv = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.out_proj = nn.Linear(config.n_embd, config.n_embd)

    def turned(self, x: Tensor) -> Tensor:
        """x [B, H, T, K]: number c and number c + K/2 turned by position / base^(2c/K)."""
        half = x.shape[-1] // 2
        rates = self.base ** (-torch.arange(half, dtype=x.dtype) / half)
        angle = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * rates
        a, b = x[..., :half], x[..., half:]
        return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), dim=-1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        q, k, v = (one.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for one in self.Wqkv(x).chunk(3, dim=-1))
        q, k = self.turned(q), self.turned(k)
        pattern = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        return self.out_proj((pattern @ v).transpose(1, 2).flatten(-2)), pattern


class Dense(nn.Module):
    """fc2(gelu(fc1 x))."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(config.n_embd, config.n_inner), nn.Linear(config.n_inner, config.n_embd)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc2(nn.functional.gelu(self.fc1(x)))
        return out


class Router(nn.Module):
    """The score of each expert."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(config.n_embd, config.num_experts, bias=False)


class Maps(nn.Module):
    """The maps of all experts, both [E F, D]."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        size = (config.num_experts * config.n_inner, config.n_embd)
        self.w1, self.w2 = (nn.Parameter(torch.zeros(size)) for _ in range(2))


class Experts(nn.Module):
    """One bias for all of them."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.mlp, self.bias = Maps(config), nn.Parameter(torch.zeros(config.n_embd))


class Mixture(nn.Module):
    """bias + the sum over the chosen experts e of softmax(router x)_e gelu(x w1_e^T) w2_e."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.n_experts, self.n_chosen = config.num_experts, config.moe_top_k
        self.router, self.experts = Router(config), Experts(config)

    def forward(self, x: Tensor) -> Tensor:
        shares = self.router.layer(x).softmax(-1)  # [B, T, E]
        least = shares.sort(dim=-1, descending=True).values[..., self.n_chosen - 1 : self.n_chosen]
        w1, w2 = (one.unflatten(0, (self.n_experts, -1)) for one in (self.experts.mlp.w1, self.experts.mlp.w2))
        each = torch.einsum("btef,efd->bted", nn.functional.gelu(torch.einsum("btd,efd->btef", x, w1)), w2)
        return (shares * (shares >= least))[..., None].mul(each).sum(-2) + self.experts.bias


class Layer(nn.Module):
    """Attention and a feed-forward layer, each with a norm after its sum with its input."""

    def __init__(self, config: Any, routed: bool) -> None:
        super().__init__()
        self.attn, self.mlp = Attention(config), Mixture(config) if routed else Dense(config)
        self.norm1, self.norm2 = (nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon) for _ in range(2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        added, pattern = self.attn(x)
        x = self.norm1(x + added)
        return self.norm2(x + self.mlp(x)), pattern


class Embeddings(nn.Module):
    """A vector of the token and one of its segment."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.n_embd)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.n_embd)


class Layers(nn.Module):
    """Those whose number is 1 more than a multiple of moe_every_n_layers have experts, where there are any."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        routed = [
            config.num_experts > 0 and number % config.moe_every_n_layers == 1 for number in range(config.n_layer)
        ]
        self.layers = nn.ModuleList(Layer(config, one) for one in routed)


class NomicExpertsModel(PreTrainedModel):
    """The encoder."""

    config_class = NomicExpertsConfig
    main_input_name = "input_ids"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.embeddings, self.encoder = Embeddings(config), Layers(config)
        self.emb_ln = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings.word_embeddings

    def forward(self, input_ids: Tensor, **options: Any) -> BaseModelOutput:
        embedded = self.embeddings.word_embeddings(input_ids) + self.embeddings.token_type_embeddings.weight[0]
        states, maps = [self.emb_ln(embedded)], []
        for layer in self.encoder.layers:
            x, pattern = layer(states[-1])
            states.append(x)
            maps.append(pattern)
        return BaseModelOutput(states[-1], tuple(states), tuple(maps))
