"""A traced text in pieces: its tokens or words, the spaces between them, and the weight that each one receives.

A unit is a token, or with `words` a word of several tokens.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from encoder.maps import HeadMap, aggregate
from encoder.trace import tokens
from encoder.trace.trace import Trace

#: Text and its unit; -1: no unit, like the space between two units.
Piece = tuple[str, int]
#: "to": selected units are queries, shades show what they attend to; "from": keys, shades show what attends to them.
Direction = Literal["to", "from"]
#: Longer rests of text before the first token or after the last one are replaced by "…": the text was cut there.
LONG_REST = 40


@dataclass(frozen=True)
class Passage:
    """paragraphs: for each sentence, pieces of text with their units; special: units that are not part of the text."""

    paragraphs: tuple[tuple[Piece, ...], ...]
    special: tuple[int, ...]


def passage(trace: Trace, units: Sequence[tuple[int, ...]]) -> Passage:
    """The text of a trace, with its special tokens. units: the tokens of each unit.

    Every unit occurs once, in order, and the pieces of a sentence together are the sentence as it was typed. Where
    several units are parts of one character (an emoji has four bytes, 한 three letters), the first has the character,
    and the others are empty.
    """
    source, sentence = trace.source, tokens.sentences(trace)
    real = tokens.is_content(trace)
    texts = ("", "") if source is None else (source.text, source.pair or "")
    paragraphs: list[list[Piece]] = [[], []]
    at, special = [0, 0], []
    for unit, group in enumerate(units):
        which = max(0, sentence[group[0]])
        if sentence[group[0]] < 0 and source is not None and source.pair is not None:
            which = 1  # padding follows the second sentence
        if source is None or not real[group[0]]:
            special.append(unit)
            apart = [(" ", -1)] if paragraphs[which] and paragraphs[which][-1] != (" ", -1) else []
            paragraphs[which] += [*apart, (trace.labels[group[0]], unit), (" ", -1)]
            continue
        start, end = source.offsets[group[0]][0], source.offsets[group[-1]][1]
        before, own = _parted(texts[which][at[which] : end], start - at[which])
        if len(before) >= LONG_REST and not at[which]:
            before = "… "  # a window of a long text begins here
        if before:
            paragraphs[which].append((before, -1))
        paragraphs[which].append((own, unit))
        at[which] = max(at[which], end)
    for which, rest in enumerate(text[place:] for text, place in zip(texts, at, strict=True)):
        _finish(paragraphs[which], rest, special)
    return Passage(tuple(tuple(pieces) for pieces in paragraphs if pieces), tuple(special))


def _parted(text: str, start: int) -> tuple[str, str]:
    """The text before a unit and the unit itself, whose leading spaces (of byte-level tokens) belong to the former.

    A unit of nothing but spaces keeps them.
    """
    before, own = text[: max(0, start)], text[max(0, start) :]
    spaces = len(own) - len(own.lstrip()) if own.strip() else 0
    return before + own[:spaces], own[spaces:]


def _finish(pieces: list[Piece], rest: str, special: list[int]) -> None:
    """Insert the text after the last token before the closing special tokens; "…" for a long rest, which was cut."""
    if not pieces or not rest:
        return
    place = len(pieces)
    while place > 0 and (pieces[place - 1][1] in special or pieces[place - 1] == (" ", -1)):
        place -= 1
    pieces.insert(place, (rest if len(rest) < LONG_REST else " …", -1))


@dataclass(frozen=True)
class Shades:
    """One weight for each unit of a text.

    units: the tokens of each; labels: their names; rows, columns: their places in the map, -1 where the map lacks a
    unit; values: the weight of each, NaN where it has none; selected: the selected units.
    """

    units: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: tuple[float, ...]
    selected: tuple[int, ...]
    direction: Direction


def shades(
    trace: Trace,
    shown: HeadMap,
    direction: Direction = "to",
    selected: Sequence[int] = (),
    *,
    words: bool = False,
    padding: bool = False,
) -> Shades:
    """The weight that the selected tokens give to each unit of a text, summed; or that each unit gives to them.

    Nothing selected: the mean weight that each unit receives, over all rows. shown: a map with the same `words` and
    `padding`; selected: token positions; those that the map does not show are left out.
    """
    units, _ = aggregate.token_groups(trace, words=words, padding=padding)
    rows = tuple(_place(shown.row_of(group[0])) for group in units)
    columns = tuple(_place(shown.column_of(group[0])) for group in units)
    sources, targets = (rows, columns) if direction == "to" else (columns, rows)
    place = shown.row_of if direction == "to" else shown.column_of
    chosen = sorted({at for token in selected if (at := place(token)) is not None})
    if not chosen:
        weights, targets = shown.received(), columns
    else:
        weights = shown.from_rows(chosen) if direction == "to" else shown.to_columns(chosen)
    found = weights.tolist()
    return Shades(
        units=units,
        labels=tuple(aggregate.group_label(trace, group) for group in units),
        rows=rows,
        columns=columns,
        values=tuple(found[target] if target >= 0 else math.nan for target in targets),
        selected=tuple(unit for unit, source in enumerate(sources) if source >= 0 and source in chosen),
        direction=direction,
    )


def _place(place: int | None) -> int:
    return -1 if place is None else place
