"""The forward pass without options: a BERT, or a pre-norm encoder, as its paper describes it. Read this first.

`Encoder.forward` computes the same with every option of `EncoderConfig`, its hook points and torch's fused kernels;
`tests/engine/test_plain.py` compares the two. Here the weights are those of an Encoder, and everything else is written
out.

Shapes: B batch, T tokens (queries i, keys j), D d_model, H heads, K = D / H width of a head, F width of the FFN.
"""

import torch
from torch import Tensor

from encoder.model.encoder import Encoder
from encoder.model.layers import Attention, Block, FeedForward, LayerNorm


def forward(encoder: Encoder, ids: Tensor) -> Tensor:
    """ids [B, T] -> the vectors of the last layer [B, T, D]."""
    embedding, positions = encoder.embedding, encoder.embedding.positions.table
    assert positions is not None, "a plain encoder learns them"
    x = embedding.tokens(ids)  # [B, T, D]
    if embedding.segments is not None:  # every token belongs to the first text
        x = x + embedding.segments(torch.zeros_like(ids))
    x = x + positions.weight[: ids.shape[1]]  # [T, D], the same in every text
    if embedding.norm is not None:
        x = norm(embedding.norm, x)
    for layer in range(encoder.config.n_layers):
        x = block(encoder.block(layer), x, encoder.config.n_heads)
    return x if encoder.final_norm is None else norm(encoder.final_norm, x)


def block(layer: Block, x: Tensor, n_heads: int) -> Tensor:
    """One layer, x [B, T, D] -> [B, T, D]. x is the residual stream: each sublayer adds to it."""
    if layer.pre_norm:  # the sublayer reads a normalised copy, and the residual stream itself is never normalised
        x = x + attention(layer.attention, norm(layer.attention_norm, x), n_heads)
        return x + feed_forward(layer.ffn, norm(layer.ffn_norm, x))
    x = norm(layer.attention_norm, x + attention(layer.attention, x, n_heads))  # post-norm: the sum is normalised
    return norm(layer.ffn_norm, x + feed_forward(layer.ffn, x))


def attention(layer: Attention, x: Tensor, n_heads: int) -> Tensor:
    """x [B, T, D] -> [B, T, D]: each token's output is a weighted sum of the values of all tokens."""
    batch, n_tokens, d_model = x.shape

    def heads(vectors: Tensor) -> Tensor:
        return vectors.view(batch, n_tokens, n_heads, -1).transpose(1, 2)  # [B, T, D] -> [B, H, T, K]

    q, k, v = heads(layer.w_q(x)), heads(layer.w_k(x)), heads(layer.w_v(x))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5  # [B, H, T, T]: row i, column j is q_i . k_j / sqrt(K)
    pattern = torch.softmax(scores, dim=-1)  # every row sums to 1
    z = pattern @ v  # [B, H, T, K]
    z = z.transpose(1, 2).reshape(batch, n_tokens, d_model)  # the heads next to each other
    out: Tensor = layer.w_o(z)
    return out


def feed_forward(layer: FeedForward, x: Tensor) -> Tensor:
    """x [B, T, D] -> [B, T, F] -> [B, T, D]: the same two linear maps for every token."""
    out: Tensor = layer.w_out(torch.nn.functional.gelu(layer.w_in(x)))
    return out


def norm(layer: LayerNorm | None, x: Tensor) -> Tensor:
    """LayerNorm of each vector in x [B, T, D]: mean 0 and variance 1, then the learned gain and bias."""
    assert layer is not None, "a plain layer has every norm"
    assert layer.bias is not None, "a plain norm has a bias"
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / (centred.square().mean(dim=-1, keepdim=True) + layer.eps).sqrt() * layer.weight + layer.bias
