"""A traced text in pieces: what each token or word stands for, and the spaces between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from encoder.measure import tokens
from encoder.trace import Trace
from pages.shared.components.text_shade import Piece


@dataclass(frozen=True)
class Passage:
    """paragraphs: one a sentence, pieces of text with the unit that each stands for, -1: none; special: units that are
    no part of the text."""

    paragraphs: tuple[tuple[Piece, ...], ...]
    special: tuple[int, ...]


def passage(trace: Trace, units: Sequence[tuple[int, ...]]) -> Passage:
    """The text of a trace with its special tokens at their places. units: the tokens that each unit stands for.

    Every unit occurs once, in order, and the pieces of a sentence together are the sentence as it was typed.
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
        if before:
            paragraphs[which].append((before, -1))
        paragraphs[which].append((own or trace.labels[group[0]], unit))
        at[which] = max(at[which], end)
    for which, rest in enumerate(text[place:] for text, place in zip(texts, at, strict=True)):
        _finish(paragraphs[which], rest, special)
    return Passage(tuple(tuple(pieces) for pieces in paragraphs if pieces), tuple(special))


def _parted(text: str, start: int) -> tuple[str, str]:
    """What stands before a unit and the unit itself; spaces before it are no part of it, as in byte-level tokens."""
    before, own = text[: max(0, start)], text[max(0, start) :]
    spaces = len(own) - len(own.lstrip())
    return before + own[:spaces], own[spaces:]


def _finish(pieces: list[Piece], rest: str, special: list[int]) -> None:
    """What follows the last token of a sentence stands before the special tokens that close it; "…" where it is long:
    the text was cut."""
    if not pieces or not rest:
        return
    place = len(pieces)
    while place > 0 and (pieces[place - 1][1] in special or pieces[place - 1] == (" ", -1)):
        place -= 1
    pieces.insert(place, (rest if len(rest) < 40 else " …", -1))
