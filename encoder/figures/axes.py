"""What figures share: array checks, token axes, colour bars, a transparent background.

A token axis counts positions 0, 1, 2, ..., so a repeated word is two tokens. It is a category axis of these numbers:
Plotly then draws as many labels as fit, more after a zoom, and none between two tokens. The labels are given twice: as
`labelalias`, which Plotly uses for ticks and hover labels, and as `tickvals` and `ticktext`, which Plotly ignores
(`tickmode="auto"`) and pages/components/plot uses for its ticks. A token that occurs more than once has its position
in `labelalias`, "the (4)", and so in every hover label.
"""

import html
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from encoder.figures.colours import EMPHASIS, NEUTRAL, sequential
from encoder.figures.numbers import three_digits

CLEAR = "rgba(0,0,0,0)"
#: Longer labels are cut on the axes and in hover labels; nearly all tokens are shorter.
LONGEST_LABEL = 28
#: The upper edge of the plot, for a colour bar above it. At exactly 1 plotly.js moves the titles of both axes by half
#: of the bar's height into the tick labels (`_hColorbarMoveTitle`, meant for the layout's title).
ABOVE = 0.9999
#: Up to so many tokens a part of a long text labels each; of more tokens, about so many.
ALL_LABELS_UP_TO, LABELS_OF_A_PART = 48, 20
#: An axis of cells: labels without lines.
BARE = {"showgrid": False, "zeroline": False, "ticks": "", "automargin": True}


def as_array(x: object, *, name: str, ndim: int) -> np.ndarray:
    """Anything with `__array__` -> contiguous float32 of `ndim` axes. ValueError for another shape."""
    given = np.asarray(x)
    if given.ndim != ndim or given.size == 0:
        wanted = {1: "a vector [K]", 2: "a matrix [rows, columns]", 3: "an array of matrices"}[ndim]
        raise ValueError(f"{name} has shape {list(given.shape)}: {wanted} with at least one entry is needed.")
    return np.ascontiguousarray(given, dtype=np.float32)


def check_labels(labels: Sequence[str], needed: int, name: str) -> list[str]:
    """The labels as a list. ValueError if there are fewer than `needed`."""
    if len(labels) < needed:
        raise ValueError(f"{name} names {len(labels)} tokens where {needed} are drawn: specify one label a token.")
    return [str(label) for label in labels]


@lru_cache(4_096)
def isolated(label: str) -> str:
    """A token whose direction does not change its surroundings: "א → ב" keeps this order.

    Right-to-left text gets U+2068 and U+2069 around it (Unicode TR 9); any other stays as it is.
    """
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in label):
        return f"\u2068{label}\u2069"
    return label


def arrow(query: str, key: str) -> str:
    """ "query → key", read from left to right in every script."""
    shown = [isolated(label) for label in (query, key)]
    # A table takes its direction from the first letter; U+200E is an invisible left-to-right one.
    mark = "" if shown == [query, key] else "\u200e"
    return f"{mark}{shown[0]} → {shown[1]}"


@lru_cache(4_096)
def shown_label(label: str) -> str:
    """A token as an axis shows it: blanks made visible, Plotly's markup escaped, right-to-left text isolated."""
    text = label.replace("\n", "⏎").replace("\t", "⇥")
    text = "␣" * len(text) if text.strip() == "" else text
    if len(text) > LONGEST_LABEL:
        text = text[: LONGEST_LABEL - 1] + "…"
    return html.escape(isolated(text), quote=False)


def disambiguate(
    labels: Sequence[str], positions: Sequence[int | None] | None = None, among: Iterable[str] | None = None
) -> list[str]:
    """The labels; those that occur more than once with their position: "the (4)".

    positions: if they are not the places in `labels`; None: a place without a token, without position. among: all
    labels that are shown, if there are more than these.
    """
    often = {label for label, count in Counter(labels if among is None else among).items() if count > 1}
    places = range(len(labels)) if positions is None else positions
    return [
        f"{label} ({place})" if label in often and place is not None else label
        for label, place in zip(labels, places, strict=True)
    ]


def shown_name(label: str, name: str) -> str:
    """A name that begins with a label, such as "the (4)", as `shown_label` writes the label."""
    return shown_label(label) + html.escape(name[len(label) :], quote=False) if name.startswith(label) else name


