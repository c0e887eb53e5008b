"""Colours: seen on light and dark grounds, told apart with every common colour blindness, themes that rise evenly."""

from __future__ import annotations

import itertools
import tomllib

import numpy as np
import pytest

from encoder.figures import THEMES, thumbnails_lut
from encoder.figures import colours as colour
from tests.conftest import ROOT
from tests.test_theme import contrast

DARK = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]["dark"][
    "backgroundColor"
]
#: Machado, Oliveira and Fernandes 2009, full severity, for linear red, green and blue.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(rgb: object, blindness: str = "none") -> np.ndarray:
    """Red, green, blue 0..255 [..., 3] -> CIE L*a*b* [..., 3] under D65, as seen with a kind of colour blindness."""
    share = np.asarray(rgb, dtype=np.float64) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(BLINDNESS[blindness]).T, 0, 1)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = linear @ np.array(to_xyz).T / (0.95047, 1.0, 1.08883)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def hex_rgb(value: str) -> list[int]:
    return [int(value[start : start + 2], 16) for start in (1, 3, 5)]


def difference(one: str, other: str, blindness: str) -> float:
    return float(np.linalg.norm(lab(hex_rgb(one), blindness) - lab(hex_rgb(other), blindness)))


MARKS = [colour.QUERY, colour.KEY, colour.VALUE, colour.NEUTRAL, colour.EMPHASIS, colour.ATTENTION, *colour.SERIES]
MARKS += [shade for pair in colour.SIGNED.values() for shade in pair]


@pytest.mark.parametrize("shade", sorted(set(MARKS)))
def test_marks_are_seen_on_both_grounds(shade: str):
    assert contrast(shade, "#ffffff") >= 3
    assert contrast(shade, DARK) >= 3


@pytest.mark.parametrize("shade", [colour.QUERY_LABEL, colour.KEY_LABEL, colour.VALUE_LABEL, colour.EMPHASIS_LABEL])
def test_labels_carry_white_text(shade: str):
    assert contrast(shade, "#ffffff") >= 4.5


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("kind", colour.SIGNED)
def test_signs_have_distinct_colours(kind: str, blindness: str):
    assert difference(*colour.SIGNED[kind], blindness) > 30


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_twelve_series_have_distinct_colours(blindness: str):
    assert len(set(colour.SERIES)) == 12
    least = min(difference(one, other, blindness) for one, other in itertools.combinations(colour.SERIES, 2))
    assert least > (30 if blindness == "none" else 15)


@pytest.mark.parametrize("theme", THEMES)
def test_themes_rise_evenly(theme: str):
    """Lightness goes one way from the weight 0 to the weight 1, and never stands still."""
    assert (thumbnails_lut(theme).shape, thumbnails_lut(theme).dtype) == ((256, 3), np.uint8)
    lut = colour.on_white(thumbnails_lut(theme))
    lightness = lab(lut)[:, 0]
    steps = np.diff(lightness[::15]) * np.sign(lightness[-1] - lightness[0])
    assert steps.min() > 0
    assert abs(lightness[-1] - lightness[0]) > (40 if theme == "blue" else 60)  # blue has its contrast on dark, too


@pytest.mark.parametrize("theme", ["ylgnbu", "YlGnBu", "thermal"])
def test_any_scale_of_plotly_may_become_a_theme(theme: str, monkeypatch: pytest.MonkeyPatch):
    """CONTRIBUTING.md says so to who adds one."""
    monkeypatch.setattr(colour, "THEMES", (*THEMES, theme))
    assert len(np.unique(thumbnails_lut(theme), axis=0)) > 100


def test_luts_are_shared_and_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        thumbnails_lut("viridis")[0, 0] = 1


def test_attention_has_one_colour_which_is_transparent_at_zero():
    lut = thumbnails_lut()
    assert colour.is_by_opacity(lut)
    assert not colour.is_by_opacity(thumbnails_lut("viridis"))
    assert colour.sequential("blue") == ((0.0, "rgba(59,130,230,0)"), (1.0, "rgba(59,130,230,1)"))
    middle = [shade for place, shade in colour.logarithmic("blue", 1e-4) if abs(place - 1e-2) < 1e-9]
    assert middle == ["rgba(59,130,230,0.5)"], "half of the way in logarithms"
    script = (ROOT / "encoder" / "drawing" / "drawing.js").read_text(encoding="utf-8")
    style = (ROOT / "encoder" / "drawing" / "model_picture.css").read_text(encoding="utf-8")
    assert f'ATTENTION = "{colour.ATTENTION}"' in script
    assert f".enc-model-lines path {{ fill: none; stroke: {colour.ATTENTION};" in style


def test_viridis_is_viridis():
    assert colour.sequential("viridis")[0] == (0.0, "rgb(68,1,84)")
    assert colour.sequential("viridis")[-1] == (1.0, "rgb(253,231,37)")


def mixed(scale: tuple, place: float) -> np.ndarray:
    """The colour of a colourscale at a place, mixed linearly between its stops as Plotly does."""
    rgb = np.array([[float(part) for part in shade[4:-1].split(",")] for _, shade in scale])
    return np.stack([np.interp(place, [stop for stop, _ in scale], rgb[:, channel]) for channel in range(3)], axis=-1)


@pytest.mark.parametrize("weight", [1.0, 0.5, 0.184, 0.03, 0.0021, 0.0001])
def test_logarithmic_scale_follows_the_logarithm(weight: float):
    scale = colour.logarithmic("viridis", 1e-4)
    lut = thumbnails_lut("viridis").astype(float)
    place = (np.log10(weight) + 4) / 4 * 255
    expected = np.stack([np.interp(place, np.arange(256), lut[:, channel]) for channel in range(3)], axis=-1)
    assert np.abs(mixed(scale, weight) - expected).max() < 1.6


def test_logarithmic_scale_ends_at_its_floor():
    scale = colour.logarithmic("magma", 1e-4)
    assert scale[0][1] == scale[1][1]  # 0 looks like the floor
    places = [place for place, _ in scale]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, 1.0)


def test_zero_is_the_ground_in_signed_maps():
    low, below, above, high = colour.diverging("q")
    assert (low[0], below[0], above[0], high[0]) == (0.0, 0.5, 0.5, 1.0)
    assert below[1].endswith(",0)")
    assert above[1].endswith(",0)")
    assert high[1] == "rgba(59,130,230,1)"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: thumbnails_lut("jet"), "colours='jet': choose one of blue"),
        (lambda: colour.diverging("z"), "kind='z': choose one of q, k, v"),
        (lambda: colour.logarithmic("viridis", 0.0), "floor=0.0"),
    ],
)
def test_errors_say_what_is_possible(call, said: str):
    with pytest.raises(ValueError, match=said):
        call()
