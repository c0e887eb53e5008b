"""AttentionContext: one layer's scale, mask, bias and rotation give the same attention by every way through it."""

from __future__ import annotations

import pytest
import torch

from encoder import TextEncoder
from encoder.model import attend
from tests.engine.conftest import tiny

pytestmark = pytest.mark.sample(3, "another architecture")

B, H, T, K = 2, 5, 9, 4


def drawn(model: TextEncoder, padded: bool) -> tuple[tuple[attend.AttentionContext, ...], tuple[torch.Tensor, ...]]:
    """The contexts of a batch whose second text has two padding tokens, and q, k, v [B, H, T, K]."""
    generator = torch.Generator().manual_seed(3)
    shape = (B, model.config.n_heads, T, model.config.d_head)
    q, k, v = (torch.randn(shape, generator=generator) for _ in range(3))
    mask = torch.ones(B, T, dtype=torch.bool)
    mask[1, T - 2 :] = False
    contexts = model.encoder.attention_contexts(torch.zeros(B, T), mask if padded else None)
    return contexts, (contexts[0].rotated(q), contexts[0].rotated(k), v)


@pytest.mark.parametrize("padded", [False, True])
@torch.no_grad()
def test_fused_and_explicit_attention_agree(variant: TextEncoder, padded: bool):
    contexts, (q, k, v) = drawn(variant, padded)
    assert [context.layer for context in contexts] == list(range(variant.config.n_layers))
    for context in contexts:
        pattern = context.pattern(context.scores(q, k))
        sums = pattern.sum(-1)
        if context.sinks is None:
            torch.testing.assert_close(sums, torch.ones(sums.shape))
        else:
            assert (sums >= 0.0).all()
            assert (sums < 1.0).all()
        torch.testing.assert_close(context.fused(q, k, v), attend.mix(pattern, v), atol=1e-5, rtol=1e-5)
        if (allowed := context.allowed()) is not None:
            hidden = ~allowed & allowed.any(-1, keepdim=True)  # a row without any allowed key is uniform
            assert not pattern.masked_select(hidden.expand_as(pattern)).any()


@pytest.mark.parametrize("padded", [False, True])
@torch.no_grad()
def test_some_rows_and_heads_are_those_of_the_whole(variant: TextEncoder, padded: bool):
    contexts, (q, k, _) = drawn(variant, padded)
    rows, heads = slice(2, 6), slice(1, 4)
    for context in contexts:
        whole = context.scores(q, k)
        torch.testing.assert_close(context.scores(q[:, :, rows], k, rows), whole[:, :, rows])
        some = context.scores(q[:, heads, rows], k[:, heads], rows, heads)
        torch.testing.assert_close(some, whole[:, heads, rows])
        half = context.float32_scores(q.bfloat16(), k.bfloat16())
        assert half.dtype == torch.float32
        unmasked = whole > torch.finfo(whole.dtype).min
        torch.testing.assert_close(half[unmasked], whole[unmasked], atol=0.1, rtol=0.05)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [0.0, -0.5])
def test_a_scale_that_is_not_positive_is_the_same_in_the_model_and_in_the_trace(causal: bool, scale: float):
    """Of 0, attention is uniform: every score is 0."""
    model = tiny(attention_scale=scale, causal=causal)
    trace = model.trace("the cat sat", request=("pattern", "z"))
    plain = model.trace("the cat sat")
    torch.testing.assert_close(plain.output, trace.output, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(plain.layer_attention(1), trace.values["layers.1.pattern"])
    if scale:
        return
    seen = torch.ones(plain.n_tokens, plain.n_tokens).tril() if causal else torch.ones(plain.n_tokens, plain.n_tokens)
    uniform = seen / seen.sum(dim=-1, keepdim=True)
    torch.testing.assert_close(plain.layer_attention(1), uniform.expand_as(plain.layer_attention(1)))
