"""Lines and shaded text as HTML: which lines there are, how strong, in which colours, and what is said of them."""

from __future__ import annotations

import html.parser
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from encoder.export import lines_picture, text_picture
from encoder.export.lines_picture import attention_lines, line_cells
from encoder.export.picture import style
from encoder.export.text_picture import shaded_text
from encoder.figures.attention import LOG_DECADES
from encoder.figures.colours import HEADS, contrast, mixed

ROOT = Path(__file__).parents[2]
TOKENS = ["[CLS]", "the", "cat", "</svg><b>&", "שלום"]
WEIGHTS = np.random.default_rng(3).dirichlet(np.full(5, 0.4), (2, 5)).astype(np.float32)


class Elements(html.parser.HTMLParser):
    """(tag, attributes, text in it) of every element."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[list] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.found.append([tag, dict(attrs), ""])

    def handle_data(self, data: str) -> None:
        self.found[-1][2] += data

    def of(self, tag: str) -> list[tuple[dict, str]]:
        return [(attributes, text) for name, attributes, text in self.found if name == tag]


def drawn(source: str) -> list[tuple[str, str, float]]:
    """(colour, title, opacity) of each line, in the order of drawing."""
    found, colour, opacity = [], "", 0.0
    for tag, attributes, text in Elements(source).found:
        if tag == "g":
            colour, opacity = attributes["stroke"], float(attributes["stroke-opacity"])
        elif tag == "title":
            found.append((colour, text, opacity))
    return found


# --- lines -----------------------------------------------------------------------------------------------------------


def test_every_weight_from_the_threshold_on_is_a_line_of_its_heads_colour():
    source = attention_lines(WEIGHTS, TOKENS, labels=["L0 H2", "L1 H8"], threshold=0.2)
    found = drawn(source)
    strong = WEIGHTS >= 0.2
    assert [sum(colour == HEADS[head] for colour, _, _ in found) for head in (0, 1)] == strong.sum((1, 2)).tolist()
    weights = [float(title.rsplit(": ", 1)[1]) for _, title, _ in found]
    assert sorted(weights) == pytest.approx(sorted(WEIGHTS[strong].tolist()), rel=1e-6)
    opacities = [opacity for _, _, opacity in found]
    assert opacities == sorted(opacities), "the strongest lie on top"
    assert np.abs(np.array(opacities) - weights).max() < 1 / lines_picture.LEVELS
    assert "b" in {tag for tag, _, _ in Elements(source).found}, "each token's own"
    assert all(attributes.get("dir") == "auto" for attributes, _ in Elements(source).of("b"))
    assert [text for _, text in Elements(source).of("b")] == [*TOKENS, *TOKENS]


def test_selected_tokens_have_their_lines_alone_and_sums_beside_the_others():
    source = attention_lines(WEIGHTS, TOKENS, labels=["a", "b"], queries=[1, 2], threshold=0.9)
    titles = [title for _, title, _ in drawn(source)]
    assert len(titles) == int((WEIGHTS[:, 1:3] >= 0.9).sum())
    numbers = [float(text) for _, text in Elements(source).of("u")]
    assert numbers == pytest.approx(WEIGHTS[:, 1:3].sum(1).mean(0).tolist(), rel=6e-3), "the threshold leaves them be"
    selected = [attributes for attributes, _ in Elements(source).of("div") if attributes.get("class") == "selected"]
    assert [attributes["title"] for attributes in selected] == ["the (1)", "cat (2)"]
    assert re.search(r"\b2 queries\b[^<]* 2 heads\b", source)
    both = attention_lines(WEIGHTS, TOKENS, labels=["a", "b"], queries=[1], keys=[4])
    assert {title.split(": ")[0] for _, title, _ in drawn(both)} <= {"a", "b"}
    assert len(drawn(both)) == int((WEIGHTS[:, 1, 4] >= lines_picture.FAINTEST).sum())


def test_lines_are_bounded_and_the_strongest_are_kept():
    weights = np.random.default_rng(0).random((3, 128, 128), dtype=np.float32)
    source = attention_lines(weights, [f"w{k}" for k in range(128)], labels=["a", "b", "c"])
    assert source.count("<path d=") == lines_picture.MOST_LINES + 4  # and four in the legend
    assert f"4,000 of {int((weights >= lines_picture.FAINTEST).sum()):,} " in source
    assert len(source) < 700_000
    cells = line_cells(weights, threshold=0.5, most=10)
    assert cells.weights.tolist() == sorted(weights.ravel().tolist(), reverse=True)[:10]
    assert weights[cells.heads, cells.rows, cells.columns].tolist() == cells.weights.tolist()
    assert cells.among == int((weights >= 0.5).sum())


def test_lines_between_other_tokens_than_themselves():
    source = attention_lines(WEIGHTS[0, :2], TOKENS[:2], key_tokens=TOKENS)
    assert [text for _, text in Elements(source).of("b")] == [*TOKENS[:2], *TOKENS]
    assert "seen-swatch" not in source, "nothing to tell apart"
    with pytest.raises(ValueError, match="2 heads and 1 labels"):
        attention_lines(WEIGHTS, TOKENS)
    with pytest.raises(ValueError, match=r"key_tokens\b.* 4\b.* 5\b"):
        attention_lines(WEIGHTS[0], TOKENS, key_tokens=TOKENS[:4])


# --- text ------------------------------------------------------------------------------------------------------------

WORDS = [("[CLS]", 0), (" ", -1), ("Der", 1), (" ", -1), ("</p><i>", 2), ("!", 3)]
LABELS = ["[CLS]", "der", "</p><i>", "!"]


def units(source: str) -> list[tuple[dict, str]]:
    return [(attributes, text) for attributes, text in Elements(source).of("span") if "title" in attributes]


def test_a_units_shade_grows_with_its_weight_and_its_number_is_said():
    values = [0.5, 0.0, 0.125, math.nan]
    source = shaded_text([WORDS], values, labels=LABELS, selected=[1], special={0})
    found = units(source)
    assert [text.strip() for _, text in found] == ["[CLS]", "Der", "</p><i>", "!"]
    *titles, hidden = (attributes["title"] for attributes, _ in found)
    assert titles == ["der → [CLS]: 0.5", "der → der: 0", "der → </p><i>: 0.125"]
    assert re.fullmatch(r"!: \D*not shown\D*", hidden)
    shades = [re.findall(r"--a:([\d.]+)%", attributes.get("style", "")) for attributes, _ in found]
    assert shades == [[f"{100 * 0.5**0.6:.1f}"], [], [f"{100 * 0.125**0.6:.1f}"], []]
    assert "selected" in found[1][0]["class"]
    assert "special" in found[0][0]["class"]
    assert "--to:var(--s-key);--from:var(--s-query)" in source
    assert "--to:var(--s-query)" in shaded_text([WORDS], values, labels=LABELS, direction="from")


def test_shades_run_to_the_largest_or_follow_the_logarithm():
    values = [0.5, 0.005, 0.05, 0.0]
    own = units(shaded_text([WORDS], values, labels=LABELS, scale_to_max=True))
    assert "--a:100.0%" in own[0][0]["style"]
    log = units(shaded_text([WORDS], values, labels=LABELS, scale_to_max=True, log=True))
    assert [re.findall(r"--a:([\d.]+)%", one.get("style", "")) for one, _ in log] == [["100.0"], ["50.0"], ["75.0"], []]
    summed = units(shaded_text([WORDS], values, labels=LABELS, selected=[0, 1]))
    assert f"--a:{100 * 0.25**0.6:.1f}%" in summed[0][0]["style"], "full shade is 2, the most that two can give"
    with pytest.raises(ValueError, match=r"3 values.* 4 labels.* 4 units"):
        shaded_text([WORDS], values[:3], labels=LABELS)


@pytest.mark.parametrize("target", ["query", "key"])
def test_letters_can_be_read_on_every_shade(target: str):
    for share in np.linspace(0, 1, 101):
        for theme, ink in enumerate(text_picture.inks(float(share), target)):
            ground = mixed(text_picture.GROUND[theme], text_picture.HUES[target][theme], float(share))
            letters = {"b": "#000000", "w": "#ffffff", "": text_picture.TEXT[theme]}[ink]
            assert contrast(letters, ground) >= text_picture.READABLE


def test_the_colours_are_those_of_the_app_and_of_the_style():
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    for name, app in (("query", "blueColor"), ("key", "redColor")):
        assert text_picture.HUES[name] == (config["light"][app], config["dark"][app])
        assert re.findall(rf"--s-{name}: (#\w+);", style()) == list(text_picture.HUES[name])
    assert re.findall(r"--s-ground: (#\w+);", style()) == list(text_picture.GROUND)
    assert re.findall(r"--s-text: (#\w+);", style()) == list(text_picture.TEXT)


def test_the_app_draws_with_the_same_numbers():
    scripts = {
        "pages/components/lines_picture.js": {
            "LEVELS": lines_picture.LEVELS,
            "MOST_LINES": lines_picture.MOST_LINES,
        },
        "encoder/export/drawing.js": {
            "FAINTEST": lines_picture.FAINTEST,
            "DECADES": LOG_DECADES,
            "EASE": text_picture.EASE,
        },
    }
    for script, values in scripts.items():
        source = (ROOT / script).read_text(encoding="utf-8")
        for name, value in values.items():
            (said,) = re.findall(rf"^(?:export )?const {name} = ([\d./ ]+);", source, re.MULTILINE)
            over, _, under = said.partition("/")
            assert float(over) / float(under or 1) == value


def test_a_notebook_shows_a_picture_with_its_style():
    picture = shaded_text([WORDS], [0.1] * 4, labels=LABELS)
    shown = picture._repr_html_()
    assert shown.startswith("<style>")
    assert shown.endswith(str(picture))
