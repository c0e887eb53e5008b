"""The cosine of two texts as a sum over pairs of tokens, at the input, at the output, or at any layer in between.

At the output the split is exact: with mean pooling, cell (i, j) is h_i . g_j / (T_a T_b |e_a| |e_b|).
Below the output, integrated Jacobians attribute the cosine (Moeller, Nikolaev and Pado 2023, "An Attribution Method for
Siamese Encoders"). With x, y the two texts' vectors before a layer, r_a, r_b their references, e(x) the sentence vector
of norm 1, and J its mean Jacobian on the straight path from r to x:

    A_ij = (J_a (x_i - r_a,i)) . (J_b (y_j - r_b,j)),
    sum of A = (e(x) - e(r_a)) . (e(y) - e(r_b)) = cos(a, b) - cos(a, r_b) - cos(r_a, b) + cos(r_a, r_b).

J (x_i - r_i) is the derivative in one direction. So each point of the path needs T directions instead of D gradients.
The mean over the path is a Gauss-Legendre sum. The paper adapts its models so that the reference
terms vanish; here the model stays as it is, and the terms are part of the result.

Limits: another reference gives another map. The sum is checked; a single cell has no such check.

Shapes: T_a, T_b tokens of the two texts, T tokens of one, C directions, N points of the path, D d_model,
E width of the sentence vector.
"""

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.text import Tokenized
from encoder.model.device import explain_out_of_memory
from encoder.model.pooling import Dense
from encoder.model.shown import Shown
from encoder.similarity.derivative import linearise_pooling
from encoder.similarity.paths import (
    REFERENCES,
    Path,
    Reference,
    chunks_of,
    integrate,
    integrate_whole,
    make_path,
    moving_tokens,
    single_directions,
    vectors_before,
)
from encoder.trace import gradual

