"""The text itself, its words shaded by a head: by what the selected tokens attend to, or by what attends to them.

Shapes: U units, tokens or words of the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from encoder.documents.document import Section
from encoder.drawing.picture import EXACT_BYTES, Picture, shaded_text
from encoder.figures import disambiguate
from encoder.figures.numbers import three_digits
from encoder.maps import HeadMap, head_map
from encoder.maps.aggregate import TokenMap
from encoder.measure.passage import Direction, Shades, passage, shades
from encoder.trace.trace import Trace
from encoder.views.options import AS_COMPUTED, Options
from encoder.views.view import STRONGEST, HeadView, named, view_code


@dataclass(frozen=True, repr=False)
class Text(HeadView):
    """The view Text. selected: token positions that the map shows."""

    shown: HeadMap
    direction: Direction
    selected: tuple[int, ...]

    @cached_property
    def shades(self) -> Shades:
        """The numbers, computed when first asked for: a long text takes a while."""
        words, padding = self.options.words, self.options.padding
        return shades(self.trace, self.shown, self.direction, self.selected, words=words, padding=padding)

    @property
    def title(self) -> str:
        if not self.shades.selected:
            return f"The text, shaded by the mean weight that its tokens receive in {self.name}"
        if self.shades.direction == "to":
            return f"The text, shaded by what {self._selected} attends to in {self.name}"
        return f"The text, shaded by what attends to {self._selected} in {self.name}"

    @property
    def _selected(self) -> str:
        units = self.shades.selected
        return named(self.shades.labels, units, self._positions) if len(units) <= 4 else f"{len(units)} tokens"

    @property
    def _positions(self) -> list[int]:
        """The position of the first token of each unit."""
        return [tokens[0] for tokens in self.shades.units]

    def frame(self) -> pd.DataFrame:
        """A row a token or word: position, label, whether it is selected, and weight (empty: not shown)."""
        found = self.shades
        return pd.DataFrame(
            {
                "position": self._positions,
                "token": list(found.labels),
                "selected": [unit in found.selected for unit in range(len(found.units))],
                "weight": np.array(found.values, dtype=np.float32),
            }
        )

    def picture(self, exact_bytes: int = EXACT_BYTES, *, is_fixed: bool = False) -> Picture:
        """The shaded text, which a notebook shows.

        exact_bytes: more bytes of weights are rounded to 16 bits; is_fixed: without the weights of other selections,
        as a long text always is. A label has its position where its text occurs more than once.
        """
        text, found = passage(self.trace, self.shades.units), self.shades
        known = self.shown if isinstance(self.shown, TokenMap) and not is_fixed else None
        received = None if known is None else known.received().tolist()
        return shaded_text(
            text.paragraphs,
            found.values,
            labels=disambiguate(found.labels, self._positions),
            rows=found.rows,
            columns=found.columns,
            name=self.title,
            alt=f"{self.title}.",
            direction=self.direction,
            weights=None if known is None else known.weights.numpy(),
            means=received and [received[column] if column >= 0 else np.nan for column in found.columns],
            selected=found.selected,
            special=text.special,
            scale_to_max=self.options.scale_to_max,
            log=self.options.log,
            exact_bytes=exact_bytes,
        )

    def sentences(self) -> list[str]:
        found, unit = self.shades, "word" if self.options.words else "token"
        if not found.selected:
            said = f"The shade is the mean weight that a {unit} receives from all {unit}s in {self.name}."
        elif found.direction == "to":
            verb = "attends" if len(found.selected) == 1 else "together attend"
            said = f"The stronger a {unit}'s shade, the more {self._selected} {verb} to it in {self.name}."
        else:
            said = f"The stronger a {unit}'s shade, the more it attends to {self._selected} in {self.name}."
        values = np.nan_to_num(np.array(found.values), nan=0.0)
        most = int(values.argmax())
        if values[most] > 0:
            strongest = named(found.labels, [most], self._positions)
            said += f" The strongest is {strongest}: {three_digits(float(values[most]))}."
            said += f" Point at a {unit} for its number."
        else:
            said += " All weights are 0."
        return [said, *self.options.sentences()]

    def strongest(self) -> pd.DataFrame:
        """The tokens or words of the strongest shades, strongest first."""
        table = self.frame().dropna().sort_values("weight", ascending=False, kind="stable")
        return table.head(STRONGEST).drop(columns="selected")

    def sections(self) -> list[Section]:
        return [
            Section(self.title, picture=self.picture(), sentences=self.sentences()),
            Section("The strongest shades", table=self.strongest()),
        ]

    def facts(self) -> dict[str, str]:
        shaded = "the mean weight received"
        if self.selected and self.direction == "to":
            shaded = "what the selected tokens attend to"
        elif self.selected:
            shaded = "what attends to the selected tokens"
        said = {"View": "text", self.kind: self.name, "Shaded by": shaded, "Shades": self.options.colours}
        return said | self.options.facts()

    def code(self) -> str:
        layer, head = self.heads[0]
        direction = "" if self.direction == "to" else self.direction
        arguments = {"direction": direction, "selected": list(self.selected)}
        return view_code(f"text(trace, {layer}, {head}", arguments, self.options)


def text(
    trace: Trace,
    layer: int | None,
    head: int | None,
    *,
    direction: Direction = "to",
    selected: Sequence[int] = (),
    options: Options = AS_COMPUTED,
    shown: HeadMap | None = None,
) -> Text:
    """The text shaded by a head: by what the selected tokens attend to, or by what attends to them.

    Args:
        trace: of any length; above 512 tokens the options `pairs` and `words` are refused.
        layer, head: None: averaged over.
        direction: "to" or "from", as in `passage.shades`.
        selected: token positions; none: shades are the mean weight that a token receives.
        options: how the weights are shown.
        shown: the map with these options, where the caller has it already.

    Raises EncoderError for a layer, head or option that is not there.
    """
    trace = trace if options.padding else trace.unpadded
    if shown is None:
        shown = head_map(trace, layer, head, **options.cells)
    place = shown.row_of if direction == "to" else shown.column_of
    kept = tuple(sorted(token for token in set(selected) if place(token) is not None))
    return Text(trace, ((layer, head),), options, shown, direction, kept)
