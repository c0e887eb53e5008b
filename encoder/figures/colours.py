"""Colours, one meaning each, the same on every page and in every figure.

    queries blue        keys red            values green
    attention           blue in every view; a map may have another theme that the reader chooses, one of THEMES
    signed values       a pair around 0; 0 itself is transparent and shows the page's background
    series              twelve colours for heads or curves drawn over each other

A figure does not know whether it is shown on a light or a dark page. Therefore every colour of a line, bar or signed
map has a contrast of at least 3 to 1 (WCAG 2.2, 1.4.11) to white and to the app's dark background.
"""

from functools import cache
from typing import Literal

import numpy as np
import plotly.colors

Kind = Literal["q", "k", "v", "residual", "position", "signed"]

QUERY = "#3b82e6"
KEY = "#e0434f"
VALUE = "#23985a"
#: The same three, dark enough for white text.
QUERY_LABEL = "#1f63c4"
KEY_LABEL = "#c9303f"
VALUE_LABEL = "#1c8047"
#: Any other curve or bar.
NEUTRAL = "#7d7b8a"
#: A total or a threshold; also a number beyond the end of a scale from 0.
EMPHASIS = "#a05cd6"
#: A number beyond the ends of a scale around 0: (below the negative end, above the positive one).
BEYOND = ("#b0307f", "#6a5cd6")
EMPHASIS_LABEL = "#6a45b8"

#: kind -> (colour of negative values, colour of positive values). Colour-blind readers can distinguish them.
SIGNED: dict[str, tuple[str, str]] = {
    "q": ("#c9761a", QUERY),
    "k": ("#0e96a3", KEY),
    "v": ("#c2409a", VALUE),
    "residual": ("#c9761a", "#0e96a3"),
    "position": ("#c9761a", "#0e96a3"),
    "signed": ("#c9761a", "#0e96a3"),
}

#: Found by search: the least difference between any two (CIE 1976) is 37, and 17 with each kind of colour blindness.
#: In this order the first few are the farthest apart.
SERIES = (
    "#0c7bfd", "#f55d02", "#5b6a70", "#fe0eba", "#8108ff", "#9b9353",
    "#8f34c2", "#1b7a4a", "#878ecf", "#a04619", "#23ac1e", "#e5659f",
)  # fmt: skip

#: Lines of up to twelve heads over one another. Searched for the largest smallest distance (CIEDE2000 at least 20
#: between any two, 13 as seen with protanopia or deuteranopia by Machado et al. 2009), among colours with a contrast of
#: at least 2 to white and 2.6 to the dark theme. In this order the first few are as far apart as they can be.
HEADS = (
    "#8877ff", "#bbbb00", "#aa2200", "#ee3388", "#665555", "#bbaabb",
    "#aa7744", "#1133ff", "#ee9988", "#77bbff", "#558888", "#992288",
)  # fmt: skip

#: Attention: as opaque as the weight is large, so 0 is the page itself, light or dark.
ATTENTION = "#3b82e6"
#: Names of the themes for attention. The first is ATTENTION. The others are opaque and perceptually uniform; "greys" is
#: for print, from white to black.
THEMES = ("blue", "viridis", "cividis", "magma", "inferno", "plasma", "greys")
_GREYS = ("rgb(255,255,255)", "rgb(0,0,0)")


@cache
def sequential(theme: str) -> tuple[tuple[float, str], ...]:
    """Colourscale of an attention theme: (place 0..1, CSS colour), evenly spaced. ValueError for an unknown theme."""
    lut = thumbnails_lut(theme)
    if is_by_opacity(lut):
        return (0.0, _css(lut[0], 0)), (1.0, _css(lut[0], 1))
    places = np.linspace(0, 255, 33).round().astype(int)  # finer than the eye sees, and short in the figure's JSON
    return tuple((float(place / 255), _css(lut[place])) for place in places)


#: A scale that leaves some numbers out is longer by this factor; numbers in what is added have a colour of their own,
#: and so have all beyond.
STEP = 1.08
#: A number is beyond an end if it is larger by more than rounding.
_ROUNDED = 1.0001
#: Where the colour of its own begins, as a share of the longer scale.
_EDGE = _ROUNDED / STEP


def over(values: np.ndarray, limit: float) -> np.ndarray:
    """Which numbers are beyond the end of their scale, and not only by rounding; NaN is not."""
    return np.abs(values) > _ROUNDED * limit


def is_beyond(values: np.ndarray, limit: float) -> bool:
    """Whether a number is beyond the end of its scale."""
    return bool(over(values, limit).any())


def stepped(theme: str) -> tuple[tuple[float, str], ...]:
    """`sequential` up to 1 / STEP, then the colour of what is beyond its end, which no weight below has."""
    stops, beyond = sequential(theme), _css(_rgb(EMPHASIS), 1)
    ends = (_EDGE, stops[-1][1]), (_EDGE, beyond), (1.0, beyond)
    return (*((place / STEP, shade) for place, shade in stops), *ends)


def stepped_around(stops: tuple[tuple[float, str], ...]) -> tuple[tuple[float, str], ...]:
    """A scale around 0 as `stepped` makes one from 0: at each end one more colour, of what is beyond this end."""
    below, above = (_css(_rgb(shade), 1) for shade in BEYOND)
    low, high = (1 - _EDGE) / 2, (1 + _EDGE) / 2
    between = [(0.5 + (place - 0.5) / STEP, shade) for place, shade in stops]
    return (
        *((0.0, below), (low, below), (low, stops[0][1])),
        *between,
        *((high, stops[-1][1]), (high, above), (1.0, above)),
    )


