"""Entity: words of a text with one label."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entity:
    """Words with one label. positions: of their tokens; start, end: characters of the text (side 0) or of its pair (1);
    probability: the lowest of its words; of GLiNER, the score of the span.
    """

    label: str
    positions: tuple[int, ...]
    start: int
    end: int
    side: int
    probability: float
