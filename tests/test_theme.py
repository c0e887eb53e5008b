"""Streamlit's settings: every option exists in the installed Streamlit, and every text can be read on its ground."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from encoder.figures import colours
from tests.conftest import ROOT

SETTINGS = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
TEXT_CONTRAST = 4.5  # WCAG 2.2, 1.4.3 level AA, for text
SHAPE_CONTRAST = 3.0  # 1.4.11, for what is not text: a switch, a tick, the edge of a button


def options(table: dict, prefix: str = "") -> dict[str, object]:
    """The leaves of `table` by their dotted names."""
    found = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= options(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two "#rrggbb" colours, 1 to 21 (WCAG 2.2's definition of contrast ratio)."""

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def mixed(colour: str, ground: str, share: float) -> str:
    """`colour` laid over `ground` with the opacity `share`."""
    channels = [(int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(share * over + (1 - share) * under):02x}" for over, under in channels)


def test_every_option_exists():
    from streamlit import config

    assert set(options(SETTINGS)) <= set(config.get_config_options())


def test_nothing_is_sent_or_asked():
    assert options(SETTINGS)["browser.gatherUsageStats"] is False
    assert options(SETTINGS)["server.showEmailPrompt"] is False
    assert options(SETTINGS)["client.showErrorDetails"] == "none"


def test_fonts_and_all_else_come_from_this_machine():
    assert not [value for value in options(SETTINGS).values() if "://" in str(value)]


@pytest.mark.parametrize("name", ["light", "dark"])
def test_text_can_be_read(name: str):
    theme = SETTINGS["theme"][name]
    places = [theme, theme["sidebar"]]
    grounds = [place[ground] for place in places for ground in ("backgroundColor", "secondaryBackgroundColor")]
    texts = {option: theme[option] for option in theme if option.endswith("TextColor") or option == "textColor"}
    texts["linkColor"] = theme["linkColor"]
    assert len(texts) >= 10
    poor = {
        (option, ground): round(contrast(colour, ground), 2)
        for option, colour in texts.items()
        for ground in grounds
        if contrast(colour, ground) < TEXT_CONTRAST
    }
    assert not poor


@pytest.mark.parametrize("colour", ["blue", "red", "green"])
@pytest.mark.parametrize(("name", "share"), [("light", 0.1), ("dark", 0.2)])
def test_boxes_can_be_read(name: str, share: float, colour: str):
    """Streamlit lays the colour over the page's ground, at 10% in a light and 20% in a dark theme."""
    theme = SETTINGS["theme"][name]
    ground = mixed(theme[f"{colour}Color"], theme["backgroundColor"], share)
    assert contrast(theme[f"{colour}TextColor"], ground) >= TEXT_CONTRAST


@pytest.mark.parametrize("name", ["light", "dark"])
def test_controls_can_be_seen(name: str):
    """The chosen item is written in the primary colour; a switched-on control is white on it."""
    theme = SETTINGS["theme"][name]
    primary = theme["primaryColor"]
    assert contrast(primary, theme["backgroundColor"]) >= TEXT_CONTRAST
    assert contrast(primary, theme["sidebar"]["backgroundColor"]) >= TEXT_CONTRAST
    assert contrast(primary, "#ffffff") >= SHAPE_CONTRAST


@pytest.mark.parametrize(("variable", "option"), [("ground", "backgroundColor"), ("accent", "primaryColor")])
def test_the_frame_has_the_colours_of_the_theme(variable: str, option: str):
    style = (ROOT / "pages/core/frame/frame.css").read_text(encoding="utf-8")
    pair = re.search(rf"--enc-{variable}: light-dark\((#\w+), (#\w+)\)", style)
    assert pair is not None
    assert list(pair.groups()) == [SETTINGS["theme"][name][option] for name in ("light", "dark")]


def test_pages_without_a_server_have_the_colour_of_the_theme():
    """They have no theme of Streamlit's: its variables, and what stands in for them, are copies."""
    light, dark = (SETTINGS["theme"][name]["primaryColor"] for name in ("light", "dark"))
    files = [path for folder in ("encoder", "pages") for path in (ROOT / folder).rglob("*.css")]
    copies = {
        (path.name, colour)
        for path in files
        for colour in re.findall(r"--st-primary-color[:,]\s*(#\w+)", path.read_text(encoding="utf-8"))
    }
    assert {colour for name, colour in copies if name == "page.css"} == {light, dark}
    assert {colour for name, colour in copies if name != "page.css"} == {light} == {colours.EMPHASIS_LABEL}


def test_contrast_is_the_standards():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the grey that just fails AA


@pytest.mark.parametrize("path", sorted((ROOT / "pages").rglob("*.py")), ids=lambda path: path.stem)
def test_every_button_has_a_name(path: Path):
    """An icon only is read aloud as the name of its picture, "keep icon"."""
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and "button" in call.func.attr:
            name = call.args[0] if call.args else None
            assert not (isinstance(name, ast.Constant) and not str(name.value).strip()), f"line {call.lineno}"


def test_no_style_watches_the_whole_page() -> None:
    """Rules that begin with html, body or .stApp and :has() made the browser style a drawing for seconds.

    It also looks, at each change, into every element to which a :has() without a name before it may belong:
    `:is(.a > *)` says which few these are. Seven such rules took a quarter of the styling of a new sentence.
    """
    watching = re.compile(r"(?:^|[\s,{}])(?:html|body|:root|\.stApp|\.stMain|\.stAppViewContainer)\S*:has\(")
    nameless = re.compile(r"[\w\])>~+] :has\(|:has\([^{},]*\)(?: >)? (?:\*\))?:(?:first|last)-child")
    for file in [*ROOT.glob("pages/**/*.css"), *ROOT.glob("encoder/drawing/*.css")]:
        style = file.read_text(encoding="utf-8")
        assert not watching.search(style), file.name
        assert not nameless.search(style), file.name


@pytest.mark.parametrize("path", ["pages/core/frame/frame.css", "encoder/drawing/shared.css"])
def test_a_button_that_is_hovered_or_pressed_can_be_read(path: str) -> None:
    css = (ROOT / path).read_text(encoding="utf-8")
    grounds = re.findall(r"enabled:is\(:hover, :active[^{]*{[^}]*background(?:-color)?: light-dark\((.*?)\)", css)
    assert len(grounds) == 1
    for ground, text in zip(
        grounds[0].split(", "), ("#ffffff", SETTINGS["theme"]["dark"]["backgroundColor"]), strict=True
    ):
        assert contrast(ground, text) >= TEXT_CONTRAST
