"""One encoder layer for "The cat sat", after an example from teaching notes: D = 4, one head.

    example = compute(Inputs())
    example.attention, example.output
    for claim in claims(): ...            # the notes' numbers, the computed ones, and why they differ

All numbers are float64, and few enough to check with a pocket calculator. Every number of `Inputs` can be changed.

Shapes: T tokens, D d_model, F width of the FFN.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from encoder.errors import EncoderError
from encoder.explain import arithmetic
from encoder.explain.arithmetic import Floats

Matrix = tuple[tuple[float, ...], ...]
Vector = tuple[float, ...]
Positions = Literal["notes", "formula", "own"]
NormPlacement = Literal["post", "pre"]

#: The notes' positional encodings of positions 1 and 2; position 0 is the formula's [0 1 0 1].
NOTES_POSITIONS: Matrix = ((0.0, 1.0, 0.0, 1.0), (0.84, 0.54, 0.08, 0.99), (0.90, 0.43, 0.16, 0.99))


@dataclass(frozen=True)
class Inputs:
    """Every number that can be changed, as nested tuples. Embeddings and W_Q are from the notes; the other defaults are
    small, different from each other, and easy to multiply.

    embeddings [T, D]; position_rows [T, D], used for positions="own"; w_q, w_k, w_v, w_o [D, D]; w_in [D, F], b_in [F];
    w_out [F, D], b_out [D]; gains and shifts of the two norms [D]; eps; norm_placement "post" (the paper's) or "pre";
    scaled: divide the scores by sqrt(d_k), the width of the keys.
    """

    words: tuple[str, ...] = ("The", "cat", "sat")
    embeddings: Matrix = ((0.2, 0.4, 0.8, 0.6), (0.5, 0.1, 0.9, 0.7), (0.3, 0.8, 0.2, 0.4))
    positions: Positions = "formula"
    position_rows: Matrix = NOTES_POSITIONS
    w_q: Matrix = ((0.1, 0.3, 0.5, 0.7), (0.2, 0.4, 0.6, 0.8), (0.9, 0.7, 0.5, 0.3), (0.8, 0.6, 0.4, 0.2))
    w_k: Matrix = ((0.5, 0.1, 0.3, 0.2), (0.1, 0.6, 0.2, 0.4), (0.3, 0.2, 0.7, 0.1), (0.4, 0.3, 0.1, 0.5))
    w_v: Matrix = ((1.0, 0.0, 0.5, 0.0), (0.0, 1.0, 0.0, 0.5), (0.5, 0.0, 1.0, 0.0), (0.0, 0.5, 0.0, 1.0))
    w_o: Matrix = ((0.6, 0.1, 0.0, 0.2), (0.1, 0.7, 0.2, 0.0), (0.0, 0.2, 0.5, 0.1), (0.2, 0.0, 0.1, 0.8))
    w_in: Matrix = (
        (0.5, -0.4, 0.3, 0.1, -0.2, 0.6), (-0.3, 0.5, 0.2, -0.6, 0.4, 0.1),
        (0.2, 0.1, -0.5, 0.4, 0.3, -0.2), (0.1, 0.3, 0.4, 0.2, -0.5, -0.4),
    )  # fmt: skip
    b_in: Vector = (0.1, 0.0, -0.1, 0.0, 0.1, 0.0)
    w_out: Matrix = (
        (0.3, -0.2, 0.1, 0.4), (0.2, 0.5, -0.3, 0.1), (-0.4, 0.1, 0.6, 0.2),
        (0.1, 0.3, 0.2, -0.5), (0.5, -0.1, 0.4, 0.3), (-0.2, 0.4, 0.1, 0.6),
    )  # fmt: skip
    b_out: Vector = (0.0, 0.1, 0.0, -0.1)
    attention_gain: Vector = (1.0, 1.0, 1.0, 1.0)
    attention_shift: Vector = (0.0, 0.0, 0.0, 0.0)
    ffn_gain: Vector = (1.0, 1.0, 1.0, 1.0)
    ffn_shift: Vector = (0.0, 0.0, 0.0, 0.0)
    eps: float = 1e-5
    norm_placement: NormPlacement = "post"
    scaled: bool = True

    def replace(self, **changes: object) -> Inputs:
        """A copy with some numbers changed; a matrix can be a nested list or an array."""
        plain = {name: _tuples(value) for name, value in changes.items()}
        return dataclasses.replace(self, **plain)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Normed:
    """The numbers of a LayerNorm: mean, variance [T]; normalised and output [T, D]."""

    mean: Floats
    variance: Floats
    normalised: Floats
    output: Floats


@dataclass(frozen=True, eq=False)
class Calculation:
    """Every intermediate result, [T, D] unless a shape is given.

    x: embeddings; position; x_position: their sum X'; attention_input: the input of Q, K and V; q, k, v; dots, scores,
    attention [T, T]; z: attention x V; attention_output: z W_O; after_attention: the residual stream; ffn_input; linear
    and hidden [T, F]; ffn_output; output; attention_norm, ffn_norm: the numbers of the norms.
    """

    inputs: Inputs
    x: Floats
    position: Floats
    x_position: Floats
    attention_norm: Normed
    attention_input: Floats
    q: Floats
    k: Floats
    v: Floats
    dots: Floats
    scale: float
    scores: Floats
    exponentials: Floats
    attention: Floats
    z: Floats
    attention_output: Floats
    attention_sum: Floats
    after_attention: Floats
    ffn_norm: Normed
    ffn_input: Floats
    linear: Floats
    hidden: Floats
    ffn_output: Floats
    ffn_sum: Floats
    output: Floats


def compute(inputs: Inputs) -> Calculation:
    """One encoder layer, number by number. Raises EncoderError where a matrix has the wrong shape or an empty cell."""
    m = _arrays(inputs)
    pre = inputs.norm_placement == "pre"
    x = m["embeddings"]
    position = _positions(inputs, m)
    stream = x + position  # [T, D]
    norm = _norm(stream, m["attention_gain"], m["attention_shift"], inputs.eps)
    attention_input = norm.output if pre else stream
    q, k, v = (attention_input @ m[name] for name in ("w_q", "w_k", "w_v"))
    dots = q @ k.T  # [T, T]
    scale = 1.0 / math.sqrt(k.shape[1]) if inputs.scaled else 1.0  # d_k, the width of a key
    scores = dots * scale
    exponentials = arithmetic.exponentials(scores, np.ones_like(scores, dtype=bool))
    attention = exponentials / exponentials.sum(axis=1, keepdims=True)
    z = attention @ v
    attention_output = z @ m["w_o"]
    attention_sum = stream + attention_output
    if not pre:
        norm = _norm(attention_sum, m["attention_gain"], m["attention_shift"], inputs.eps)
    after_attention = attention_sum if pre else norm.output
    ffn_norm = _norm(after_attention, m["ffn_gain"], m["ffn_shift"], inputs.eps)
    ffn_input = ffn_norm.output if pre else after_attention
    linear = ffn_input @ m["w_in"] + m["b_in"]  # [T, F]
    hidden = arithmetic.ACTIVATIONS["relu"](linear)
    ffn_output = hidden @ m["w_out"] + m["b_out"]
    ffn_sum = after_attention + ffn_output
    if not pre:
        ffn_norm = _norm(ffn_sum, m["ffn_gain"], m["ffn_shift"], inputs.eps)
    return Calculation(
        inputs=inputs, x=x, position=position, x_position=stream, attention_norm=norm, attention_input=attention_input,
        q=q, k=k, v=v, dots=dots, scale=scale, scores=scores, exponentials=exponentials, attention=attention, z=z,
        attention_output=attention_output, attention_sum=attention_sum, after_attention=after_attention,
        ffn_norm=ffn_norm, ffn_input=ffn_input, linear=linear, hidden=hidden, ffn_output=ffn_output, ffn_sum=ffn_sum,
        output=ffn_sum if pre else ffn_norm.output,
    )  # fmt: skip


def _positions(inputs: Inputs, m: dict[str, Floats]) -> Floats:
    """[T, D]: the chosen encoding. The notes give three rows of four numbers; other sizes need the formula."""
    n, width = m["embeddings"].shape
    if inputs.positions == "formula":
        return arithmetic.sinusoidal(np.arange(n), width)
    rows = np.array(NOTES_POSITIONS) if inputs.positions == "notes" else m["position_rows"]
    if rows.shape != (n, width):
        raise EncoderError(
            f"The positions have {rows.shape[0]} rows of {rows.shape[1]} numbers and the embeddings {n} of {width}: "
            "use the same size, or choose the formula."
        )
    return rows


def _norm(x: Floats, gain: Floats, shift: Floats, eps: float) -> Normed:
    """LayerNorm with the population variance, eps inside the root."""
    mean, variance, normalised = arithmetic.normalise(x, eps)
    return Normed(mean, variance, normalised, normalised * gain + shift)


_SHAPES = {
    "embeddings": "TD", "w_q": "DD", "w_k": "DD", "w_v": "DD", "w_o": "DD", "w_in": "DF", "b_in": "F", "w_out": "FD",
    "b_out": "D", "attention_gain": "D", "attention_shift": "D", "ffn_gain": "D", "ffn_shift": "D",
}  # fmt: skip

#: The largest number: products of products must stay readable.
LARGEST = 10_000.0

#: Names of the matrices in errors, as on the page.
NAMES = {
    "embeddings": "The embeddings", "position_rows": "The positions", "w_q": "W_Q", "w_k": "W_K", "w_v": "W_V",
    "w_o": "W_O", "w_in": "W_in", "b_in": "b_in", "w_out": "W_out", "b_out": "b_out",
    "attention_gain": "The first norm's gain", "attention_shift": "The first norm's bias",
    "ffn_gain": "The second norm's gain", "ffn_shift": "The second norm's bias",
}  # fmt: skip


def _arrays(inputs: Inputs) -> dict[str, Floats]:
    """The matrices as arrays, their shapes checked against each other."""
    m = {name: _array(name, getattr(inputs, name)) for name in (*_SHAPES, "position_rows")}
    if m["embeddings"].ndim != 2 or m["w_in"].ndim != 2 or not m["embeddings"].size:
        raise EncoderError("The embeddings and W_in must be tables with at least one row and one column.")
    sizes = {"T": len(m["embeddings"]), "D": m["embeddings"].shape[1], "F": m["w_in"].shape[1]}
    for name, letters in _SHAPES.items():
        wanted = tuple(sizes[letter] for letter in letters)
        if m[name].shape != wanted:
            have, need = (" × ".join(map(str, shape)) for shape in (m[name].shape, wanted))
            raise EncoderError(f"{NAMES[name]}: {have} numbers, but the other tables need {need}.")
    if not 0 <= inputs.eps <= LARGEST:
        raise EncoderError(f"eps={inputs.eps}: choose a number from 0 to {LARGEST:,.0f}. It prevents a division by 0.")
    if inputs.positions not in ("notes", "formula", "own"):
        raise EncoderError(f"positions={inputs.positions!r}: choose notes, formula or own.")
    if inputs.norm_placement not in ("post", "pre"):
        raise EncoderError(f"norm_placement={inputs.norm_placement!r}: choose post or pre.")
    return m


def _array(name: str, rows: object) -> Floats:
    try:
        array = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EncoderError(f"{NAMES[name]}: every cell must hold a number.") from error
    if not np.isfinite(array).all():
        raise EncoderError(f"{NAMES[name]}: a cell is empty or not a finite number. Enter a number.")
    if np.abs(array).max(initial=0.0) > LARGEST:
        worst = array.flat[np.abs(array).argmax()]
        raise EncoderError(f"{NAMES[name]}: {worst:g} is too large. Enter at most {LARGEST:,.0f}.")
    return array


def _tuples(value: object) -> object:
    """Nested lists and arrays as nested tuples, so that Inputs stays hashable."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(_tuples(item) for item in value) if isinstance(value, list | tuple) else value


# --- statements of the notes ------------------------------------------------------------------------------------------

#: A computed number agrees when it rounds to the notes' number: half a unit of their last digit.
ROUNDING = 0.5


@dataclass(frozen=True)
class Claim:
    """A statement of the notes. notes, computed: the numbers, one tuple per row; digits: decimals in the notes; reason:
    why the two differ or agree; formula: LaTeX; labels, columns: names of rows and of columns."""

    key: str
    title: str
    statement: str
    notes: Matrix
    computed: Matrix
    digits: int
    reason: str
    formula: str = ""
    labels: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def agreeing(self) -> tuple[tuple[bool, ...], ...]:
        """Number by number: whether the computed one rounds to the notes' number."""
        within = ROUNDING * 10.0**-self.digits + 1e-9
        return tuple(
            tuple(abs(said - true) <= within for said, true in zip(*rows, strict=True))
            for rows in zip(self.notes, self.computed, strict=True)
        )

    @property
    def agrees(self) -> bool:
        """Whether every number agrees."""
        return all(all(row) for row in self.agreeing)


def claims() -> tuple[Claim, ...]:
    """Every statement of the notes, next to the computed result of its own formula."""
    with_notes = compute(Inputs(positions="notes"))
    return (
        Claim(
            "positions", "Positional encoding", "The encodings of the positions 1 (cat) and 2 (sat).",
            notes=NOTES_POSITIONS[1:], computed=_rows(arithmetic.sinusoidal(np.arange(1, 3), 4)), digits=2,
            reason="With D = 4 the angles of the second pair are 10000^(2/4) = 100 times smaller: sin(1/100) = 0.0100 "
            "and sin(2/100) = 0.0200, not 0.08 and 0.16. cos(2) = -0.4161 is negative, since 2 radians are more than a "
            "quarter turn; the notes' 0.43 also has the wrong size. 0.9093 and 0.9999 round to 0.91 and 1.00; the "
            "notes cut them off to 0.90 and 0.99.",
            formula=r"\begin{aligned} P_{p,2i} &= \sin\frac{p}{10000^{2i/D}} \\[6pt] "
            r"P_{p,2i+1} &= \cos\frac{p}{10000^{2i/D}} \end{aligned}", labels=("cat", "sat"),
        ),
        Claim(
            "sum", "Embedding plus position", "X' with the notes' encoding.",
            notes=((0.2, 1.4, 0.8, 1.6), (1.34, 0.64, 0.98, 1.69), (1.2, 1.23, 0.36, 1.39)),
            computed=_rows(with_notes.x_position), digits=2,
            reason="The addition is right. It uses the notes' encoding, so it carries over the errors above.",
            formula=r"X' = X + P", labels=Inputs().words,
        ),
        Claim(
            "queries", "Queries", "Q = X' W_Q with the notes' encoding.",
            notes=((2.30, 2.14, 1.98, 1.82), (2.496, 2.358, 2.220, 2.082), (1.802, 1.938, 2.074, 2.210)),
            computed=_rows(with_notes.q), digits=3,
            reason="The matrix product is right. It starts from the notes' encoding.",
            formula=r"Q = X' W_Q", labels=Inputs().words,
        ),
        *_score_claims(),
        *_sigmoid_claims(),
        Claim(
            "sizes", "The sizes of BERT", "BERT-base has 6 layers, BERT-large 12, both of width 512.",
            notes=((6, 512), (12, 512)), computed=((12, 768), (24, 1024)), digits=0,
            reason="BERT-base has 12 layers of width 768, BERT-large 24 of width 1024 (Devlin et al. 2019). 6 layers "
            "and width 512 are those of the original Transformer's encoder (Vaswani et al. 2017).",
            labels=("BERT-base", "BERT-large"), columns=("layers", "width"),
        ),
    )  # fmt: skip


def _score_claims() -> tuple[Claim, ...]:
    q, k = (1.2, 0.5), (0.9, 1.1)
    dot = sum(a * b for a, b in zip(q, k, strict=True))
    return (
        Claim(
            "dot", "A score", "q = [1.2 0.5] and k = [0.9 1.1]: the dot product, and divided by 2.",
            notes=((1.63, 0.815),), computed=((dot, dot / 2),), digits=3,
            reason="1.2 × 0.9 + 0.5 × 1.1 = 1.63. The divisor 2 is √4, for keys of four numbers. These keys have two, "
            f"so the divisor is √2 and the score {dot / math.sqrt(2):.4f}.",
            formula=r"\frac{q \cdot k}{\sqrt{d_k}}", columns=("q · k", "divided by 2"),
        ),
        Claim(
            "softmax", "A weight", "The softmax of 0.815 next to 0.7 and 0.5.",
            notes=((0.42,),), computed=((_softmax(dot / 2, 0.7, 0.5)[0],),), digits=2,
            reason="e^0.815 = 2.2592, e^0.7 = 2.0138, e^0.5 = 1.6487; their sum is 5.9217, and 2.2592 / 5.9217 = "
            "0.3815. Rounding does not explain 0.42.",
            formula=r"\alpha_j = \frac{e^{s_j}}{\sum_l e^{s_l}}",
        ),
    )  # fmt: skip


def _sigmoid_claims() -> tuple[Claim, ...]:
    score = (2 * 1 + 3 * 1) / math.sqrt(64)
    logistic = float(arithmetic.sigmoid(np.array(score)))
    return (
        Claim(
            "eighth", "A score with d_k = 64", "2 × 1 + 3 × 1 = 5, and 5 / 8 = 0.625.",
            notes=((5.0, 0.625),), computed=((2 * 1 + 3 * 1, score),), digits=3,
            reason="The arithmetic is right, but the example is inconsistent: 8 = √64 belongs to keys of 64 numbers, "
            f"and this sum has two terms. With d_k = 2 the score is 5 / √2 = {5 / math.sqrt(2):.4f}.",
            formula=r"\frac{q \cdot k}{\sqrt{d_k}}", columns=("q · k", "divided by 8"),
        ),
        Claim(
            "single", "The softmax of one number", "softmax(0.625) = 0.65.",
            notes=((0.65,),), computed=(_softmax(score),), digits=2,
            reason=f"The softmax of a single number is e^s / e^s = 1 for every s. {logistic:.3f} is the logistic "
            "sigmoid of 0.625. The sigmoid maps one number to 0 … 1; the softmax divides 1 among several numbers.",
            formula=r"\begin{gathered} \frac{e^{s}}{e^{s}} = 1 \\[6pt] \sigma(s) = \frac{1}{1 + e^{-s}} \end{gathered}",
        ),
    )  # fmt: skip


def _softmax(*scores: float) -> Vector:
    """Softmax of a few numbers."""
    row = np.array(scores)
    return tuple(arithmetic.softmax(row, np.ones_like(row, dtype=bool)).tolist())


def _rows(rows: Floats) -> Matrix:
    return tuple(tuple(float(value) for value in row) for row in rows)
