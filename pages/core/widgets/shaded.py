"""A text with its parts on a background as strong as their numbers."""

from collections.abc import Callable, Iterable
from html import escape

from pages.core.words import number

#: Colours of a number above and below 0, red, green, blue.
ABOVE, BELOW = "0, 128, 120", "214, 96, 0"


def paragraph(
    name: str,
    text: str,
    parts: Iterable[tuple[int, int, float]],
    limit: float,
    is_cut: bool = False,
    said: Callable[[str, float], str] | None = None,
) -> str:
    """HTML of a text after its name, for a `div` of the class enc-shaded.

    parts: first character, the character after the last, and the number; limit: the number of the strongest colour;
    is_cut: a red mark after the last part; said: a part and its number in a sentence, which a click on it shows above
    the texts; None: a part answers to the pointer only.
    """
    return f'<p dir="auto"><small>{escape(name)}</small> {_shaded(text, parts, limit, is_cut, said)}</p>'


def answering(paragraphs: Iterable[str], hint: str) -> str:
    """HTML of paragraphs whose parts answer to a click, without the server: by the focus. hint: what to do."""
    return f'<div class="enc-shaded enc-answers"><small class="enc-hint">{hint}</small>{"".join(paragraphs)}</div>'


def _shaded(
    text: str,
    parts: Iterable[tuple[int, int, float]],
    limit: float,
    is_cut: bool,
    said: Callable[[str, float], str] | None,
) -> str:
    found, at = [], 0
    for start, end, value in parts:
        found.append(escape(text[at:start]))
        share = min(1.0, abs(value) / (limit or 1.0))
        colour = f"rgba({ABOVE if value >= 0 else BELOW}, {0.75 * share:.3f})"
        title = ("+" if value > 0 else "") + number(value) if said is None else escape(said(text[start:end], value))
        answers = "" if said is None else f' role="button" tabindex="0" data-said="{title}"'
        found.append(f'<span style="background:{colour}" title="{title}"{answers}>{escape(text[start:end])}</span>')
        at = end
    rest = escape(text[at:])
    if is_cut:
        found.append('<b class="enc-cut" title="The text is cut here.">✂</b>')
        rest = f'<span style="opacity:0.5">{rest}</span>' if rest.strip() else rest
    return "".join(found) + rest
