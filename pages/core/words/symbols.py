"""Symbols of formulas inside a text that has no marks: d_k, W_Q and e^-1 as they are printed."""

import html
import re

from pages.core.words.markdown import plain

#: What of Markdown is not read as words: code, formulas, the address of a link.
_VERBATIM = re.compile(r"(`[^`]*`|\$[^$]*\$|\]\([^)]*\)|https?://\S+)")
_TAG = re.compile(r"(<[^>]*>)")
_SYMBOL = re.compile(r"\b([A-Za-z])_([A-Za-z]+)\b|\b(e)\^(-?\d+)")


def in_html(text: str) -> str:
    """The text as HTML, escaped. It is XML, too."""
    return _SYMBOL.sub(_printed, html.escape(text))


def of_html(text: str) -> str:
    """HTML with its symbols as they are printed; what is inside of a tag stays."""
    return "".join(part if part.startswith("<") else _SYMBOL.sub(_printed, part) for part in _TAG.split(text))


def _printed(found: re.Match[str]) -> str:
    base, below, power, exponent = found.groups()
    return f"{base}<sub>{below}</sub>" if base else f"{power}<sup>{exponent.replace('-', '−')}</sup>"


def in_markdown(text: str) -> str:
    """The text inside Markdown, escaped."""
    found, end = "", 0
    for one in _SYMBOL.finditer(text):
        found += plain(text[end : one.start()]) + _mathematics(one)
        end = one.end()
    return found + plain(text[end:])


def of_markdown(text: str) -> str:
    """Markdown with its symbols as they are printed; code, formulas and addresses stay."""
    parts = _VERBATIM.split(text)
    parts[::2] = [_SYMBOL.sub(_mathematics, part) for part in parts[::2]]
    return "".join(parts)


def _mathematics(found: re.Match[str]) -> str:
    base, below, power, exponent = found.groups()
    if power:
        return f"${power}^{{{exponent}}}$"
    return rf"${base}_\mathrm{{{below}}}$" if len(below) > 1 else f"${base}_{below}$"
