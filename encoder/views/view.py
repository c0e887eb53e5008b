"""What the views of a head have in common: Map, Lines and Text."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from encoder.documents.document import Section
from encoder.figures import isolated
from encoder.maps import HeadMap
from encoder.model.config import EncoderConfig
from encoder.model.shown import Shown
from encoder.trace.trace import Trace
from encoder.views.options import Options, Place

#: Rows of a table of the strongest weights.
STRONGEST = 20


@dataclass(frozen=True, repr=False)
class HeadView(Shown, ABC):
    """A view of one head, or of several. heads: layer and head of each; None: averaged over."""

    trace: Trace
    heads: tuple[Place, ...]
    options: Options

    def __post_init__(self) -> None:
        """Layers and heads counted from the end become those counted from 0."""
        from_0 = []
        for layer, head in self.heads:
            found = self.trace.place(layer or 0, head or 0)
            from_0.append((None if layer is None else found[0], None if head is None else found[1]))
        object.__setattr__(self, "heads", tuple(from_0))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.name}, {self.trace.n_tokens:,} tokens>"

    @property
    def names(self) -> list[str]:
        """The name of each head."""
        return [head_name(self.trace.config, *place) for place in self.heads]

    @property
    def name(self) -> str:
        """The name of the head, or of the heads."""
        first, *more = self.names
        return " + ".join(self.names) if len(more) <= 3 else f"{first} and {len(more)} more heads"

    @property
    def kind(self) -> str:
        """What a report calls the first map: of one head, or an average."""
        return "Map" if None in self.heads[0] else "Head"

    @property
    @abstractmethod
    def title(self) -> str:
        """What the view shows, in a few words."""

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """The numbers shown."""

    @abstractmethod
    def strongest(self) -> pd.DataFrame:
        """The largest of them, largest first, as a short table."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """What the view shows, in words."""

    @abstractmethod
    def sections(self) -> list[Section]:
        """Parts of a report: the picture with its sentences, and its strongest numbers."""

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """The settings, in words."""

    @abstractmethod
    def code(self) -> str:
        """Python that makes the view again from `trace`: `view`, and in `table` its numbers."""


def head_name(config: EncoderConfig, layer: int | None, head: int | None) -> str:
    """The name of a map: "L0 H2"; where layer or head is None, of an average: "L0, mean of 12 heads"."""
    if layer is not None and head is not None:
        return f"L{layer} H{head}"
    if layer is not None:
        return f"L{layer}, mean of {config.n_heads} heads"
    if head is not None:
        return f"H{head}, mean of {config.n_layers} layers"
    return f"Mean of all {config.n_layers * config.n_heads} heads"


def places_in(tokens: Sequence[int], place: Callable[[int], int | None]) -> tuple[int, ...]:
    """The rows or columns of tokens, ascending. place: `row_of` or `column_of` of a map; tokens not shown have none."""
    return tuple(sorted({found for token in tokens if (found := place(token)) is not None}))


def named(labels: Sequence[str], chosen: Sequence[int], places: Sequence[int]) -> str:
    """Some rows or columns as text, with the positions of their tokens. places: the position of each label."""
    return ", ".join(f"{isolated(labels[at])} ({places[at]})" for at in chosen)


def selected_tokens(shown: HeadMap, queries: Sequence[int], keys: Sequence[int]) -> dict[str, object]:
    """The token positions of selected rows and columns, as `view_code` takes them."""
    rows, columns = shown.places
    return {"queries": [rows[row] for row in queries], "keys": [columns[column] for column in keys]}


def view_code(call: str, arguments: Mapping[str, object], options: Options, draw: str = "picture") -> str:
    """Python lines that make a view. call: "lines(trace, [(0, 2)]"; arguments that are empty or 0 are left out."""
    given = "".join(f", {name}={value!r}" for name, value in arguments.items() if value)
    changed = ", ".join(f"{name}={value!r}" for name, value in options.changed().items())
    given += f", options=export.Options({changed})" if changed else ""
    return f"from encoder import export\nview = export.{call}{given})\ntable = view.frame()\nview.{draw}()"
