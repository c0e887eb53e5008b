"""`explain_score`: why two inputs have the score that they have.

Shapes: W_a, W_b words of the two inputs (or larger parts of long ones).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from encoder.errors import EncoderError
from encoder.model.shown import Shown
from encoder.scores.components import Circuit, Component, circuit
from encoder.scores.kinds import Cosine, Pairs, Score, score_of
from encoder.scores.placed import LEAST_PAIRS, LEAST_TEXTS, Place, place, random_cosines
from encoder.scores.runs import BothRuns, computed_once
from encoder.search.collection import Collection


@dataclass(frozen=True)
class WordEffect:
    """A word, and what the score loses without it. start, end: its characters in the text, after the prompt."""

    word: str
    effect: float
    start: int
    end: int


@dataclass(frozen=True, eq=False, repr=False)
class ScoreExplanation(Shown):
    """Why two inputs have their score. Each part is computed when it is first read.

    score: cosine, MaxSim, SPLADE's dot product or a cross-encoder's logit (`kind`); place: among pairs of the
    collection, None without one of 3 texts or more; each_word: as of `explain_score`.
    """

    model: str
    kind: str
    score: float
    place: Place | None
    source: Score
    each_word: bool = False

    def __repr__(self) -> str:
        sides = " x ".join(f"{len(side)} {side.level}s" for side in self.source.sides)
        higher = "" if self.place is None else f", higher than {self.place.share} of the collection"
        return f"<ScoreExplanation of a {self.kind} of {self.score:.4f}{higher}: {sides}, by {self.model}>"

    @property
    def percentile(self) -> float | None:
        """The share of pairs with a lower score, 0 to 100; None without a collection of 100 pairs (15 texts) or more,
        of fewer see `place`."""
        few = self.place is None or self.place.n_pairs < LEAST_PAIRS
        return None if self.place is None or few else self.place.percentile

    @computed_once
    def words_a(self) -> tuple[WordEffect, ...]:
        """The words of a: what the score loses without each. Long texts have phrases, sentences or passages."""
        return self._words(0)

    @computed_once
    def words_b(self) -> tuple[WordEffect, ...]:
        """The words of b."""
        return self._words(1)

    @computed_once
    def split(self) -> Pairs | None:
        """The split of the score among pairs, with its errors and labels; None where a cosine has an empty side."""
        return self.source.pairs()

    @property
    def pairs(self) -> np.ndarray:
        """float64 [W_a, W_b], adds up to `score`. MaxSim and SPLADE: a last row and column for special tokens, where
        these count; a cross-encoder: for a word with nothing of the other text. Raises EncoderError for an empty text.
        """
        if self.split is None:
            raise EncoderError(f"A {self.kind} with an empty text has no pairs of words: type a word in each text.")
        return self.split.matrix

    @computed_once
    def whole_circuit(self) -> Circuit:
        """The shares of all components, with their check. Raises EncoderError as `scores.circuit`."""
        return circuit(self.source)

    @property
    def circuit(self) -> tuple[Component, ...]:
        """Rows of name, share, measured: the shares add up to `score`."""
        return self.whole_circuit.components

    def _words(self, side: int) -> tuple[WordEffect, ...]:
        own = self.source.sides[side]
        if not len(own):
            return ()
        shift = len(own.prompt)
        return tuple(
            WordEffect(part.label, self.score - float(without), part.span[0] - shift, part.span[1] - shift)
            for part, without in zip(own.parts, self.source.without(side), strict=True)
        )

    def table(self) -> pd.DataFrame:
        """A row for each word: side, word, effect, start, end."""
        return pd.DataFrame(
            [
                {"side": side, "word": one.word, "effect": one.effect, "start": one.start, "end": one.end}
                for side, words in (("a", self.words_a), ("b", self.words_b))
                for one in words
            ]
        )


def explain_score(
    model: Any,
    a: Any,
    b: Any,
    collection: Collection | None = None,
    kind: str = "auto",
    prompts: tuple[str | None, str | None] = (None, None),
    each_word: bool = False,
    runs: BothRuns | None = None,
) -> ScoreExplanation:
    """Why two inputs have their score: two texts, two images or sounds, or one of each for a JointEncoder.

        >>> why = encoder.explain_score(model, "a cat", "a kitten")
        >>> why.score, why.words_a[1], why.pairs.sum()
        (0.79, WordEffect(word='cat', effect=0.49, ...), 0.79)

    kind: "auto" is the score that the checkpoint was trained for; or "cosine", "MaxSim", "SPLADE", "cross-encoder".
    collection: texts whose pairs give `percentile`, for a cosine. prompts: names of the prompts of a and b, for
    a cosine, as of `embed`. For a checkpoint with sides (`TextEncoder.side`), a is a query and b a document, as
    `encoder.search` does.

    A word's effect is exact and causal: the score minus the score when the model cannot attend to the word or pool it
    (`scores.sides`). Effects need not add up to the score. The pairs do: `scores.game` derives and cites their split
    and says what it assumes. The circuit's shares do, too (`scores.circuit`).

    A text of more than 64 words has at most 24 parts, phrases, sentences or passages; with each_word, its words up to
    128, which takes the longer the longer both texts are. What is longer than the model accepts is cut, as `embed`
    does, and `source.sides[0].cut_at` has the words at which.

    runs: `Runs` of the texts a and of the texts b, for a cosine: other explanations that get them, too, run no text
    again.

    Raises EncoderError for inputs that the model does not compare, and for a kind that it lacks.
    """
    source = score_of(model, a, b, kind, prompts, each_word, runs)
    score = source.value()
    placed = None
    if collection is not None and len(collection) >= LEAST_TEXTS and isinstance(source, Cosine):
        placed = place(score, random_cosines(collection))
    return ScoreExplanation(model.name, source.kind, score, placed, source, each_word)
