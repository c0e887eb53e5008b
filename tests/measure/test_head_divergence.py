"""Jensen-Shannon divergence of heads, and heads as points in a plane."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from encoder import TextEncoder
from encoder.measure import head_divergence
from encoder.measure.head_divergence import head_similarity
from tests.engine import by_hand

N = 12


def written(*maps: np.ndarray, **options):
    return by_hand.written(np.stack(maps)[None], **options)


def test_attention_written_by_hand():
    found = head_similarity(
        written(
            by_hand.identity(N), by_hand.to_previous(N), by_hand.uniform(N), by_hand.one_hot(N, 0), by_hand.identity(N)
        )
    )
    between = found.divergence
    assert np.array_equal(between, between.T)
    assert np.diag(between) == pytest.approx(np.zeros(5))
    assert between[0, 4] == pytest.approx(0, abs=1e-7)
    # Rows that share nothing are ln 2 apart; identity and "previous" agree in the first row only, as do identity and
    # "all to token 0"; "previous" and "all to token 0" agree in the first two.
    assert between[0, 1] == pytest.approx(math.log(2) * (N - 1) / N, rel=1e-6)
    assert between[0, 3] == pytest.approx(math.log(2) * (N - 1) / N, rel=1e-6)
    assert between[1, 3] == pytest.approx(math.log(2) * (N - 2) / N, rel=1e-6)
    # One-hot against uniform: H(m) - H(u) / 2 with m = (1 + 1/N) / 2 once and 1 / 2N else.
    top = (1 + 1 / N) / 2
    mixture = -top * math.log(top) - (N - 1) / (2 * N) * math.log(1 / (2 * N))
    assert between[0, 2] == pytest.approx(mixture - math.log(N) / 2, rel=1e-6)
    assert found.nearest(0, 0, 1) == [(0, 4, pytest.approx(0, abs=1e-7))]
    assert found.between((0, 0), (0, 2)) == between[0, 2]


@pytest.mark.parametrize("numbers", [30, 250_000])
@pytest.mark.parametrize("n_padding", [0, 3])
def test_against_scipy_in_float64(monkeypatch: pytest.MonkeyPatch, numbers: int, n_padding: int):
    monkeypatch.setattr(head_divergence, "CHUNK_NUMBERS", numbers)
    n = N + n_padding
    maps = np.stack([[by_hand.random(n, 3 * layer + head, 1.0 + head) for head in range(3)] for layer in range(2)])
    maps[..., :N, N:] = 0
    maps /= maps.sum(-1, keepdims=True)
    seen: list[float] = []
    found = head_similarity(by_hand.written(maps, n_padding=n_padding), progress=seen.append)
    flat = maps.reshape(6, n, n)[:, :N, :N]
    expected = [[np.mean(jensenshannon(a, b, axis=1) ** 2) for b in flat] for a in flat]
    np.testing.assert_allclose(found.divergence, expected, atol=2e-6)
    assert (found.n_rows, found.n_tokens, found.n_heads) == (N, N, 3)
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_of_a_long_text_some_rows_are_taken(minilm: TextEncoder, prose: str):
    trace = minilm.trace(prose)
    whole, part = head_similarity(trace), head_similarity(trace, most_numbers=2_000_000)
    assert whole.n_rows == trace.n_tokens
    assert part.n_rows == pytest.approx(trace.n_tokens / 4, abs=1)
    maps = np.stack([trace.attention(layer, head).double().numpy()[::4] for layer, head in ((0, 2), (1, 8))])
    assert part.between((0, 2), (1, 8)) == pytest.approx(np.mean(jensenshannon(*maps, axis=1) ** 2), abs=1e-5)
    assert np.corrcoef(whole.divergence.ravel(), part.divergence.ravel())[0, 1] > 0.98
