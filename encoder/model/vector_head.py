"""VectorHead: how an encoder of images and texts makes one vector of an image: pooling, then a projection.

Shapes: N images, T tokens, D d_model, E width of the vectors that are compared with those of texts.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from encoder.errors import ConfigError
from encoder.model.activation import activate
from encoder.model.checks import check_kinds, check_whole, settle_eps
from encoder.model.config import Activation
from encoder.model.pooling import pool

VectorPooling = Literal["cls", "mean", "attention"]


@dataclass(frozen=True)
class VectorHeadConfig:
    """The differences between such heads.

    pooling: "cls", the first token (CLIP), "mean", or "attention" (SigLIP); d_out: E of the projection without bias
    that follows, None: there is none, and E is D. For "attention": n_heads; query_map: whether the learned query passes
    a linear map; bias: whether the maps of q, k and v have one; d_ffn (0: none), activation and norm_eps of the
    feed-forward layer after it.
    """

    pooling: VectorPooling = "cls"
    d_out: int | None = None
    n_heads: int = 1
    query_map: bool = True
    bias: bool = True
    d_ffn: int = 1
    activation: Activation = "gelu_tanh"
    norm_eps: float = 1e-6

    def __post_init__(self) -> None:
        check_kinds(self)
        if self.d_out is not None:
            check_whole("d_out", self.d_out, 1)
        check_whole("n_heads", self.n_heads, 1)
        check_whole("d_ffn", self.d_ffn, 0)
        settle_eps(self, "norm_eps")


class AttentionPooling(nn.Module):
    """A learned query attends to all tokens, then a feed-forward layer with a residual connection (Zhai et al. 2022).

    With h = MultiHead(probe, x, x), the vector is h + W_out act(W_in LayerNorm(h)); without that layer it is h.
    """

    def __init__(self, d_model: int, config: VectorHeadConfig) -> None:
        super().__init__()
        if d_model % config.n_heads:
            raise ConfigError(f"The width {d_model} cannot be split among n_heads={config.n_heads}: choose a divisor.")
        self.config = config
        self.probe = nn.Parameter(torch.zeros(1, 1, d_model))
        self.w_q = nn.Linear(d_model, d_model, bias=config.bias) if config.query_map else None
        self.w_k, self.w_v = (nn.Linear(d_model, d_model, bias=config.bias) for _ in range(2))
        self.w_o = nn.Linear(d_model, d_model)
        self.norm, self.w_in, self.w_out = None, None, None
        if config.d_ffn:
            self.norm = nn.LayerNorm(d_model, eps=config.norm_eps)
            self.w_in, self.w_out = nn.Linear(d_model, config.d_ffn), nn.Linear(config.d_ffn, d_model)

    def pattern(self, x: Tensor) -> Tensor:
        """x [N, T, D] -> [N, H, T]: what the learned query attends to in each head; each row sums to 1."""
        query = self.probe if self.w_q is None else self.w_q(self.probe)
        q, k = self._split(query), self._split(self.w_k(x))  # [1, H, 1, K], [N, H, T, K]
        return torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, dim=-1).squeeze(-2)

    def forward(self, x: Tensor) -> Tensor:
        """x [N, T, D] -> [N, D]."""
        z = self.pattern(x).unsqueeze(-2) @ self._split(self.w_v(x))  # [N, H, 1, K]
        h: Tensor = self.w_o(z.flatten(1))
        if self.norm is None or self.w_in is None or self.w_out is None:
            return h
        out: Tensor = h + self.w_out(activate(self.w_in(self.norm(h)), self.config.activation))
        return out

    def _split(self, x: Tensor) -> Tensor:
        """[N, T, D] -> [N, H, T, K]."""
        return x.view(*x.shape[:-1], self.config.n_heads, -1).transpose(1, 2)


class VectorHead(nn.Module):
    """Pooling and projection of an encoder's output."""

    def __init__(self, d_model: int, config: VectorHeadConfig) -> None:
        super().__init__()
        self.config = config
        self.attention = AttentionPooling(d_model, config) if config.pooling == "attention" else None
        self.projection = None if config.d_out is None else nn.Linear(d_model, config.d_out, bias=False)

    def forward(self, output: Tensor) -> Tensor:
        """output [N, T, D] -> [N, E]."""
        if self.attention is not None:
            x = self.attention(output)
        else:
            everything = torch.ones(output.shape[:2], dtype=torch.bool, device=output.device)
            x = pool(output, everything, "cls" if self.config.pooling == "cls" else "mean")
        out: Tensor = x if self.projection is None else self.projection(x)
        return out
