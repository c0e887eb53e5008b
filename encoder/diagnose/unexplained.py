"""What an answer without a cause still says: how far off each text is, what the errors share, what may be left.

Shapes: N texts, D' width of a vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from encoder.diagnose.faults.precision import Precision
from encoder.diagnose.finishing import unit
from encoder.diagnose.probes import SHORT

#: What the errors of all texts look like together.
Shape = Literal["some-texts", "one-direction", "noise", "length", "turned", "other-model", "mixed"]
#: One vector explains at least this share of the squared errors: they have one direction.
ONE_DIRECTION = 0.8
#: Noise: errors of two texts have at most this cosine in the mean, and the largest is at most so many times the
#: smallest, and at most this share of the vector.
UNRELATED, EVEN, SMALL = 0.25, 6.0, 0.5
#: A rank correlation of error and length that is not chance, and the fewest texts for it.
GROWS, FEWEST = 0.7, 5
#: The similarities of the texts to each other are kept; and they are hardly related.
KEPT, HARDLY = 0.98, 0.5
#: A cosine with the right vector that no longer says which text it is.
FAR = 0.5
#: From this cosine on, what is missing to 1 says more.
ALMOST = 0.9999
#: Texts that are compared with each other.
MOST = 200
#: Texts that are named as the worst.
WORST = 3
#: How much larger or smaller an error of rounding may be, to be named.
NEAR_SIZE = 2.5


@dataclass(frozen=True)
class Errors:
    """The errors of N texts. cosines, sizes: () where the vectors have another width."""

    #: [N]: of each vector with the right one.
    cosines: tuple[float, ...]
    #: [N]: the norm of the difference, as a share of the right vector's norm.
    sizes: tuple[float, ...]
    #: Texts whose vectors are right up to rounding.
    n_right: int
    #: The share of the squared errors that one vector, the same for all texts, explains; by chance 1/N.
    direction: float
    #: The mean cosine of the errors of two texts.
    shared: float
    #: The rank correlation of an error's size with the length of the text; None for too few texts.
    length: float | None
    #: The correlation of the texts' similarities to each other in both programs; None for fewer than three texts.
    kept: float | None
    #: Of noise: the rounding whose own errors, by a run, are nearest in size, and their size.
    like: tuple[Precision, float] | None = None
    #: Components of a vector: of the model's and of theirs.
    widths: tuple[int, int] = (0, 0)

    @property
    def shape(self) -> Shape:
        """What the errors have in common, the most telling first."""
        if not self.sizes:
            return "turned" if (self.kept or 0) >= KEPT else "other-model"
        wrong = [size for size in self.sizes if size > 0]
        if self.n_right:
            return "some-texts"
        if self.kept is not None and self.kept >= KEPT and np.median(self.cosines) < FAR:
            return "turned"
        if self.direction >= ONE_DIRECTION and len(wrong) > 2:
            return "one-direction"
        if self.length is not None and abs(self.length) >= GROWS and max(wrong) > 2 * min(wrong):
            return "length"
        if self.is_noise:
            return "noise"
        if np.median(self.cosines) < FAR:
            return "other-model"
        return "mixed"

    @property
    def is_noise(self) -> bool:
        """Whether the errors are small, of one size, and unrelated to each other."""
        sizes = [size for size in self.sizes if size > 0]
        return bool(len(sizes) > 2 and max(sizes) <= min(EVEN * min(sizes), SMALL) and abs(self.shared) <= UNRELATED)

    @property
    def worst(self) -> list[int]:
        """The places of the texts that are most off, the worst first."""
        return np.argsort(self.cosines, kind="stable")[:WORST].tolist() if self.cosines else []

    def about(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {
            "shape": self.shape,
            "cosines": list(self.cosines),
            "sizes": list(self.sizes),
            "right": self.n_right,
            "direction": self.direction,
            "shared": self.shared,
            "length": self.length,
            "kept": self.kept,
            "like": None if self.like is None else {**self.like[0].about(), "size": self.like[1]},
        }


def errors_of(ours: np.ndarray, theirs: np.ndarray, tokens: Sequence[int], right: Iterable[int] = ()) -> Errors:
    """What the errors of theirs [N, D'] have in common. ours: the right vectors; tokens [N]: the texts' lengths; right:
    the places of texts that agree."""
    kept, widths = _kept(ours[:MOST], theirs[:MOST]), (ours.shape[1], theirs.shape[1])
    agree = set(right)
    if ours.shape != theirs.shape:
        return Errors((), (), len(agree), 0.0, 0.0, None, kept, widths=widths)
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    errors = b - a
    sizes = np.linalg.norm(errors, axis=1) / np.maximum(np.linalg.norm(a, axis=1), 1e-12)
    total = float((errors**2).sum())
    direction = float(np.linalg.norm(errors.sum(axis=0)) ** 2 / len(errors) / total) if total else 0.0
    wrong = [place for place in range(len(a)) if place not in agree][:MOST]
    units = unit(errors[wrong])
    n = len(wrong)
    shared = float((np.linalg.norm(units.sum(axis=0)) ** 2 - n) / (n * (n - 1))) if n > 1 else 0.0
    lengths = [tokens[place] for place in wrong]
    length = _ranks(lengths, sizes[wrong]) if n >= FEWEST and len(set(lengths)) > 2 else None
    cosines = (unit(a) * unit(b)).sum(axis=1)
    shown = tuple(map(float, cosines)), tuple(map(float, sizes))
    return Errors(*shown, len(agree), direction, shared, length, kept, widths=widths)


def _kept(ours: np.ndarray, theirs: np.ndarray) -> float | None:
    """The correlation of the cosines between texts, in both programs; None for fewer than three texts."""
    if len(ours) < 3:
        return None
    pairs = np.triu_indices(len(ours), 1)
    a, b = ((unit(one.astype(np.float64)) @ unit(one.astype(np.float64)).T)[pairs] for one in (ours, theirs))
    return _correlation(a, b)


def _ranks(a: Sequence[int], b: np.ndarray) -> float:
    """The rank correlation of two rows; equal values share their mean rank."""

    def ranks(values: np.ndarray) -> np.ndarray:
        _, place, count = np.unique(values, return_inverse=True, return_counts=True)
        found: np.ndarray = (np.cumsum(count) - (count + 1) / 2)[place]
        return found

    return _correlation(ranks(np.asarray(a)), ranks(b))


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    sizes = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / sizes if sizes > 1e-12 else 0.0


# --- in words -------------------------------------------------------------------------------------------------------

#: Fault -> its group in plain words; the others by their stage.
GROUPS = {
    **dict.fromkeys(("prompt-missing", "prompt-doubled", "prompt-other", "prompt-pooled", "template"), "prompts"),
    **dict.fromkeys(("truncation", "window"), "truncation and windows"),
    **dict.fromkeys(
        (
            "padding-side", "attended-padding", "causal-lost-with-padding", "pooled-padding", "last-token-place",
        ),
        "padding in batches",
    ),
    **dict.fromkeys(("fixed-padding", "sound-padding"), "padding to one length"),
    **dict.fromkeys(("layer", "final-norm"), "another layer"),
    **dict.fromkeys(("normalise-missing", "normalise-extra", "matryoshka-order", "output-scale"), "norm of the vector"),
    **dict.fromkeys(("precision", "quantised-vectors"), "number type"),
    "other-revision": "model version",
    **dict.fromkeys(("text-order", "dimension-order"), "order of texts or components"),
    **dict.fromkeys(("mean-removed", "truncated-dimensions"), "components of the vector"),
}  # fmt: skip
OF_STAGES = {
    "text": "white space", "tokens": "tokens", "embedding": "positions and embeddings",
    "layers": "attention and layers", "pooling": "pooling", "dense": "Dense maps", "vector": "components of the vector",
}  # fmt: skip


def group_of(name: str, stage: str) -> str:
    """The group of a fault in plain words."""
    return GROUPS.get(name) or OF_STAGES[stage]


def distances_said(errors: Errors, texts: Sequence[str]) -> str:
    """How far off the texts are, in one sentence or two."""
    if not errors.cosines:
        ours, theirs = errors.widths
        return f"Your vectors have {theirs:,} components, the model's have {ours:,}: they have no cosine."
    cosines = np.array(errors.cosines)
    what, values, form = "Cosine with the model's vectors", cosines, ".2f" if cosines.min() < 0.99 else ".4f"
    if cosines.min() > ALMOST:
        what, values, form = "1 minus the cosine with the model's vectors", 1 - cosines, ".2g"
    least, middle, most = (f"{one:{form}}" for one in np.quantile(values, [0, 0.5, 1]))
    named = ", ".join(f"text {place + 1} ({values[place]:{form}})" for place in errors.worst)
    return f"{what}: {middle} in the median, {least} to {most}. Most off: {named}."


def shape_said(errors: Errors) -> str:
    """What the errors have in common, and what that suggests."""
    n, size = len(errors.sizes), float(np.median(errors.sizes)) if errors.sizes else 0.0
    kept = "" if errors.kept is None else f" (correlation of their cosines: {errors.kept:.2f})"
    if errors.shape == "noise":
        said = f"The errors look like noise: of one size ({_percent(size)} of a vector), unrelated between texts."
        if errors.like is None:
            return f"{said} No number type gives errors of this size here."
        fault, own = errors.like
        words = fault.sentence.removeprefix("Your program ").removesuffix(".")
        return (
            f"{said} Where it {words}, this model has errors of {_percent(own)}: "
            "such rounding in another kernel may be the cause."
        )
    return {
        "some-texts": f"{errors.n_right} of {n} texts are right. What the others have in common is the cause.",
        "one-direction": f"The error has the same direction in every text: one vector explains "
        f"{errors.direction:.0%} of it. This suggests a bias, a prompt or a mean.",
        "length": f"The error {'grows' if (errors.length or 0) > 0 else 'falls'} with the length of the text (rank "
        f"correlation {errors.length or 0:.2f}). "
        + ("This suggests positions, padding or truncation." if (errors.length or 0) > 0 else
           "This suggests a prompt or special tokens, which count less in a long text."),
        "turned": f"The texts are as similar to each other as in the model{kept}, so the program runs this model and "
        "then turns, moves or projects its vectors.",
        "other-model": f"Vectors and similarities differ from the model's{kept}. This suggests another model, "
        "other tokens, or two large faults together.",
        "mixed": f"The errors share no direction, length or size{kept}: this suggests two faults, or one inside the "
        "layers.",
    }[errors.shape]  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"


# --- what to send next ----------------------------------------------------------------------------------------------

#: Texts that are proposed.
MOST_PROPOSED = 3
_NAMES = {text: name for name, text in SHORT}


def most_telling(
    lengths: Sequence[int], known: Sequence[str], texts: Sequence[str], of: Sequence[int]
) -> tuple[str, ...]:
    """The texts [of these lengths] that tell most next to known ones: of a new kind of character, and of a length that
    is far from theirs. of: the lengths of the known ones.

    An error that grows with length, or hides in one script, shows only where there are texts of both.
    """
    seen, left = {_kind(text) for text in known}, dict(zip(texts, lengths, strict=True))
    have = [max(one, 1) for one in of]
    chosen: list[str] = []

    def telling(text: str) -> float:
        far = min((abs(np.log2(max(left[text], 1) / one)) for one in have), default=0.0)
        return float(far) + (_kind(text) not in seen)

    while left:
        best = max(left, key=telling)
        chosen.append(best)
        have.append(max(left.pop(best), 1))
        seen.add(_kind(best))
    return tuple(chosen)


def _kind(text: str) -> tuple[bool, ...]:
    """Which kinds of characters are in a text."""
    return (
        any("\u00c0" <= one <= "\u024f" for one in text),
        any("\u0600" <= one <= "\u06ff" for one in text),
        any("\u3000" <= one <= "\u9fff" for one in text),
        any(ord(one) > 0xFFFF for one in text),
        any(one.isdigit() for one in text),
        any(one.isupper() for one in text[1:]),
    )


def name_of(text: str) -> str:
    """What a probe shows, and the probe: a long one is named by its words."""
    if text in _NAMES:
        return f"{_NAMES[text]}: “{' '.join(text.split())}”"
    return f"{len(text.split())} words: “{' '.join(text.split()[:4])} …”"
