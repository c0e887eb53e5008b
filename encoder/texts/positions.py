"""Long texts: what counts, and where. The effect of a passage over its place, and an index of a model over texts.

Every passage of a text is left out in its place, in the text as it is and in orders drawn at random. So each passage
stands at many places, and what is left is the effect of the place (arXiv 2412.15241 removes and inserts passages at the
beginning, in the middle and at the end). The effect is 1 minus the cosine of the vectors with and without the passage.
The Position Sensitivity Index is 1 - min / max of the mean effects of BINS places (after Zeng et al. 2025, arXiv
2505.13950, who take a retrieval score in place of the effect): 0 where every place counts alike, 1 where one place
counts nothing.

Shapes: S passages, B bins.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.model.shown import Shown
from encoder.scores.parts import Part, cut_at, parts, sentences
from encoder.scores.sides import masked_pool, side_of
from encoder.trace import gradual

#: Places along a text; passages of a text; orders of a single text, of each of several texts.
BINS, MOST_PASSAGES, ORDERS, ORDERS_OF_SEVERAL = 5, 10, 4, 2
#: Draws of the bootstrap.
DRAWS = 1_000


@dataclass(frozen=True, eq=False, repr=False)
class PositionSensitivity(Shown):
    """The effect of leaving out a passage, over its place.

    places [B]: the middle of each bin, 0 to 1; effect [B]: mean effect there, NaN without a passage; low, high [B]: its
    95% interval over orders and texts (bootstrap); index: the Position Sensitivity Index; passages: of a single text
    (words, effect in its place); of_ends: 95% interval of `first_over_last` (the same bootstrap); cut_at: the words at
    which a single text was cut.
    """

    places: np.ndarray
    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    index: float
    passages: tuple[tuple[str, float], ...]
    n_texts: int
    n_runs: int
    of_ends: tuple[float, float]
    cut_at: str = ""

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
    orders = ORDERS if len(given) == 1 else ORDERS_OF_SEVERAL
    draw = np.random.default_rng(seed)
    points: list[np.ndarray] = []
    passages: tuple[tuple[str, float], ...] = ()
    n_texts, cut = 0, ""
    for done, text in enumerate(given):
        sentence = model.tokenize(text, max_tokens=model.max_embed_tokens)
        found = _passages(sentences(sentence))
        if len(found) < 3 and len(given) == 1:  # phrases or words of a short text
            found = parts(sentence, MOST_PASSAGES)[0]
        if len(found) >= 3:
            labels = [text[slice(*part.span)] for part in found]
            n_texts, cut = n_texts + 1, cut_at(sentence)
            for order in range(orders):
                arranged = labels if order == 0 else [labels[at] for at in draw.permutation(len(labels))]
                effects = _effects(model, arranged)
                if order == 0:
                    passages = tuple(zip((" ".join(one.split()) for one in labels), effects.tolist(), strict=True))
                middle = (np.arange(len(effects)) + 0.5) / len(effects)
                points.append(np.stack([middle, effects]))
                yield (done + (order + 1) / orders) / len(given)
    if not points:
        raise EncoderError("The effect of places needs a text of at least 3 sentences, or 3 words: add some.")
    return _result(points, draw, passages if len(given) == 1 else (), n_texts, cut if len(given) == 1 else "")


position_sensitivity = gradual.at_once(position_sensitivity_gradually, "position_sensitivity")
position_sensitivity.__doc__ = """How much each place of a text, or of several texts, counts in its vector.

A passage is a sentence, or neighbouring ones: a text has at most MOST_PASSAGES. Of fewer than 3 sentences, a single
text is divided into phrases or words, and several texts are left out. Raises EncoderError where nothing has 3."""


def _passages(found: list[Part]) -> list[Part]:
    """At most MOST_PASSAGES passages of about the same number of tokens."""
    if len(found) <= MOST_PASSAGES:
        return found
    ends = np.cumsum([len(part.tokens) for part in found])
    group = np.minimum((ends - 1) * MOST_PASSAGES // ends[-1], MOST_PASSAGES - 1)
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


def _result(
    points: list[np.ndarray],
    draw: np.random.Generator,
    passages: tuple[tuple[str, float], ...],
    n_texts: int,
    cut: str,
) -> PositionSensitivity:
    rows = np.stack([_binned(one) for one in points])  # [orders, B]
    effect = _mean(rows)
    drawn = np.stack([_mean(rows[draw.integers(0, len(rows), len(rows))]) for _ in range(DRAWS)])
    low, high = (_quantile(drawn, share) for share in (0.025, 0.975))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = drawn[:, :1] / drawn[:, -1:]
    of_ends = float(_quantile(ratios, 0.025)[0]), float(_quantile(ratios, 0.975)[0])
    known = effect[np.isfinite(effect)]
    index = float(1 - known.min() / known.max()) if known.max() > 0 else 0.0
    runs = sum(one.shape[1] for one in points)
    places = (np.arange(BINS) + 0.5) / BINS
    return PositionSensitivity(places, effect, low, high, index, passages, n_texts, runs, of_ends, cut)


def _binned(points: np.ndarray) -> np.ndarray:
    """The mean effect in each bin of one order; NaN without a passage there."""
    bins = np.minimum((points[0] * BINS).astype(int), BINS - 1)
    counts, sums = np.bincount(bins, minlength=BINS), np.bincount(bins, points[1], minlength=BINS)
    return np.divide(sums, counts, out=np.full(BINS, np.nan), where=counts > 0)


def _mean(rows: np.ndarray) -> np.ndarray:
    """The mean of the finite numbers of each column; NaN without any."""
    finite = np.isfinite(rows)
    sums, counts = np.where(finite, rows, 0.0).sum(axis=0), finite.sum(axis=0)
    return np.divide(sums, counts, out=np.full(rows.shape[1], np.nan), where=counts > 0)


def _quantile(drawn: np.ndarray, share: float) -> np.ndarray:
    return np.array(
        [np.quantile(one[np.isfinite(one)], share) if np.isfinite(one).any() else np.nan for one in drawn.T]
    )
