"""The open atlas, its open head, and what this sentence says about the same head."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.corpus import Atlas
from encoder.figures.atlas import Means
from encoder.measure.head_definitions import BY_NAME, Definition
from encoder.measure.heads import HeadMeasures
from pages.core.corpora import atlases
from pages.core.view import View, selection
from pages.core.words import number
from pages.head_types.params import AtlasView
from pages.state import state


@dataclass(frozen=True)
class Opened:
    """here: the measures of this sentence, None if another model than the reader's made the atlas."""

    view: View
    atlas: Atlas
    measure: Definition
    layer: int
    head: int
    here: HeadMeasures | None

    @classmethod
    def of(cls, view: View, atlas: Atlas, params: AtlasView) -> Opened:
        """The open head is the reader's; in an atlas of another model, the page's own."""
        measure = BY_NAME[params.measure]
        if atlases.belongs(view, atlas):
            return cls(view, atlas, measure, view.layer, view.head, atlases.here(view, atlas))
        layer, head = params.foreign[0] if params.foreign else (0, 0)
        return cls(view, atlas, measure, min(layer, atlas.n_layers - 1), min(head, atlas.n_heads - 1), None)

    @property
    def name(self) -> str:
        """ "L4 H7"."""
        return f"L{self.layer} H{self.head}"

    @property
    def digits(self) -> int:
        """Decimals of the measure's numbers."""
        return 1 if self.measure.unit == "tokens" else 2

    def said(self, value: float, more: int = 0) -> str:
        """A value of the measure in a sentence."""
        return number(float(value), self.digits + more)

    def at(self, statistic: str = "mean") -> float:
        """The open head's statistic of the measure."""
        return float(self.atlas.array(self.measure.name, statistic)[self.layer, self.head])

    def here_at(self) -> float | None:
        """This sentence's value; None if it has none."""
        if self.here is None:
            return None
        value = float(self.here[self.measure.name][self.layer, self.head])
        return value if value == value else None

    def open(self, layer: int, head: int) -> None:
        """Open another head of the atlas. For callbacks."""
        if self.here is None:
            state.put(AtlasView.foreign, [(layer, head)])
        else:
            selection.open_head(layer, head)


def means(atlas: Atlas, measure: str, **look: str) -> Means:
    """The means of a measure with their intervals; look: of the points."""
    return Means(atlas.array(measure), atlas.array(measure, "low"), atlas.array(measure, "high"), **look)
