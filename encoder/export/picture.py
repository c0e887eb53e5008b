"""Pictures of HTML and SVG without a script, for reports and notebooks."""

from __future__ import annotations

import base64
import html
from functools import cache
from pathlib import Path

import numpy as np

#: Above this many bytes of 32-bit weights a report holds 16-bit weights instead.
EXACT_BYTES = 256_000
#: Control characters, which HTML cannot hold -> their symbols in Unicode.
CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}


class Picture(str):
    """A piece of HTML of class "seen", with escaped text. A page that shows one needs `style()` once."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows."""
        return f"<style>{style()}</style>{self}"


@cache
def style() -> str:
    """The CSS of every Picture, in light and in dark."""
    return Path(__file__).with_name("picture.css").read_text(encoding="utf-8")


def escape(text: object) -> str:
    """Text as HTML shows it, in content and in quoted attributes."""
    shown = str(text).translate(CONTROLS)
    return html.escape(shown.encode("utf-8", "replace").decode("utf-8"), quote=True)


def packed(weights: np.ndarray) -> dict[str, object]:
    """Weights [N, R, C] from 0 to 1 for a report's script, as 32-bit or, if there are many, 16-bit numbers."""
    whole = 4 * weights.size > EXACT_BYTES
    numbers = np.round(weights.clip(0, 1) * 65535).astype("<u2") if whole else weights.astype("<f4")
    return {"shape": list(weights.shape), "whole": whole, "weights": base64.b64encode(numbers.tobytes()).decode()}


def exact(value: float) -> str:
    """All digits of a 32-bit number, for hover labels."""
    return f"{value:.7g}"
