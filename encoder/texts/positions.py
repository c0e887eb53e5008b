"""Long texts: what counts, and where. The effect of a passage over its place, and an index of a model over texts.

Every passage of a text is left out in its place, in the text as it is and in its rotations: each passage is once at
each place (a Latin square; arXiv 2412.15241 removes and inserts passages at the beginning, in the middle and at the
end). The effect is 1 minus the cosine of the vectors with and without the passage. A passage is compared with itself at
other places, by the logarithm of its effect minus the mean of these logarithms. So what a passage says is taken out,
and what is left is the effect of the place.

The unit of an interval is a passage of one text, or a text of several: Student's t of the logarithms, so that the
interval of a ratio excludes 1 in about 5% of texts in which places count alike. The Position Sensitivity Index is
1 - min / max of the geometric mean effects of BINS places (after Zeng et al. 2025, arXiv 2505.13950, who take a
retrieval score in place of the effect). Chance by itself raises it: `by_chance` is what it reaches without any effect
of place.

Shapes: S passages, B bins, U units.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.model.shown import Shown
from encoder.scores.parts import Level, Part, cut_at, parts, sentences
from encoder.scores.sides import masked_pool, side_of
from encoder.trace import gradual

#: Places along a text; passages of a text, fewer of a long one, and of each of several texts.
BINS, MOST_PASSAGES, FEWER_PASSAGES, PASSAGES_OF_SEVERAL = 5, 10, 6, 5
#: Tokens in all runs of a single text: 6 passages of 512 tokens.
TOKENS = 6 * 7 * 512
#: A smaller effect, as a share of the text's mean effect, counts as this one: its logarithm would be rounding.
LEAST_SHARE = 0.001
#: Draws of the index without an effect of place.
DRAWS = 300


@dataclass(frozen=True, eq=False, repr=False)
class PositionSensitivity(Shown):
    """The effect of leaving out a passage, over its place.

    places [B]: the middle of each bin, 0 to 1; effect [B]: geometric mean effect there, NaN without a passage; low,
    high [B]: its 95% interval, of the place only; index: the Position Sensitivity Index; by_chance: 95% of draws
    without an effect of place have a smaller index; passages: of a single text (words, effect in its place); of_ends:
    95% interval of `first_over_last`; cut_at: the words at which a single text was cut; level: what the passages are,
    phrases or words of a text with fewer than 3 sentences.
    """

    places: np.ndarray
    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    index: float
    by_chance: float
    passages: tuple[tuple[str, float], ...]
    n_texts: int
    n_runs: int
    of_ends: tuple[float, float]
    cut_at: str = ""
    level: Level = "sentence"

    def __repr__(self) -> str:
        return f"<PositionSensitivity {self.index:.2f} of {self.n_texts:,} texts, {self.n_runs:,} runs>"

    def table(self) -> pd.DataFrame:
        """A row for each bin: its place, the mean effect there, and the interval."""
        return pd.DataFrame({"place": self.places, "effect": self.effect, "low": self.low, "high": self.high})

    @property
    def first_over_last(self) -> float:
        """The effect at the beginning divided by that at the end."""
        return float(self.effect[0] / self.effect[-1])

    @property
    def is_certain(self) -> bool:
        """Whether the interval of `first_over_last` excludes 1."""
        return self.of_ends[0] > 1 or self.of_ends[1] < 1


def position_sensitivity_gradually(
    model: TextEncoder, texts: str | Sequence[str], seed: int = 0
) -> Generator[float, None, PositionSensitivity]:
    """`position_sensitivity` in parts: yields the share that is done."""
    given, model = [texts] if isinstance(texts, str) else list(texts), model.searching("document")
    squares: list[np.ndarray] = []
    passages: tuple[tuple[str, float], ...] = ()
    cut = ""
    level: Level = "sentence"
    for done, text in enumerate(given):
        sentence = model.tokenize(text, max_tokens=model.max_embed_tokens)
        most = _most(len(sentence)) if len(given) == 1 else PASSAGES_OF_SEVERAL
        found = _passages(sentences(sentence), most)
        if len(found) < 3 and len(given) == 1:  # phrases or words of a short text
            found, level = parts(sentence, most)
        if len(found) >= 3:
            labels, cut = [text[slice(*part.span)] for part in found], cut_at(sentence)
            square = np.zeros((len(labels), len(labels)))  # a row for each passage, a column for each place
            for shift in range(len(labels)):
                order = np.roll(np.arange(len(labels)), shift)
                square[order, np.arange(len(labels))] = _effects(model, [labels[at] for at in order])
                yield (done + (shift + 1) / len(labels)) / len(given)
            squares.append(square)
            passages = tuple(zip((" ".join(one.split()) for one in labels), np.diag(square).tolist(), strict=True))
    if not squares:
        raise EncoderError("The effect of places needs a text of at least 3 sentences, or 3 words: add some.")
    alone = len(given) == 1
    whole = of_squares(squares, seed, passages if alone else (), cut if alone else "")
    return replace(whole, level=level)


position_sensitivity = gradual.at_once(position_sensitivity_gradually, "position_sensitivity")
position_sensitivity.__doc__ = """How much each place of a text, or of several texts, counts in its vector.

