"""What the views Lines and Text show of a head: the numbers as a table, the picture, and both as parts of a report.

    seen = views.lines(trace, [(0, 2), (1, 8)], threshold=0.1)
    seen.frame()       # the numbers, a row a line
    seen.picture()     # HTML and SVG, which a notebook shows

Pages, files and the command line make these objects, so what is taken away is what is seen.

Shapes: N heads, R queries (rows), C keys (columns), U units of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from encoder.errors import EncoderError
from encoder.export import report
from encoder.export.document import Section, document
from encoder.figures import attention_lines, disambiguate, isolated, line_cells, shaded_text
from encoder.figures.lines import live_lines
from encoder.figures.picture import Picture, three_digits
from encoder.figures.shaded import live_text
from encoder.measure import head_map
from encoder.measure.aggregate import Pairs, SpecialTokens
from encoder.measure.head_map import WHOLE_TOKENS, DenseMap, HeadMap, LongMap
from encoder.measure.passage import Direction, Shades, passage, shades
from encoder.pipeline import TextEncoder
from encoder.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

#: Layer and head, counted from 0; None: averaged over.
Place = tuple[int | None, int | None]
#: Heads that can be told apart by colour.
MOST_HEADS = 12

_PAIRS = {
    "a-b": "Only weights from the first sentence to the second are shown.",
    "b-a": "Only weights from the second sentence to the first are shown.",
    "a-a": "Only weights within the first sentence are shown.",
    "b-b": "Only weights within the second sentence are shown.",
}


class Seen(Protocol):
    """A view of a head."""

    @property
    def name(self) -> str:
        """Of which head or heads."""

    @property
    def title(self) -> str:
        """What it shows, in a few words."""

    def frame(self) -> pd.DataFrame:
        """The numbers shown."""

    def strongest(self) -> pd.DataFrame:
        """The largest of them, largest first, as a short table."""

    def picture(self) -> Picture:
        """The view itself."""

    def sentences(self) -> list[str]:
        """What is seen, in words."""

    def sections(self) -> list[Section]:
        """Parts of a report: the picture with its sentences, and its strongest numbers."""

    def facts(self) -> dict[str, str]:
        """The settings, in words."""

    def code(self) -> str:
        """Python that makes it again from `trace`: `table` are the numbers shown."""


@dataclass(frozen=True)
class Options:
    """Which cells maps have, as in `aggregate.token_map`."""

    special: SpecialTokens = "show"
    pairs: Pairs = "all"
    words: bool = False
    padding: bool = False

    def sentences(self) -> list[str]:
        """What the options do to the weights."""
        said = []
        if self.special == "zero":
            said.append("Weights from and to special tokens are set to 0 here; the model itself saw them.")
        elif self.special == "renormalise":
            said.append(
                "Special tokens are left out and each query's other weights scaled to sum to 1; the model itself saw "
                "them."
            )
        if self.pairs != "all":
            said.append(_PAIRS[self.pairs])
        if self.words:
            said.append("Weights to the pieces of a word are summed, weights from them averaged.")
        return said

    def arguments(self) -> dict[str, object]:
        """Those that are not the default, as keyword arguments."""
        usual = Options()
        return {name: value for name, value in vars(self).items() if value != getattr(usual, name)}

    def facts(self) -> dict[str, str]:
        """The options in words; whole words and padding only where they are chosen."""
        said = {"Special tokens": report.SPECIAL_WORDS[self.special]}
        if self.pairs != "all":
            said["Between the sentences"] = self.pairs.upper().replace("-", " → ")
        if self.words:
            said["Whole words"] = "weights to the pieces of a word are summed, weights from them averaged"
        if self.padding:
            said["Padding"] = "shown"
        return said


def _code(call: str, arguments: dict[str, object]) -> str:
    """call: "lines(trace, [(0, 2)]"; arguments that are empty or 0 are left out."""
    said = "".join(f", {name}={value!r}" for name, value in arguments.items() if value)
    return f"from encoder.export import views\nseen = views.{call}{said})\ntable = seen.frame()\nseen.picture()"


def _named(labels: Sequence[str], places: Sequence[tuple[int, int]]) -> str:
    """Tokens with their positions. places: (index of the label, position)."""
    return ", ".join(f"{isolated(labels[place])} ({position})" for place, position in places)


# --- lines -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lines:
    """The view Lines. queries, keys: rows and columns of the maps that are held."""

    trace: Trace
    heads: tuple[Place, ...]
    maps: tuple[DenseMap, ...]
    threshold: float
    queries: tuple[int, ...]
    keys: tuple[int, ...]
    options: Options

    @property
    def names(self) -> list[str]:
        """What the heads are called."""
        return [report.head_name(self.trace.config, *place) for place in self.heads]

    @property
    def name(self) -> str:
        first, *more = self.names
        if not more:
            return first
        return " + ".join(self.names) if len(more) <= 3 else f"{first} and {len(more)} more heads"

    @property
    def title(self) -> str:
        return f"{self.name}, as lines"

    @property
    def weights(self) -> np.ndarray:
        """float32 [N, R, C]."""
        return np.stack([one.weights.numpy() for one in self.maps])

    def frame(self) -> pd.DataFrame:
        """The lines: weights from the threshold on, of the held tokens where some are held; a row a line.

        query, key: position of the first token that a row or column of the maps stands for.
        """
        import pandas as pd

        cells = line_cells(self.weights, threshold=self.threshold, queries=self.queries, keys=self.keys, most=None)
        order = np.lexsort((cells.columns, cells.rows, cells.heads))
        heads, rows, columns = (part[order] for part in (cells.heads, cells.rows, cells.columns))
        first = self.maps[0]
        names = ["mean" if place is None else place for pair in self.heads for place in pair]
        return pd.DataFrame(
            {
                "layer": [names[2 * head] for head in heads],
                "head": [names[2 * head + 1] for head in heads],
                "query": [first.query_tokens(row)[0] for row in rows],
                "query_token": [first.query_labels[row] for row in rows],
                "key": [first.key_tokens(column)[0] for column in columns],
                "key_token": [first.key_labels[column] for column in columns],
                "weight": cells.weights[order],
            }
        )

    def picture(self) -> Picture:
        first = self.maps[0]
        return attention_lines(
            self.weights,
            first.query_labels,
            key_tokens=first.key_labels,
            labels=self.names,
            threshold=self.threshold,
            queries=self.queries,
            keys=self.keys,
            places=first.places,
        )

    def live(self) -> dict[str, object]:
        """What lets the picture answer in a report."""
        first = self.maps[0]
        return live_lines(
            self.weights,
            first.query_labels,
            key_tokens=first.key_labels,
            labels=self.names,
            threshold=self.threshold,
            places=first.places,
        )

    def sentences(self) -> list[str]:
        first = self.maps[0]
        cells = line_cells(self.weights, threshold=self.threshold, queries=self.queries, keys=self.keys, most=1)
        said = [
            "A line is as strong as the weight from the token on the left to the token on the right; point at a line "
            "or token for its numbers."
        ]
        held = [
            _named(labels, [(place, tokens(place)[0]) for place in places])
            for labels, tokens, places in (
                (first.query_labels, first.query_tokens, self.queries),
                (first.key_labels, first.key_tokens, self.keys),
            )
        ]
        if held[0]:
            said.append(f"Only lines from {held[0]} are drawn; beside each key stands what goes there, summed.")
        if held[1]:
            said.append(f"Only lines to {held[1]} are drawn; beside each query stands what it gives there, summed.")
        if not cells.among:
            said.append(f"No weight is {three_digits(self.threshold)} or more, so there is no line.")
        else:
            row, column = int(cells.rows[0]), int(cells.columns[0])
            said.append(
                f"{self._counted(cells.among)} is {three_digits(float(cells.weights[0]))}, from "
                f"{_named(first.query_labels, [(row, first.query_tokens(row)[0])])} to "
                f"{_named(first.key_labels, [(column, first.key_tokens(column)[0])])} in "
                f"{self.names[int(cells.heads[0])]}."
            )
        return [" ".join(said), *self.options.sentences()]

    def _counted(self, among: int) -> str:
        """How many weights pass the threshold; "The strongest ..."."""
        n_heads, n_rows, n_columns = self.weights.shape
        every = n_heads * (len(self.queries) or n_rows) * (len(self.keys) or n_columns)
        if not self.threshold:
            return f"The strongest of {every:,} weights"
        return f"{among:,} of {every:,} weights are {three_digits(self.threshold)} or more; the strongest"

    def strongest(self) -> pd.DataFrame:
        """The strongest lines, strongest first."""
        table = self.frame().sort_values("weight", ascending=False, kind="stable").head(report.STRONGEST)
        table = table.rename(columns={"query_token": "from", "key_token": "to"})
        return table.drop(columns=["layer", "head"]) if len(self.heads) == 1 else table

    def sections(self) -> list[Section]:
        parts = [
            Section(self.title, picture=self.picture(), sentences=self.sentences(), live=self.live()),
            Section("The strongest of these weights", table=self.strongest()),
        ]
        first = self.maps[0]
        if self.queries:
            named = _named(first.query_labels, [(row, first.query_tokens(row)[0]) for row in self.queries])
            parts.append(Section(f"What {named} attends to", table=self._sums("to")))
        if self.keys:
            named = _named(first.key_labels, [(column, first.key_tokens(column)[0]) for column in self.keys])
            parts.append(Section(f"Who attends to {named}", table=self._sums("from")))
        return parts

    def _sums(self, side: str) -> pd.DataFrame:
        """The numbers beside the tokens of a side, largest first: a column a head, and their mean."""
        import pandas as pd

        first = self.maps[0]
        if side == "to":
            sums = self.weights[:, list(self.queries)].sum(1)
            labels, tokens = first.key_labels, first.key_tokens
        else:
            sums = self.weights[:, :, list(self.keys)].sum(2)
            labels, tokens = first.query_labels, first.query_tokens
        order = np.argsort(-sums.mean(0), kind="stable")[: report.STRONGEST]
        table = {"position": [tokens(place)[0] for place in order], "token": [labels[place] for place in order]}
        table |= {name: row[order] for name, row in zip(self.names, sums, strict=True)}
        if len(sums) > 1:
            table["mean"] = sums.mean(0)[order]
        return pd.DataFrame(table)

    def facts(self) -> dict[str, str]:
        first, *more = self.names
        said = {"View": "lines", "Map" if None in self.heads[0] else "Head": first}
        if more:
            said["Drawn over it"] = ", ".join(more)
        if self.threshold:
            said["Lines"] = f"weights from {three_digits(self.threshold)} on; the numbers count all"
        return said | self.options.facts()

    def code(self) -> str:
        first = self.maps[0]
        own = {
            "threshold": self.threshold,
            "queries": [first.query_tokens(row)[0] for row in self.queries],
            "keys": [first.key_tokens(column)[0] for column in self.keys],
        }
        return _code(f"lines(trace, {list(self.heads)}", own | self.options.arguments())


def lines(
    trace: Trace,
    heads: Sequence[Place],
    *,
    threshold: float = 0.0,
    queries: Sequence[int] = (),
    keys: Sequence[int] = (),
    special: SpecialTokens = "show",
    pairs: Pairs = "all",
    words: bool = False,
    padding: bool = False,
    make: Callable[[int | None, int | None], HeadMap] | None = None,
) -> Lines:
    """Lines of one head or of several drawn over one another.

    Args:
        trace: of at most 512 tokens.
        heads: (layer, head) of each, 1 to 12; None: averaged over.
        threshold: weaker weights are no lines.
        queries, keys: token positions that are held; those that the options do not show are left out.
        special, pairs, words, padding: as in `aggregate.token_map`.
        make: gives the map of a layer and head with these options, where somebody keeps them.

    Raises:
        EncoderError: too many tokens or heads, or a layer or head that the model has not.
    """
    trace = trace if padding else trace.unpadded
    if trace.n_tokens > WHOLE_TOKENS:
        raise EncoderError(
            f"Lines are drawn between at most {WHOLE_TOKENS} tokens; this text has {trace.n_tokens:,}. Choose the map, "
            "which shows texts of any length, or a shorter text."
        )
    if not 0 < len(heads) <= MOST_HEADS:
        raise EncoderError(f"{len(heads)} heads over one another: choose 1 to {MOST_HEADS}, which can be told apart.")
    options = Options(special, pairs, words, padding)
    make = make or partial(head_map.dense_map, trace, special=special, pairs=pairs, words=words, padding=padding)
    maps: tuple[DenseMap, ...] = tuple(make(layer, head) for layer, head in heads)  # type: ignore[misc]
    return Lines(
        trace=trace,
        heads=tuple(heads),
        maps=maps,
        threshold=threshold,
        queries=_places(queries, maps[0].row_of),
        keys=_places(keys, maps[0].column_of),
        options=options,
    )


def _places(tokens: Sequence[int], place) -> tuple[int, ...]:
    return tuple(sorted({place(token) for token in tokens} - {None}))


# --- the text itself -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Text:
    """The view Text. selected: token positions that the map shows; own, log: as in `figures.shaded_text`."""

    trace: Trace
    place: Place
    shown: HeadMap
    direction: Direction
    selected: tuple[int, ...]
    options: Options
    own: bool
    log: bool

    @cached_property
    def shades(self) -> Shades:
        """The numbers; of a long text they take their time, and are made when they are asked for."""
        words, padding = self.options.words, self.options.padding
        return shades(self.trace, self.shown, self.direction, self.selected, words=words, padding=padding)

    @property
    def name(self) -> str:
        """What the head is called."""
        return report.head_name(self.trace.config, *self.place)

    @property
    def title(self) -> str:
        if not self.shades.held:
            return f"The text, shaded by what its tokens receive in {self.name}"
        what = f"what {self._held} attends to" if self.shades.direction == "to" else f"who attends to {self._held}"
        return f"The text, shaded by {what} in {self.name}"

    @property
    def _held(self) -> str:
        held = [(unit, self.shades.units[unit][0]) for unit in self.shades.held]
        return _named(self.shades.labels, held) if len(held) <= 4 else f"{len(held)} tokens"

    def frame(self) -> pd.DataFrame:
        """A row a token or word: its position, its label, whether it is selected, and its weight (empty: no target)."""
        import pandas as pd

        found = self.shades
        return pd.DataFrame(
            {
                "position": [group[0] for group in found.units],
                "token": list(found.labels),
                "selected": [unit in found.held for unit in range(len(found.units))],
                "weight": np.array(found.values, dtype=np.float32),
            }
        )

    def picture(self) -> Picture:
        text = passage(self.trace, self.shades.units)
        return shaded_text(
            text.paragraphs,
            self.shades.values,
            labels=self._told,
            direction=self.shades.direction,
            held=self.shades.held,
            special=frozenset(text.special),
            own=self.own,
            log=self.log,
        )

    @property
    def _told(self) -> list[str]:
        """What each unit is called where it stands alone."""
        return disambiguate(self.shades.labels, [group[0] for group in self.shades.units])

    def live(self) -> dict[str, object] | None:
        """What lets the picture answer in a report; None of a long text, whose map is not held."""
        if not isinstance(self.shown, DenseMap):
            return None
        found = self.shades
        return live_text(
            passage(self.trace, found.units).paragraphs,
            self.shown.weights,
            labels=self._told,
            rows=found.rows,
            columns=found.columns,
            direction=self.direction,
            own=self.own,
            log=self.log,
        )

    def sentences(self) -> list[str]:
        found, unit = self.shades, "word" if self.options.words else "token"
        if not found.held:
            said = f"The shade is the mean weight that a {unit} receives from all in {self.name}."
        elif found.direction == "to":
            verb = "attends" if len(found.held) == 1 else "together attend"
            said = f"The stronger a {unit}'s shade, the more {self._held} {verb} to it in {self.name}."
        else:
            said = f"The stronger a {unit}'s shade, the more it attends to {self._held} in {self.name}."
        values = np.nan_to_num(np.array(found.values), nan=0.0)
        most = int(values.argmax())
        if values[most] > 0:
            said += (
                f" The strongest is {_named(found.labels, [(most, found.units[most][0])])} with "
                f"{three_digits(float(values[most]))}; point at a {unit} for its number."
            )
        else:
            said += " All weights are 0."
        return [said, *self.options.sentences()]

    def strongest(self) -> pd.DataFrame:
        """The tokens or words of the strongest shades, strongest first."""
        table = self.frame().dropna().sort_values("weight", ascending=False, kind="stable")
        return table.head(report.STRONGEST).drop(columns="selected")

    def sections(self) -> list[Section]:
        return [
            Section(self.title, picture=self.picture(), sentences=self.sentences(), live=self.live()),
            Section("The strongest shades", table=self.strongest()),
        ]

    def facts(self) -> dict[str, str]:
        directions = {"to": "what the selected tokens attend to", "from": "who attends to the selected tokens"}
        said = {"View": "text", "Map" if None in self.place else "Head": self.name}
        said["Shaded by"] = directions[self.direction] if self.selected else "the mean weight received"
        said["Shades"] = ("logarithmic" if self.log else "linear") + (", to the largest weight" if self.own else "")
        return said | self.options.facts()

    def code(self) -> str:
        layer, head = self.place
        own = {
            "direction": "" if self.direction == "to" else self.direction,
            "selected": list(self.selected),
            "own": self.own,
            "log": self.log,
        }
        return _code(f"text(trace, {layer}, {head}", own | self.options.arguments())


def text(
    trace: Trace,
    layer: int | None,
    head: int | None,
    *,
    direction: Direction = "to",
    selected: Sequence[int] = (),
    special: SpecialTokens = "show",
    pairs: Pairs = "all",
    words: bool = False,
    padding: bool = False,
    own: bool = False,
    log: bool = False,
    make: Callable[[int | None, int | None], HeadMap] | None = None,
) -> Text:
    """The text shaded by a head: by what the selected tokens attend to, or by who attends to them.

    Args:
        trace: of any length; above 512 tokens `pairs` and `words` are not taken.
        layer, head: None: averaged over.
        direction: "to" or "from", as in `passage.shades`.
        selected: token positions; none: shades are the mean weight that a token receives.
        special, pairs, words, padding: as in `aggregate.token_map`.
        own, log: as in `figures.shaded_text`.
        make: gives the map of a layer and head with these options, where somebody keeps them.

    Raises:
        EncoderError: a layer, head or option that is not there.
    """
    options = Options(special, pairs, words, padding)
    trace = trace if padding else trace.unpadded
    if make is not None:
        shown = make(layer, head)
    elif trace.n_tokens <= WHOLE_TOKENS:
        shown = head_map.dense_map(trace, layer, head, special=special, pairs=pairs, words=words, padding=padding)
    elif pairs == "all" and not words:
        shown = LongMap(trace, layer, head, special)
    else:
        raise EncoderError(
            f"Whole words and pairs of sentences are shown up to {WHOLE_TOKENS} tokens; this text has "
            f"{trace.n_tokens:,}. Leave these options out, or choose a shorter text."
        )
    place = shown.row_of if direction == "to" else shown.column_of
    held = tuple(sorted(token for token in set(selected) if place(token) is not None))
    return Text(trace, (layer, head), shown, direction, held, options, own, log)


# --- as a file -------------------------------------------------------------------------------------------------------


def file(suffix: str, model: TextEncoder, origin: report.Origin, seen: Lines | Text) -> bytes:
    """A view as the content of a file: a report, or its numbers. Raises EncoderError for a suffix not in FORMATS."""
    trace = seen.trace
    facts = report.facts(model, trace, **seen.facts())
    if suffix == ".csv":
        return report.as_csv(seen.frame())
    if suffix == ".parquet":
        return report.as_parquet(seen.frame(), {**facts, "Text": report.typed(trace)})
    if suffix != ".html":
        raise EncoderError(f"{suffix!r} is no format known here: choose one of {', '.join(report.FORMATS)}.")
    source, single = trace.source, (seen.heads[0] if isinstance(seen, Lines) else seen.place)
    code = "" if source is None else report.python_lines(origin, source.text, source.pair, seen.code(), padded=trace)
    grid = report.every_head_section(trace, None if None in single else single)  # type: ignore[arg-type]
    return document(
        f"{seen.name} of {model.name}",
        [*seen.sections(), grid],
        text=report.typed(trace),
        facts=facts,
        code=code,
        footer=report.footer(),
    ).encode()
