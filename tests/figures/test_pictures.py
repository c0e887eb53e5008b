"""Lines and shaded text: what the browser gets, in which colours it draws, and what it says of a token."""

from __future__ import annotations

import base64
import html
import json
import math
import re
import tomllib

import numpy as np
import pytest

from encoder.drawing import picture
from encoder.drawing.javascript import SHARED
from encoder.drawing.picture import attention_lines, shaded_text
from encoder.figures.attention import LOG_DECADES
from encoder.figures.axes import arrow
from encoder.figures.colours import HEADS
from tests.conftest import ROOT
from tests.run_javascript import evaluated
from tests.test_theme import contrast

TOKENS = ["[CLS]", "the", "cat", "</svg><b>&", "שלום"]
WEIGHTS = np.random.default_rng(3).dirichlet(np.full(5, 0.4), (2, 5)).astype(np.float32)
DRAWING = SHARED / "drawing.js"


# --- lines -----------------------------------------------------------------------------------------------------------


def test_lines_have_every_weight_and_the_colours_of_their_heads():
    drawn = attention_lines(WEIGHTS, TOKENS, labels=["L0 H2", "L1 H8"], alt="Lines.", threshold=0.2, queries=[1, 2])
    assert np.array_equal(drawn.arrays["weights"], WEIGHTS)
    said = drawn.header
    assert said["colours"] == HEADS[:2]
    assert (said["tokens"], said["keyTokens"]) == (TOKENS, None)
    assert (said["queries"], said["keys"], said["threshold"]) == ([1, 2], [], 0.2)
    assert said["names"] == [{}, {}], "the tokens themselves"
    named = attention_lines(WEIGHTS, TOKENS, labels="ab", alt="", names=(TOKENS, [*TOKENS[:4], "שלום (4)"])).header
    assert named["names"] == [{}, {4: "שלום (4)"}]


def test_many_weights_travel_as_16_bit_numbers():
    weights = np.random.default_rng(0).random((2, 200, 200), dtype=np.float32)
    drawn = attention_lines(weights, ["w"] * 200, labels="ab", alt="").arrays["weights"]
    assert drawn.dtype == np.uint16
    assert np.abs(drawn / 65535 - weights).max() < 1 / 65535
    exact = attention_lines(weights, ["w"] * 200, labels="ab", alt="", exact_bytes=weights.nbytes).arrays["weights"]
    assert np.array_equal(exact, weights)


def test_lines_between_other_tokens_than_themselves():
    drawn = attention_lines(WEIGHTS[0, :2], TOKENS[:2], key_tokens=TOKENS, alt="")
    assert (drawn.header["tokens"], drawn.header["keyTokens"]) == (TOKENS[:2], TOKENS)
    assert drawn.arrays["weights"].shape == (1, 2, 5)


@pytest.mark.parametrize(
    ("shape", "tokens", "message"),
    [
        ((1, 3, 4), 3, r"\[labels, tokens, key_tokens\] = \[1, 3, 3\], not \[1, 3, 4\]"),
        ((2, 3, 3), 3, r"= \[1, 3, 3\], not \[2, 3, 3\]"),
        ((13, 2, 2), 2, r"\b13 heads\b.* 1 to 12\b"),
        ((1, 513, 513), 513, r"\b513 tokens\b.* 512\b"),
        ((3,), 3, r"\[3\]: \[heads, queries, keys\]"),
    ],
)
def test_lines_say_what_does_not_fit(shape: tuple[int, ...], tokens: int, message: str):
    labels = ["h"] * (shape[0] if shape[0] > 2 else 1)
    with pytest.raises(ValueError, match=message):
        attention_lines(np.zeros(shape, np.float32), ["a"] * tokens, labels=labels, alt="")


# --- text ------------------------------------------------------------------------------------------------------------

WORDS = [("[CLS]", 0), (" ", -1), ("Der", 1), (" ", -1), ("</p><i>", 2), ("!", 3)]
LABELS = ["[CLS]", "der", "</p><i>", "!"]
PLACES = {"rows": range(4), "columns": [0, 1, 2, -1], "alt": "A </p>text."}