#: steps="auto" tries numbers of steps in this range until the error is below TOLERANCE.
FIRST_STEPS, MOST_STEPS = 8, 256
TOLERANCE = 0.005
#: Longer texts take too long: the time grows with T x T.
LONGEST = 1024


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(Shown):
    """How pairs of tokens share the cosine of two texts."""

    #: float64 [T_a, T_b], without a unit, like the cosine.
    matrix: np.ndarray
    #: Of the two sentence vectors.
    cosine: float
    #: cos(a, r_b), cos(r_a, b), cos(r_a, r_b); zeros for an exact split.
    references: tuple[float, float, float]
    #: |sum of matrix - `expected_sum`|.
    error: float
    #: Points on each path; 0 for an exact split.
    steps: int
    layer: int
    #: "none" for an exact split.
    reference: Reference | Literal["none"]
    a: Tokenized
    b: Tokenized

    def __repr__(self) -> str:
        how = "exact" if self.is_exact else f"{self.steps} steps, error of the sum {self.error:.2g}"
        return f"<Attribution of a cosine of {self.cosine:.4f} to {len(self.a)} x {len(self.b)} tokens: {how}>"

    @property
    def tokens(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tokens of a and b, as in the vocabulary."""
        return self.a.tokens, self.b.tokens

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tokens of a and b, as a person reads them."""
        return self.a.labels, self.b.labels

    @property
    def is_exact(self) -> bool:
        """Whether the matrix is the exact split at the output, without reference and path."""
        return self.steps == 0

    @property
    def expected_sum(self) -> float:
        """cos(a, b) - cos(a, r_b) - cos(r_a, b) + cos(r_a, r_b): what an exact matrix adds up to."""
        return self.cosine - self.references[0] - self.references[1] + self.references[2]

    def largest(self, k: int = 5) -> list[tuple[int, int, float]]:
        """The k largest cells as (token of a, token of b, value), largest first."""
        order = np.argsort(-self.matrix, axis=None, kind="stable")[:k]
        rows, columns = np.unravel_index(order, self.matrix.shape)
        return [(int(i), int(j), float(self.matrix[i, j])) for i, j in zip(rows, columns, strict=True)]


@dataclass(frozen=True, eq=False)
class Progress:
    """A moment of `attribute_gradually`. share: 0 to 1; steps: points tried or in use."""

    share: float
    steps: int


def attribute(
    model: TextEncoder,
    a: str,
    b: str,
    layer: int = 0,
    steps: int | Literal["auto"] = "auto",
    reference: Reference = "pad",
    progress: Callable[[float], None] | None = None,
) -> Attribution:
    """Attribute the cosine of two texts to pairs of tokens, at the input of `layer`.

    layer: 0 is the embeddings, n_layers the output, where the split is exact unless a dense layer with bias or
    activation follows. steps: points of each path; "auto": raised until the error of the sum is below TOLERANCE; a
    single cell can be off by more (`cell_error`). reference: "pad": special tokens stay, and every other token becomes
    padding at the same position; "zero": all vectors are 0. progress: called with the share that is done. Texts are cut
    where `embed` cuts them.

    Raises EncoderError for a layer, steps or reference that do not fit, for weights in half precision, for a text of
    more than LONGEST tokens, and where "auto" needs more than MOST_STEPS.
    """

    def say(moment: Progress) -> None:
        if progress is not None:
            progress(moment.share)

    return gradual.result(gradual.reported(attribute_gradually(model, a, b, layer, steps, reference), say))


def cell_error(model: TextEncoder, found: Attribution) -> float:
    """An estimate of the largest error of a cell: its difference from the cell with twice the steps.

    steps="auto" stops by the error of the sum, where errors of cells cancel. Costs twice the attribution itself; 0 for
    an exact split.
    """
    if found.is_exact:
        return 0.0
    reference: Reference = "zero" if found.reference == "zero" else "pad"
    again = attribute(model, found.a.text, found.b.text, found.layer, 2 * found.steps, reference)
    return float(np.abs(again.matrix - found.matrix).max())


def attribute_gradually(
    model: TextEncoder,
    a: str,
    b: str,
    layer: int = 0,
    steps: int | Literal["auto"] = "auto",
    reference: Reference = "pad",
) -> Generator[Progress, None, Attribution]:
    """`attribute` in small parts: yields after each part, and returns the attribution. Close it to cancel.

    The same arguments and errors; errors are raised when the first part is asked for.
    """
    _check(model, layer, steps, reference)
    sentences = [model.tokenize(text, max_tokens=model.max_embed_tokens) for text in (a, b)]
    for sentence in sentences:
        if len(sentence) > LONGEST:
            raise EncoderError(f"This text has {len(sentence):,} tokens: shorten it to at most {LONGEST:,}.")
    if layer == model.config.n_layers and splits_exactly(model):
        return _exact(model, sentences[0], sentences[1])
    paths = [make_path(model, sentence, layer, reference) for sentence in sentences]
    if steps == "auto":
        for tried, error in _try_steps(model, paths, layer):
            if error < TOLERANCE:
                break
            yield Progress(0.0, tried)
        else:
            other = "another layer" if reference == "pad" else "reference='pad', another layer"
            raise EncoderError(
                f"The error is still {error:.3f} after {tried} steps, more than {TOLERANCE}: choose {other}, or "
                "specify the number of steps yourself."
            )
        steps = tried
    shares: list[Tensor] = []
    total = sum(len(chunks_of(moving_tokens(path), model, len(path.sentence))) for path in paths) * steps
    done = 0
    for path in paths:
        share = torch.zeros(len(path.sentence), len(path.end_vector), dtype=torch.float64)
        for tokens, part in integrate(model, path, layer, steps):
            share[tokens] += part
            done += 1
            yield Progress(done / total, steps)
        shares.append(share)
    return _result(paths, shares, steps, layer, reference)


def splits_exactly(model: TextEncoder) -> bool:
    """Whether the sentence vector is a sum of parts of single output vectors: no dense layer has bias or activation,
    and outputs are pooled, not logits."""
    return (
        model.sparse is None
        and not model.pools_words
        and all(
            isinstance(step, Dense) and step.config.activation == "none" and not step.config.bias
            for step in (*model.token_dense, *model.dense)
        )
    )


def _check(model: TextEncoder, layer: object, steps: object, reference: object) -> None:
    n_layers = model.config.n_layers
    if not isinstance(layer, int | np.integer) or isinstance(layer, bool) or not 0 <= layer <= n_layers:
        raise EncoderError(f"No layer {layer} in this model: choose 0 to {n_layers}; {n_layers} is the output.")
    if steps != "auto" and (not isinstance(steps, int | np.integer) or isinstance(steps, bool) or steps < 1):
        raise EncoderError(
            f"steps={quoted(steps)} is not a number of steps: specify a whole number from 1 on, or 'auto'."
        )
    if reference not in REFERENCES:
        raise EncoderError(f"reference={quoted(reference)}: choose one of {', '.join(REFERENCES)}.")
    if reference == "pad" and not model.can_pad and not (layer == n_layers and splits_exactly(model)):
        raise EncoderError(f"The vocabulary of {model.name} has no padding token: choose reference='zero'.")
    if not model.pools_output:
        raise EncoderError(
            f"The vector of {model.name} is not made of its output only, so its cosine has no such parts: choose "
            "another model."
        )
    if model.encoder.training:
        raise EncoderError("This encoder is in training mode, where dropout changes the numbers: call .eval() first.")
    if model.encoder.dtype not in (torch.float32, torch.float64):
        raise EncoderError(f"Attribution needs weights in float32, not {model.encoder.dtype}: load the model again.")


# --- the number of steps ----------------------------------------------------------------------------------------------


def _try_steps(model: TextEncoder, paths: list[Path], layer: int) -> Iterator[tuple[int, float]]:
    """Numbers of steps, each with a bound of its error, up to MOST_STEPS.

    The sum over tokens needs only the direction x - r, which costs little compared with T directions. Errors of the two
    texts may cancel in the sum of the matrix, but not in this bound.
    """
    tried: list[tuple[int, float]] = []
    steps = FIRST_STEPS
    while True:
        (one, change_one), (other, change_other) = (
            (integrate_whole(model, path, layer, steps) - path.change, path.change) for path in paths
        )
        parts = (one @ change_other, change_one @ other, one @ other)
        tried.append((steps, sum(abs(float(part)) for part in parts)))
        yield tried[-1]
        if steps >= MOST_STEPS:
            return
        steps = min(next_steps(tried), MOST_STEPS)


def next_steps(tried: list[tuple[int, float]]) -> int:
    """The steps to try after those `tried`, (steps, error) each: at most twice the last.

    The error of Gauss-Legendre sums of a smooth function falls by a constant factor a step. The last two errors give
    the factor; without two it is taken as 10 in 4 steps. The aim is half of TOLERANCE.
    """
    steps, error = tried[-1]
    rate = math.log(10) / 4
    if len(tried) > 1:
        before, larger = tried[-2]
        rate = math.log(larger / error) / (steps - before) if 0 < error < larger else 0.0
    if not rate or not math.isfinite(rate) or not math.isfinite(error):
        return 2 * steps
    return min(max(steps + math.ceil(math.log(2 * error / TOLERANCE) / rate), steps + 2), 2 * steps)


# --- results ----------------------------------------------------------------------------------------------------------


def _result(paths: list[Path], shares: list[Tensor], steps: int, layer: int, reference: Reference) -> Attribution:
    a, b = paths
    matrix = (shares[0] @ shares[1].T).numpy()  # [T_a, T_b]
    if not np.isfinite(matrix).all():
        raise EncoderError("The derivatives are not finite on this path: choose another reference or layer.")
    references = (
        float(a.end_vector @ b.start_vector),
        float(a.start_vector @ b.end_vector),
        float(a.start_vector @ b.start_vector),
    )
    error = abs(float(matrix.sum()) - float(a.change @ b.change))
    cosine = float(a.end_vector @ b.end_vector)
    return Attribution(matrix, cosine, references, error, steps, layer, reference, a.sentence, b.sentence)


def _exact(model: TextEncoder, a: Tokenized, b: Tokenized) -> Attribution:
    """The split of the output vectors: pooling and dense maps are sums over tokens."""
    layer = model.config.n_layers
    vectors, shares = [], []
    for sentence in (a, b):
        with explain_out_of_memory(model.device, len(sentence)), torch.no_grad():
            x = vectors_before(model, sentence, layer)
            vector, tangent = linearise_pooling(model, x)
            every = torch.arange(len(sentence), device=x.device)
            parts = [tangent(single_directions(x[0], tokens)) for tokens in chunks_of(every, model, len(sentence))]
        vectors.append(vector[0].cpu().double())
        shares.append(torch.cat(parts).cpu().double())  # [T, E]
    size = float(vectors[0].norm() * vectors[1].norm())
    if not 0 < size < float("inf"):
        raise EncoderError("A sentence vector is zero or not finite, so the cosine is undefined: choose another text.")
    matrix = (shares[0] @ shares[1].T / size).numpy()  # [T_a, T_b]
    cosine = float(vectors[0] @ vectors[1]) / size
    error = abs(float(matrix.sum()) - cosine)
    return Attribution(matrix, cosine, (0.0, 0.0, 0.0), error, 0, layer, "none", a, b)
