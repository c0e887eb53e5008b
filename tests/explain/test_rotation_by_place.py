"""The rotation of queries and keys by rows and columns, by time, by a table: as the explanation of one number shows
it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from encoder import explain
from encoder.errors import EncoderError
from encoder.explain.arithmetic import rotate
from encoder.measure import positions
from encoder.model.rotary import tubelet_angles
from tests.load import every_family


@pytest.mark.parametrize("name", ["dinov3", "vjepa2, wide heads"])
@pytest.mark.parametrize("component", [0, 3, 7])
def test_the_pair_becomes_what_the_model_uses(name: str, component: int):
    model = every_family.opened(every_family.ALL[name])[1]
    is_image = model.takes == "image"
    trace = model.trace_image(every_family.PIXELS[0]) if is_image else model.trace_pixels(every_family.FRAMES[0, :6])
    place = explain.Place(layer=1, head=2, query=5, key=13, component=component)
    for which in "qk":
        step = explain.projection(trace, place, which)
        turned = step.rotation
        assert component in turned.pair
        (a, b), (after_a, after_b) = turned.before, turned.after
        assert after_a == pytest.approx(a * np.cos(turned.angle) - b * np.sin(turned.angle), abs=1e-5)
        recorded = trace.q[1, 2, 5] if which == "q" else trace.k[1, 2, 13]
        assert (after_a, after_b) == pytest.approx(tuple(float(recorded[one]) for one in turned.pair))
    with pytest.raises(EncoderError, match="rows and columns"):
        positions.turned_products(trace, 0, 0, 1, 2, 4)


def test_a_pair_is_multiplied_by_its_row_of_the_table():
    model = every_family.opened(every_family.ALL["roformer, own table"])[1]
    trace = model.trace("w7 w20 w33 w8")
    turned = explain.projection(trace, explain.Place(layer=1, head=2, query=3, key=4, component=5), "k").rotation
    sin, cos = model.encoder.rotary_table.weight[4, [2, 6]].tolist()  # pair 2 of 4: components 4 and 5
    (a, b), recorded = turned.before, trace.k[1, 2, 4]
    assert turned.pair == (4, 5)
    assert turned.after == pytest.approx((a * cos - b * sin, b * cos + a * sin), abs=1e-5)
    assert turned.after == pytest.approx(recorded[4:6].tolist())
    assert np.tan(turned.angle) == pytest.approx(sin / cos)


def test_a_tubelet_turns_by_its_step_row_and_column():
    """Of width 6 each axis has one pair, whose two angles are equal: an ordinary rotation by the place itself."""
    token = torch.tensor([2 * 25 + 3 * 5 + 4])  # step 2, row 3, column 4 of 5 x 5
    cos, sin = tubelet_angles(token, 6, 10_000.0, 5)
    torch.testing.assert_close(cos[0], torch.tensor([2.0, 3.0, 4.0] * 2).cos())
    torch.testing.assert_close(sin[0], torch.tensor([2.0, 3.0, 4.0] * 2).sin())
    x = np.arange(6.0)[None]
    angles = np.array([[2.0, 3.0, 4.0]])
    assert rotate(x, angles, interleaved=True).shape == x.shape
