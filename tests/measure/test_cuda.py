"""The measures on the GPU against the CPU. Run wherever a GPU can be had: pytest -m cuda."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import encoder
from encoder import TextEncoder
from encoder.measure import norm_weighting as weighted
from encoder.measure.attention_rollout import rollout, rollouts
from encoder.measure.deletion import deletion_test
from encoder.measure.head_divergence import head_similarity
from encoder.measure.qk_space import qk_space

pytestmark = pytest.mark.cuda


def test_every_measure(minilm: TextEncoder, prose: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    on_gpu = encoder.load("minilm", device="cuda")
    exact, found = minilm.trace(prose), on_gpu.trace(prose)
    close = {"atol": 1e-3, "rtol": 1e-3}
    np.testing.assert_allclose(head_similarity(found).divergence, head_similarity(exact).divergence, **close)
    np.testing.assert_allclose(
        weighted.layer_shares(found, 3).norm_weighted,
        weighted.layer_shares(exact, 3).norm_weighted,
        **close,
    )
    torch.testing.assert_close(
        weighted.pooled_norm_weighted(found, 3, 4, size=16).cpu(),
        weighted.pooled_norm_weighted(exact, 3, 4, size=16),
        **close,
    )
    torch.testing.assert_close(rollouts(found).cpu(), rollouts(exact), **close)
    torch.testing.assert_close(rollout(found, 4, slice(2, 5)).cpu(), rollout(exact, 4, slice(2, 5)), **close)
    assert qk_space(found, 0, 2).strongest.tolist() == qk_space(exact, 0, 2).strongest.tolist()
    tests = [
        deletion_test(model, trace, 3, 4, counts=(1, 2), seeds=(0,))
        for model, trace in ((on_gpu, found), (minilm, exact))
    ]
    np.testing.assert_allclose(tests[0].by_attention, tests[1].by_attention, **close)
    np.testing.assert_allclose(tests[0].random, tests[1].random, **close)
