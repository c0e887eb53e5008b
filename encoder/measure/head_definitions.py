"""The measures of a head: formula, source and one sentence, which pages show next to the number; and your own ones."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from encoder import own as own_file
from encoder.errors import EncoderError, quoted
from encoder.own import check_name

if TYPE_CHECKING:
    from encoder.trace.trace import Trace

OWN = "defined here"
#: What the numbers of a measure are: 0 to 1, at least 0, at least 0, any.
UNITS = ("share", "nats", "tokens", "number")


@dataclass(frozen=True)
class Definition:
    """A measure. formula: LaTeX; unit: one of UNITS; sentence: for a learner; function: of a measure of your own."""

    name: str
    title: str
    unit: str
    formula: str
    source: str
    sentence: str
    function: Callable[[Trace], Any] | None = None

    @property
    def about(self) -> str:
        """Sentence, formula and source, in Markdown."""
        formula = f"\n\n$${self.formula}$$" if self.formula else ""
        return f"{self.sentence}{formula}\n\nSource: {self.source}."

    def limits(self, values: np.ndarray, n_tokens: int) -> tuple[float, float]:
        """The least and the largest value that the measure can have in a text of so many real tokens.

        A share: 0 to 1; an entropy in nats: 0 to ln n. Others: from 0, or less where a head has less, to the largest
        of `values`, those of all heads.
        """
        if self.unit == "share":
            return 0.0, 1.0
        if self.unit == "nats":
            return 0.0, math.ceil(100 * math.log(max(2, n_tokens))) / 100
        finite = values[np.isfinite(values)]
        low = math.floor(100 * finite.min(initial=0.0)) / 100
        return low, max(math.ceil(100 * finite.max(initial=-math.inf if finite.size else 1.0)) / 100, low + 0.01)

    def of(self, trace: Trace) -> np.ndarray:
        """float64 [L, H]: what the function gives. Raises EncoderError where it fails, and for another shape."""
        assert self.function is not None
        shape = trace.config.n_layers, trace.config.n_heads
        name = f"the measure {self.name!r}"
        found = own_file.call(name, self.function, trace)
        try:
            values = as_float64(found)
        except (TypeError, ValueError, RuntimeError):
            raise own_file.gave(name, self.function, found, f"numbers {shape}, layers x heads") from None
        if values.shape != shape:
            raise own_file.gave(
                name, self.function, None if found is None else values, f"numbers {shape}, layers x heads"
            )
        values.flags.writeable = False
        return values


def as_float64(found: Any) -> np.ndarray:
    """What a function of one's own gives, a tensor of any device or numbers, as an array of its own."""
    return np.array(found.detach().cpu().numpy() if hasattr(found, "detach") else found, dtype=np.float64)


#: The measures of `head_definitions.toml`, in its order.
HEAD_MEASURES = tuple(
    Definition(name, **fields)
    for name, fields in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
)
#: These, and then those that `register` added.
BY_NAME: dict[str, Definition] = {definition.name: definition for definition in HEAD_MEASURES}


def register(
    name: str, function: Callable[[Trace], Any], *, unit: str = "number", title: str = "", sentence: str = ""
) -> None:
    """Add a measure of your own: it is then in `measure.heads`, on the pages, in links, and in atlases that are built.

    function: trace -> [L, H] numbers. unit: "share" (0 to 1), "nats", "tokens", or "number" for any; title, sentence:
    for the pages. The same name again replaces it. Raises EncoderError for a name of this package.
    """
    check_name(name, {one.name for one in HEAD_MEASURES})
    if unit not in UNITS:
        raise EncoderError(f"unit={quoted(unit)} is unknown: choose one of {', '.join(UNITS)}.")
    BY_NAME[name] = Definition(name, title or name, unit, "", "your own function", sentence or title or name, function)


def own() -> list[Definition]:
    """The measures that `register` added."""
    return [one for one in BY_NAME.values() if one.function is not None]
