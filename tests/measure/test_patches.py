"""Attention over the patches of an image, against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import encoder
from encoder.edits import Scale
from encoder.errors import EncoderError
from encoder.inputs.digits import decode, examples
from encoder.measure import head_types, patches
from encoder.measure.head_measures import head_measures
from encoder.trace.trace import Trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    return encoder.load("digits-post", device="cpu").trace(decode(examples()["5"]))


def test_rows_over_the_image(trace: Trace):
    rows = patches.rows_of_token(trace, 6)
    assert rows.shape == (4, 4, 17)
    torch.testing.assert_close(rows[2, 1], trace.attention(2, 1)[6])
    over = patches.over_image(trace, rows)
    assert over.shape == (4, 4, 4, 4)
    assert float(over[2, 1, 3, 0]) == float(rows[2, 1, trace.layout.token(3, 0)])


def test_rollout_and_weighted_rows_sum_to_one(trace: Trace):
    torch.testing.assert_close(patches.rollout_rows(trace, 0).sum(-1), torch.ones(4))
    torch.testing.assert_close(patches.weighted_row(trace, 1, 2, 0).sum(), torch.tensor(1.0))


def test_distances_against_a_loop(trace: Trace):
    found = patches.attention_distances(trace)
    for layer, head in ((0, 0), (3, 2)):
        attention = trace.attention(layer, head)
        total = 0.0
        for i in range(16):
            on_patches = sum(float(attention[1 + i, 1 + j]) for j in range(16))
            for j in range(16):
                apart = 2 * math.dist(divmod(i, 4), divmod(j, 4))
                total += apart * float(attention[1 + i, 1 + j]) / on_patches
        assert float(found[layer, head]) == pytest.approx(total / 16, rel=1e-5)
    assert float(found.max()) < 2 * math.dist((0, 0), (3, 3))


def test_similarity_of_positions(trace: Trace):
    found = patches.position_similarity(trace)
    assert found.shape == (16, 16)
    torch.testing.assert_close(found.diagonal(), torch.ones(16))
    torch.testing.assert_close(found, found.T)
    near = [float(found[i, j]) for i in range(16) for j in range(16) if math.dist(divmod(i, 4), divmod(j, 4)) == 1]
    far = [float(found[i, j]) for i in range(16) for j in range(16) if math.dist(divmod(i, 4), divmod(j, 4)) > 1]
    expected = (sum(near) / len(near), sum(far) / len(far))
    assert patches.neighbour_similarity(trace) == pytest.approx(expected, abs=1e-6)


def test_a_text_has_no_patches(minilm: encoder.TextEncoder):
    with pytest.raises(EncoderError, match="patches"):
        patches.attention_distances(minilm.trace("A cat."))


def test_no_patch_is_a_repeated_token(trace: Trace):
    measures = head_measures(trace)
    assert np.isnan(measures["same_token"]).all()
    found = {one.head_type.name for layer in head_types.find(measures) for head in layer for one in head}
    assert "same" not in found


def test_norms_and_outliers(trace: Trace):
    found = patches.patch_norms(trace)
    assert found.patches.shape == (5, 16)
    assert float(found.patches[2, 6]) == pytest.approx(float(trace.values["layers.1.after_ffn"][7].norm()), rel=1e-6)
    assert float(found.special["[CLS]"][0]) == pytest.approx(float(trace.values["embedding"][0].norm()), rel=1e-6)
    model = encoder.load("digits-post", device="cpu")
    scaled = model.trace(decode(examples()["5"]), edits=[Scale("after_ffn", 20.0, layer=2, positions=(6,))])
    marked = patches.patch_norms(scaled).outliers
    assert marked[3].tolist() == [patch == 5 for patch in range(16)]
    assert not marked[:3].any()
    assert patches.registers(trace) == ()