A passage is a sentence, or neighbouring ones: a text has at most MOST_PASSAGES. Of fewer than 3 sentences, a single
text is divided into phrases or words, and several texts are left out. Raises EncoderError where nothing has 3.
seed: of the draws of `by_chance`."""


def _most(tokens: int) -> int:
    """How many passages a text of so many tokens has: n passages are n rotations of n + 1 runs."""
    fitting = [n for n in range(FEWER_PASSAGES, MOST_PASSAGES + 1) if n * (n + 1) * tokens <= TOKENS]
    return max(fitting, default=FEWER_PASSAGES)


def _passages(found: list[Part], most: int) -> list[Part]:
    """At most `most` passages of about the same number of tokens."""
    if len(found) <= most:
        return found
    ends = np.cumsum([len(part.tokens) for part in found])
    group = np.minimum((ends - 1) * most // ends[-1], most - 1)
    joined = [[part for part, at in zip(found, group, strict=True) if at == number] for number in np.unique(group)]
    return [
        Part("", tuple(token for part in some for token in part.tokens), (some[0].span[0], some[-1].span[1]))
        for some in joined
    ]


def _effects(model: TextEncoder, passages: list[str]) -> np.ndarray:
    """1 - cosine with and without each passage, in its place: [S]."""
    text, spans = "", []
    for one in passages:
        spans.append((len(text), len(text) + len(one)))
        text += one + " "
    sentence = model.tokenize(text, max_tokens=model.max_embed_tokens)
    side = side_of(model, sentence, len(sentence))
    keep = np.ones((len(spans) + 1, len(side)), dtype=bool)
    for row, (begin, end) in enumerate(spans):
        keep[row + 1] = [not begin <= part.span[0] < end for part in side.parts]
    found = np.zeros((len(keep), model.width_of_vectors))
    for rows, output, kept in side.outputs(keep):
        found[rows] = masked_pool(side, output, kept).cpu().numpy()
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    effects: np.ndarray = 1 - found[1:] @ found[0]
    return effects


def of_squares(
    squares: Sequence[np.ndarray], seed: int = 0, passages: tuple[tuple[str, float], ...] = (), cut: str = ""
) -> PositionSensitivity:
    """The effect of places, of the effects [S, S] of each text: a row for each passage, a column for each place.

    passages, cut: as of PositionSensitivity.
    """
    logs = [np.log(np.maximum(one, max(LEAST_SHARE * one.mean(), 1e-9))) for one in squares]
    own = [one - one.mean(axis=1, keepdims=True) for one in logs]  # each passage against itself at other places
    level = float(np.mean([one.mean() for one in logs]))
    units = _units(own)
    mean, half = _student(units)
    (ends,), (ends_half,) = _student(units[:, :1] - units[:, -1:])
    draw = np.random.default_rng(seed)
    chance = [_index(_student(_units([draw.permuted(one, axis=1) for one in own]))[0]) for _ in range(DRAWS)]
    return PositionSensitivity(
        (np.arange(BINS) + 0.5) / BINS,
        np.exp(level + mean),
        np.exp(level + mean - half),
        np.exp(level + mean + half),
        _index(mean),
        float(np.quantile(chance, 0.95)),
        passages,
        len(squares),
        sum(one.size for one in squares),
        (float(np.exp(ends - ends_half)), float(np.exp(ends + ends_half))),
        cut,
    )


def _units(own: Sequence[np.ndarray]) -> np.ndarray:
    """Logarithms [U, B]: of the passages of one text, or the means of several texts."""
    if len(own) == 1:
        return _binned(own[0])
    return np.stack([_binned(one.mean(axis=0, keepdims=True))[0] for one in own])


def _binned(rows: np.ndarray) -> np.ndarray:
    """The mean in each bin: [U, S] -> [U, B]; NaN without a place there."""
    n_places = rows.shape[1]
    bins = ((np.arange(n_places) + 0.5) / n_places * BINS).astype(int)
    found = np.full((len(rows), BINS), np.nan)
    for place in np.unique(bins):
        found[:, place] = rows[:, bins == place].mean(axis=1)
    return found


def _student(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and half the 95% interval of each column: [B] each. A single number has no interval: NaN."""
    from scipy.special import stdtrit

    finite = np.isfinite(rows)
    counts = finite.sum(axis=0)
    mean = np.divide(
        np.where(finite, rows, 0.0).sum(axis=0), counts, out=np.full(rows.shape[1], np.nan), where=counts > 0
    )
    squares = (np.where(finite, rows - mean, 0.0) ** 2).sum(axis=0)
    several = np.maximum(counts - 1, 1)
    half = np.where(counts > 1, stdtrit(several, 0.975) * np.sqrt(squares / several / np.maximum(counts, 1)), np.nan)
    return mean, half


def _index(mean: np.ndarray) -> float:
    """1 - min / max of the effects whose logarithms these are."""
    return float(1 - np.exp(np.nanmin(mean) - np.nanmax(mean)))