def token_axis(
    labels: Sequence[str],
    first: int,
    count: int,
    *,
    title: str,
    downwards: bool = False,
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Layout of an axis of tokens. labels: of all positions; first, count: the cells that the figure draws.

    names: the tokens in hover labels, each beginning with its label; by default those of `disambiguate`.
    """
    positions = range(first, first + count)
    texts = [shown_label(labels[position]) for position in positions]
    names = disambiguate(labels) if names is None else names
    disambiguated = [shown_name(labels[position], names[position]) for position in positions]
    ends = [first - 0.5, first + count - 0.5]
    axis: dict[str, Any] = {
        **(_whole_text(count) if first == 0 else _part_of_text(first, count)),
        "range": ends[::-1] if downwards else ends,
        "tickvals": np.array(positions, dtype=np.int32),
        "ticktext": texts,
        "title": {"text": title, "standoff": 10},
        **BARE,
    }
    if axis["tickmode"] != "array":
        axis["labelalias"] = {str(position): name for position, name in zip(positions, disambiguated, strict=True)}
    elif axis["type"] == "linear":
        axis["ticktext"] = disambiguated  # the only text that Plotly uses for hover labels here
    if not downwards:
        longest = max((len(label) for label in labels[first : first + count]), default=0)
        # Horizontal only while the labels of a short sentence surely fit; vertical labels never overlap.
        axis["tickangle"] = 0 if count * longest <= 28 else -90
    return axis


def _whole_text(count: int) -> dict[str, Any]:
    """From token 0 on: Plotly chooses as many labels as fit, also after a zoom."""
    # A list, because Plotly.js ignores a typed array here.
    return {"type": "category", "categoryorder": "array", "categoryarray": list(range(count)), "tickmode": "auto"}


def _part_of_text(first: int, count: int) -> dict[str, Any]:
    """From a later token on. Categories do not work here: Plotly.js would draw a map of all earlier tokens, too."""
    if count <= ALL_LABELS_UP_TO:
        return {"type": "linear", "tickmode": "array"}
    step = -(-count // LABELS_OF_A_PART)
    return {"type": "linear", "tickmode": "linear", "tick0": first, "dtick": step, "tickformat": "d"}


def component_axis(count: int, *, title: str, downwards: bool = False) -> dict[str, Any]:
    """Layout of an axis of components (or positions) 0 .. count - 1, with about a dozen round numbers on it."""
    ticks = {"dtick": 1} if count <= 12 else {"nticks": 12}
    ends = [-0.5, count - 0.5]
    return {
        "range": ends[::-1] if downwards else ends,
        **ticks,
        "tickangle": 0,
        "title": {"text": title, "standoff": 6},
        **BARE,
    }


def plain_axis(title: str) -> dict[str, Any]:
    """Layout of an axis of numbers."""
    grid = "rgba(128,128,140,0.25)"
    return {"title": {"text": title, "standoff": 14}, "gridcolor": grid, "zerolinecolor": grid, "automargin": True}


def margin(top: int, right: int = 8) -> dict[str, int]:
    """Pixels around the plot."""
    return {"l": 8, "r": right, "t": top, "b": 8}


def neutral_layout(**more: Any) -> dict[str, Any]:
    """A transparent background for light and dark hosts; the host also chooses the text colours."""
    return {
        "template": go.layout.Template(),
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "margin": margin(44),
        "hoverlabel": {"align": "left"},
        "modebar": {"bgcolor": CLEAR, "color": NEUTRAL, "activecolor": EMPHASIS},
        **more,
    }


def colour_bar(title: str, **more: Any) -> dict[str, Any]:
    """A colour bar above the map, which leaves the width of a narrow screen to the map."""
    return {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": ABOVE,
        "yanchor": "bottom",
        "ypad": 8,
        "xpad": 0,
        "len": 220,
        "lenmode": "pixels",
        "thickness": 10,
        "outlinewidth": 0,
        "title": {"text": title, "side": "top", "font": {"size": 12}},
        "tickfont": {"size": 11},
        **more,
    }


def ends_below(end: float, *, around: bool = False) -> dict[str, Any]:
    """Ticks of a colour bar that ends below the largest number: the last one, where its last colour begins, says so.

    around: the bar runs from -end to end, both of which may be exceeded.
    """
    if around:
        return {"tickvals": [-end, 0, end], "ticktext": [f"< {three_digits(-end)}", "0", f"> {three_digits(end)}"]}
    return {"tickvals": [0, end / 2, end], "ticktext": ["0", three_digits(end / 2), f"> {three_digits(end)}"]}


def logarithmic_bar(title: str, largest: float, theme: str, decades: float, **more: Any) -> go.Scatter:
    """The colour bar of a map coloured by `colours.logarithmic`: from `largest` down by so many powers of ten.

    A map's own bar is linear in its values, so a trace without points has one that is linear in log10.
    """
    top = float(np.log10(largest))
    low = top - decades
    tens = np.arange(np.ceil(low - 1e-9), np.floor(top + 1e-9) + 1)
    ticks = np.union1d(tens[(tens > low + 0.4) & (tens < top - 0.4)], [low, top])
    texts = [f"{10**tick:.2g}" if tick < 2 else f"{10**tick:,.0f}" for tick in ticks]
    texts[0] = f"≤ {texts[0]}"
    return go.Scatter(
        x=[None],
        y=[None],
        mode="markers",
        hoverinfo="skip",
        showlegend=False,
        marker={
            "color": [low],
            "cmin": low,
            "cmax": top,
            "colorscale": sequential(theme),
            "showscale": True,
            "colorbar": colour_bar(f"{title} (log)", tickvals=ticks, ticktext=texts, **more),
        },
    )


def heading(text: str, above: int = 48) -> dict[str, Any]:
    """A title at the upper left of the map, `above` pixels higher, over the colour bar.

    It is an annotation, because a layout's own title would overlap the colour bar.
    """
    place = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": above}
    return {"text": html.escape(text, quote=False), "showarrow": False, "font": {"size": 15}, "borderpad": 0, **place}
