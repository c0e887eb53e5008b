"""One value next to an atlas, and one atlas next to another."""

from __future__ import annotations

import math

import numpy as np
import pytest

from encoder import corpus
from encoder.errors import AtlasError
from encoder.measure.head_measures import head_measures


def test_the_share_of_texts_below_a_value(atlas, model, texts):
    values = np.array([head_measures(model.trace(text))["self"][2, 1] for text in texts])
    for value in (float(np.quantile(values, 0.3)), -1.0, 2.0):
        exact = float((values < value).mean())
        width = float((np.abs(values - value) < 0.02).mean())  # a bin of the histogram is 0.02 wide
        assert corpus.standing(atlas, "self", 2, 1, value) == pytest.approx(exact, abs=width + 1e-9)
    assert math.isnan(corpus.standing(atlas, "self", 2, 1, math.nan))


def test_an_atlas_differs_from_itself_by_nothing(atlas):
    same = corpus.difference(atlas, atlas, "self", 0, 0)
    assert same.value == 0
    assert same.low == -same.high < 0
    assert same.high == pytest.approx(1.959964 * math.sqrt(2) * atlas.array("self", "se")[0, 0])
    with pytest.raises(AtlasError, match="choose"):
        corpus.difference(atlas, atlas, "self", 0, 99)