def test_a_text_has_its_pieces_and_its_weights():
    values = [0.5, 0.0, 0.125, math.nan]
    drawn = shaded_text([WORDS], values, labels=LABELS, selected=[1], special={0}, direction="from", **PLACES)
    assert drawn.header["paragraphs"] == [list(WORDS)]
    assert (drawn.header["selected"], drawn.header["special"], drawn.header["direction"]) == ([1], [0], "from")
    np.testing.assert_array_equal(drawn.arrays["values"], np.float32(values))
    assert set(drawn.arrays) == {"values", "rows", "columns"}, "nothing for another selection"
    known = shaded_text([WORDS], values, labels=LABELS, weights=WEIGHTS[0, :4, :3], means=values, **PLACES).arrays
    assert np.array_equal(known["weights"], WEIGHTS[0, :4, :3])
    with pytest.raises(ValueError, match=r"units\b.* \[3, 4\]"):
        shaded_text([WORDS], values[:3], labels=LABELS, **PLACES)


def test_shades_grow_with_the_weight_or_with_its_logarithm(tmp_path):
    weights = [0.5, 0.005, 0.05, 0.0, 2.0, None]
    call = f"{json.dumps(weights)}.map((weight) => [false, true].map((log) => shadeStrength(weight ?? NaN, 0.5, log)))"
    plain, logarithmic = zip(*evaluated(DRAWING, "shadeStrength", call, tmp_path), strict=True)
    assert plain == pytest.approx([1, 0.01**0.6, 0.1**0.6, 0, 1, 0])
    assert logarithmic == pytest.approx([1, 0.5, 0.75, 0, 1, 0])
    source = DRAWING.read_text(encoding="utf-8")
    assert re.findall(r"^const DECADES = (\d+);", source, re.MULTILINE) == [str(LOG_DECADES)], "as in maps"


# --- colours and words -----------------------------------------------------------------------------------------------


def page_themes() -> list[dict[str, str]]:
    """The colours of a picture in a page of its own: light, dark."""
    parts = (SHARED / "page.css").read_text(encoding="utf-8").split("@media (prefers-color-scheme: dark)")
    return [dict(re.findall(r"--st-([\w-]+)-color: (#\w{6});", part)) for part in parts]


def app_themes() -> list[dict[str, str]]:
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    found = [{name.removesuffix("Color"): one for name, one in theme[kind].items()} for kind in ("light", "dark")]
    return [one | {"background": one["background"]} for one in found]


def test_a_page_of_its_own_has_the_apps_colours_for_queries_and_keys():
    for page, app in zip(page_themes(), app_themes(), strict=True):
        assert (page["blue"], page["red"]) == (app["blue"], app["red"])


@pytest.mark.parametrize("hue", ["blue", "red"])
def test_letters_can_be_read_on_every_shade(hue: str, tmp_path):
    themes = [*page_themes(), *app_themes()]
    colours = [[theme[name] for name in ("background", hue, "text")] for theme in themes]
    channels = [[[int(one[k : k + 2], 16) for k in (1, 3, 5)] for one in theme] for theme in colours]
    call = (
        f"{json.dumps(channels)}.map(([ground, hue, text]) => Array.from({{ length: 101 }}, (_, k) => "
        "blend(ground, hue, k / 100)).map((shade) => [shade, ink(shade, luminance(text))]))"
    )
    drawn = evaluated(DRAWING, "blend, ink, luminance", call, tmp_path)
    for (ground, full, text), found in zip(colours, drawn, strict=True):
        shades = ["#" + "".join(f"{channel:02x}" for channel in shade) for shade, _ in found]
        assert (shades[0], shades[100]) == (ground, full)
        for shade, (_, ink) in zip(shades, found, strict=True):
            assert contrast({"#000": "#000000", "#fff": "#ffffff", "": text}[ink], shade) >= 4.5


def test_a_pair_of_tokens_is_written_as_in_maps(tmp_path):
    pairs = [["the", "cat"], ["שלום", "cat"], ["a (1)", "سلام (2)"], ["ا", "ب"], ["→", "1"]]
    written = evaluated(DRAWING, "arrow", f"{json.dumps(pairs)}.map((pair) => arrow(...pair))", tmp_path)
    assert written == [arrow(*pair) for pair in pairs]


# --- pages -----------------------------------------------------------------------------------------------------------


def test_a_notebook_shows_a_picture_in_a_frame_of_its_own():
    drawn = shaded_text([WORDS], [0.1] * 4, labels=LABELS, **PLACES)
    frame = re.fullmatch(r'<iframe title="([^"<]*)" [^<]*srcdoc="([^"]*)"></iframe>', drawn._repr_html_())
    assert frame is not None
    assert html.unescape(frame[1]) == "A </p>text."
    page = html.unescape(frame[2])
    assert picture.script() in page
    assert picture.style() in page
    (data,) = re.findall(r'data-block="([^"]*)"', page)
    assert base64.b64decode(data) == drawn.block()
    assert "</p><i>" not in page, "text travels in the block only"