def logarithmic(theme: str, floor: float, steps: int = 64) -> tuple[tuple[float, str], ...]:
    """Colour scale whose colour follows log10 of the value, from `floor` (0 < floor < 1) and below to 1.

    The values stay linear, so a label shows the weight itself. Plotly mixes colours linearly between two stops; 64
    stops stay within one of 256 steps of the true logarithm.
    """
    if not 0 < floor < 1:
        raise ValueError(f"floor={floor}: a logarithmic scale needs a floor between 0 and 1, both excluded.")
    lut = thumbnails_lut(theme)
    share = np.linspace(0, 1, steps + 1)  # of the way from floor to 1, in logarithms
    if is_by_opacity(lut):
        faded = [(float(floor ** (1 - one)), _css(lut[0], float(one))) for one in share]
        return ((0.0, _css(lut[0], 0)), *faded[:-1], (1.0, _css(lut[0], 1)))
    colours = np.stack([np.interp(share * 255, np.arange(256), lut[:, channel]) for channel in range(3)], axis=-1)
    places = floor ** (1 - share)
    stops = [(float(place), _css(colour)) for place, colour in zip(places, colours, strict=True)]
    return ((0.0, _css(lut[0])), *stops[:-1], (1.0, _css(lut[-1])))


def diverging(kind: str) -> tuple[tuple[float, str], ...]:
    """Colourscale for signed values, 0 in the middle and transparent. ValueError for an unknown kind."""
    negative, positive = _signed(kind)
    return (
        (0.0, _css(negative, 1)),
        (0.5, _css(negative, 0)),
        (0.5, _css(positive, 0)),  # twice, or the mixture of both colours would show around 0
        (1.0, _css(positive, 1)),
    )


@cache
def _theme_stops(theme: str) -> np.ndarray:
    if theme not in THEMES:
        raise ValueError(f"colours={theme!r}: choose one of {', '.join(THEMES)}.")
    if theme == "blue":
        return np.array([_rgb(ATTENTION)] * 2)
    named = _GREYS if theme == "greys" else [colour for _, colour in plotly.colors.get_colorscale(theme)]
    return np.array([_rgb(colour) for colour in named])


@cache
def thumbnails_lut(colours: str = THEMES[0]) -> np.ndarray:
    """[256, 3] uint8, read-only: red, green, blue of a theme for each byte. ValueError for an unknown theme.

    Where all colours are the same, the byte is the opacity (`is_by_opacity`).
    """
    stops = _theme_stops(colours)
    there, where = np.linspace(0, 1, len(stops)), np.linspace(0, 1, 256)
    lut = np.stack([np.interp(where, there, stops[:, channel]) for channel in range(3)], axis=-1)
    lut = lut.round().astype(np.uint8)
    lut.flags.writeable = False
    return lut


def is_by_opacity(lut: np.ndarray) -> bool:
    """Whether a weight is shown by the opacity of one colour."""
    return bool((lut[0] == lut[-1]).all())


def on_white(lut: np.ndarray) -> np.ndarray:
    """[256, 3]: the colours as they look on white paper."""
    if not is_by_opacity(lut):
        return lut
    opacity = np.linspace(0, 1, 256)[:, None]
    return (255 - opacity * (255 - lut.astype(np.float64))).round().astype(np.uint8)


@cache
def signed_lut(kind: str = "signed") -> np.ndarray:
    """[256, 3] uint8, read-only: the two colours of signed values; its middle is 0, which is drawn transparent."""
    ends = [np.array(_rgb(one), dtype=np.uint8) for one in SIGNED[kind]]
    lut = np.repeat(np.stack(ends), 128, axis=0)
    lut.flags.writeable = False
    return lut


def _signed(kind: str) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    if kind not in SIGNED:
        raise ValueError(f"kind={kind!r}: choose one of {', '.join(SIGNED)}.")
    negative, positive = SIGNED[kind]
    return _rgb(negative), _rgb(positive)


def diverging_root(kind: str, steps: int = 16) -> tuple[tuple[float, str], ...]:
    """`diverging`, as opaque as the square root of the value is large: numbers far below the largest keep a colour.

    The values stay linear, so a label and the ticks of the bar show the number itself.
    """
    negative, positive = _signed(kind)
    shares = [float(one) for one in np.linspace(0, 1, steps + 1)]
    below = [(0.5 - 0.5 * one**2, _css(negative, one)) for one in reversed(shares)]
    return (*below, *((0.5 + 0.5 * one**2, _css(positive, one)) for one in shares))


def cyclic() -> tuple[tuple[float, str], ...]:
    """Colour scale for angles, with the same colour at both ends: 2π looks like 0."""
    named = plotly.colors.cyclical.Twilight
    return tuple((place / (len(named) - 1), _css(_rgb(colour))) for place, colour in enumerate(named))


def faded(colour: str, alpha: float) -> str:
    """ "#rrggbb" -> the same colour with an opacity."""
    return _css(_rgb(colour), alpha)


def _rgb(colour: str) -> tuple[int, int, int]:
    """ "#rrggbb" or "rgb(r, g, b)" -> numbers."""
    if colour.startswith("#"):
        return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
    red, green, blue = plotly.colors.unlabel_rgb(colour)
    return red, green, blue


def _css(colour: object, alpha: float | None = None) -> str:
    red, green, blue = (round(float(channel)) for channel in colour)  # type: ignore[attr-defined]
    return f"rgb({red},{green},{blue})" if alpha is None else f"rgba({red},{green},{blue},{alpha:g})"
