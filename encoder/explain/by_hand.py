"""A calculation by hand that circulates in teaching notes, redone with real arithmetic: "The cat sat", D = 4, one head.

    example = compute(Inputs())
    example.attention, example.output
    for claim in claims(): ...            # what the notes say, what comes out, and why they differ

Everything is float64 and small enough to be followed with a pocket calculator. Every number of `Inputs` may be changed.

Shapes: T tokens, D d_model, F width of the FFN.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from encoder.errors import EncoderError

Array = NDArray[np.float64]
Matrix = tuple[tuple[float, ...], ...]
Vector = tuple[float, ...]
Positions = Literal["notes", "formula", "own"]
NormPlacement = Literal["post", "pre"]

#: The notes' positional encodings of positions 1 and 2; position 0 is the formula's [0 1 0 1].
NOTES_POSITIONS: Matrix = ((0.0, 1.0, 0.0, 1.0), (0.84, 0.54, 0.08, 0.99), (0.90, 0.43, 0.16, 0.99))

#: A number is as the notes give it when it rounds to theirs: half a unit of their last digit.
ROUNDING = 0.5


@dataclass(frozen=True)
class Inputs:
    """Every number that the learner may change, as nested tuples. Defaults: embeddings and W_Q are the notes' own, all
    others are chosen to be small, different from each other, and easy to multiply.

    embeddings [T, D]; position_rows [T, D], used for positions="own"; w_q, w_k, w_v, w_o [D, D]; w_in [D, F], b_in [F];
    w_out [F, D], b_out [D]; gains and shifts of the two norms [D]; eps; norm_placement "post" (the paper's) or "pre";
    scaled: with 1 / sqrt(D).
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
        """A copy with some numbers changed; matrices may be nested lists or arrays."""
        plain = {name: _tuples(value) for name, value in changes.items()}
        return dataclasses.replace(self, **plain)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Normed:
    """A norm at work: mean, variance [T]; normalised and output [T, D]."""

    mean: Array
    variance: Array
    normalised: Array
    output: Array


@dataclass(frozen=True, eq=False)
class WorkedExample:
    """Every intermediate result, [T, D] where nothing else is said.

    x: embeddings; position; x_position: their sum X'; attention_input: what Q, K, V are made of; q, k, v; dots, scores,
    attention [T, T]; z: attention x V; attention_output: z W_O; after_attention: the stream; ffn_input; linear and
    hidden [T, F]; ffn_output; output. A norm's own numbers stand in attention_norm and ffn_norm.
    """

    inputs: Inputs
    x: Array
    position: Array
    x_position: Array
    attention_norm: Normed
    attention_input: Array
    q: Array
    k: Array
    v: Array
    dots: Array
    scale: float
    scores: Array
    exponentials: Array
    attention: Array
    z: Array
    attention_output: Array
    attention_sum: Array
    after_attention: Array
    ffn_norm: Normed
    ffn_input: Array
    linear: Array
    hidden: Array
    ffn_output: Array
    ffn_sum: Array
    output: Array


def compute(inputs: Inputs) -> WorkedExample:
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
    scale = 1.0 / math.sqrt(x.shape[1]) if inputs.scaled else 1.0
    scores = dots * scale
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
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
    hidden = np.maximum(linear, 0.0)
    ffn_output = hidden @ m["w_out"] + m["b_out"]
    ffn_sum = after_attention + ffn_output
    if not pre:
        ffn_norm = _norm(ffn_sum, m["ffn_gain"], m["ffn_shift"], inputs.eps)
    return WorkedExample(
        inputs=inputs, x=x, position=position, x_position=stream, attention_norm=norm, attention_input=attention_input,
        q=q, k=k, v=v, dots=dots, scale=scale, scores=scores, exponentials=exponentials, attention=attention, z=z,
        attention_output=attention_output, attention_sum=attention_sum, after_attention=after_attention,
        ffn_norm=ffn_norm, ffn_input=ffn_input, linear=linear, hidden=hidden, ffn_output=ffn_output, ffn_sum=ffn_sum,
        output=ffn_sum if pre else ffn_norm.output,
    )  # fmt: skip


def encoding(positions: int, width: int) -> Array:
    """[T, D]: sin(pos / 10000^(2i/D)) at 2i and the cosine at 2i + 1 (Vaswani et al. 2017, section 3.5)."""
    rows = [
        [(math.cos if c % 2 else math.sin)(p / 10_000 ** ((c - c % 2) / width)) for c in range(width)]
        for p in range(positions)
    ]
    return np.array(rows)


def _positions(inputs: Inputs, m: dict[str, Array]) -> Array:
    """[T, D]: the encoding that is chosen. The notes' has three rows of four numbers; longer texts need the
    formula."""
    n, width = m["embeddings"].shape
    if inputs.positions == "formula":
        return encoding(n, width)
    rows = np.array(NOTES_POSITIONS) if inputs.positions == "notes" else m["position_rows"]
    if rows.shape != (n, width):
        raise EncoderError(
            f"The positions have {rows.shape[0]} rows of {rows.shape[1]} numbers and the embeddings {n} of {width}: "
            "make them the same, or take the formula's."
        )
    return rows


def _norm(x: Array, gain: Array, shift: Array, eps: float) -> Normed:
    """LayerNorm with the population variance, eps inside the root."""
    mean = x.mean(axis=1)
    variance = x.var(axis=1)
    normalised = (x - mean[:, None]) / np.sqrt(variance + eps)[:, None]
    return Normed(mean, variance, normalised, normalised * gain + shift)


_SHAPES = {
    "embeddings": "TD", "w_q": "DD", "w_k": "DD", "w_v": "DD", "w_o": "DD", "w_in": "DF", "b_in": "F", "w_out": "FD",
    "b_out": "D", "attention_gain": "D", "attention_shift": "D", "ffn_gain": "D", "ffn_shift": "D",
}  # fmt: skip

#: No number may be larger: products of products of them are to stay fit to be read.
LARGEST = 10_000.0

#: How a matrix is called on the page, for its error.
NAMES = {
    "embeddings": "The embeddings", "position_rows": "The positions", "w_q": "W_Q", "w_k": "W_K", "w_v": "W_V",
    "w_o": "W_O", "w_in": "W_in", "b_in": "b_in", "w_out": "W_out", "b_out": "b_out",
    "attention_gain": "The first norm's gain", "attention_shift": "The first norm's bias",
    "ffn_gain": "The second norm's gain", "ffn_shift": "The second norm's bias",
}  # fmt: skip


def _arrays(inputs: Inputs) -> dict[str, Array]:
    """The matrices as arrays, their shapes checked against each other."""
    m = {name: _array(name, getattr(inputs, name)) for name in (*_SHAPES, "position_rows")}
    if m["embeddings"].ndim != 2 or m["w_in"].ndim != 2 or not m["embeddings"].size:
        raise EncoderError("The embeddings and W_in must be tables with at least one row and one column.")
    sizes = {"T": len(m["embeddings"]), "D": m["embeddings"].shape[1], "F": m["w_in"].shape[1]}
    for name, letters in _SHAPES.items():
        wanted = tuple(sizes[letter] for letter in letters)
        if m[name].shape != wanted:
            have, need = (" × ".join(map(str, shape)) for shape in (m[name].shape, wanted))
            raise EncoderError(f"{NAMES[name]}: {have} numbers, but {need} fit to the others.")
    if not 0 <= inputs.eps <= LARGEST:
        raise EncoderError(
            f"eps={inputs.eps}: it keeps the root from dividing by 0; take a number from 0 to {LARGEST:,.0f}."
        )
    if inputs.positions not in ("notes", "formula", "own"):
        raise EncoderError(f"positions={inputs.positions!r}: choose notes, formula or own.")
    if inputs.norm_placement not in ("post", "pre"):
        raise EncoderError(f"norm_placement={inputs.norm_placement!r}: choose post or pre.")
    return m


def _array(name: str, rows: object) -> Array:
    try:
        array = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EncoderError(f"{NAMES[name]}: every cell must hold a number.") from error
    if not np.isfinite(array).all():
        raise EncoderError(f"{NAMES[name]}: a cell is empty or not a finite number; write a number into it.")
    if np.abs(array).max(initial=0.0) > LARGEST:
        worst = array.flat[np.abs(array).argmax()]
        raise EncoderError(f"{NAMES[name]}: {worst:g} is too large to calculate with; take at most {LARGEST:,.0f}.")
    return array


def _tuples(value: object) -> object:
    """Nested lists and arrays as nested tuples, so that Inputs stays hashable."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(_tuples(item) for item in value) if isinstance(value, list | tuple) else value


# --- what the notes say
# ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A statement of the notes. notes, computed: the numbers, a row each; digits: decimals that the notes give; reason:
    why the two differ, or what is behind it where they agree; formula: LaTeX; labels, columns: names of the rows and
    of the columns, which are counted from 0 where they have none."""

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
        """Number by number: whether the computed one rounds to the notes' own."""
        within = ROUNDING * 10.0**-self.digits + 1e-9
        return tuple(
            tuple(abs(said - true) <= within for said, true in zip(*rows, strict=True))
            for rows in zip(self.notes, self.computed, strict=True)
        )

    @property
    def agrees(self) -> bool:
        """Whether every number does."""
        return all(all(row) for row in self.agreeing)


def softmax(*scores: float) -> Vector:
    """Softmax of a few numbers."""
    top = max(scores)
    raised = [math.exp(score - top) for score in scores]
    return tuple(value / sum(raised) for value in raised)


def sigmoid(x: float) -> float:
    """The logistic function 1 / (1 + e^-x)."""
    return 1.0 / (1.0 + math.exp(-x))


def claims() -> tuple[Claim, ...]:
    """What the notes say, beside what their own formulas give. Everything under `computed` is computed here."""
    with_notes = compute(Inputs(positions="notes"))
    return (
        _position_claim(),
        Claim(
            "sum", "Embedding plus position", "X' with the notes' own encoding.",
            ((0.2, 1.4, 0.8, 1.6), (1.34, 0.64, 0.98, 1.69), (1.2, 1.23, 0.36, 1.39)),
            _rows(with_notes.x_position), 2,
            "The addition is right; it takes the notes' encoding, with the errors that stand above.",
            r"X' = X + P", Inputs().words,
        ),
        Claim(
            "queries", "Queries", "Q = X' W_Q with the notes' encoding.",
            ((2.30, 2.14, 1.98, 1.82), (2.496, 2.358, 2.220, 2.082), (1.802, 1.938, 2.074, 2.210)),
            _rows(with_notes.q), 3, "Three rows of real matrix multiplication, from the encoding as the notes have it.",
            r"Q = X' W_Q", Inputs().words,
        ),
        *_score_claims(),
        *_sigmoid_claims(),
        _size_claim(),
    )  # fmt: skip


def _position_claim() -> Claim:
    return Claim(
        "positions", "Positional encoding", "The encodings of the positions 1 (cat) and 2 (sat).",
        NOTES_POSITIONS[1:], _rows(encoding(3, 4)[1:]), 2,
        "With D = 4 the second pair turns 10000^(2/4) = 100 times more slowly than the first: sin(1/100) = 0.0100"
        " and sin(2/100) = 0.0200, not 0.08 and 0.16. cos(2) = -0.4161 is negative, since 2 radians lie beyond a "
        "quarter turn; the notes' 0.43 is not even its size. 0.90 and 0.99 are cut off where 0.9093 and 0.9999 "
        "round to 0.91 and 1.00.",
        r"\begin{aligned} P_{p,2i} &= \sin\frac{p}{10000^{2i/D}} \\[6pt] P_{p,2i+1} &= \cos\frac{p}{10000^{2i/D}} "
        r"\end{aligned}", ("cat", "sat"),
    )  # fmt: skip


def _score_claims() -> tuple[Claim, ...]:
    q, k = (1.2, 0.5), (0.9, 1.1)
    dot = sum(a * b for a, b in zip(q, k, strict=True))
    return (
        Claim(
            "dot", "A score", "q = [1.2 0.5] and k = [0.9 1.1]: the dot product, and divided by 2.",
            ((1.63, 0.815),), ((dot, dot / 2),), 3,
            "1.2 × 0.9 + 0.5 × 1.1 = 1.63. The 2 is √4, for keys of four numbers; the vectors shown have two, for"
            f" which it would be √2 and the score {dot / math.sqrt(2):.4f}.",
            r"\frac{q \cdot k}{\sqrt{d_k}}", columns=("q · k", "divided by 2"),
        ),
        Claim(
            "softmax", "A weight", "The softmax of 0.815 beside 0.7 and 0.5.",
            ((0.42,),), ((softmax(dot / 2, 0.7, 0.5)[0],),), 2,
            "e^0.815 = 2.2592, e^0.7 = 2.0138, e^0.5 = 1.6487, together 5.9217; 2.2592 / 5.9217 = 0.3815. No "
            "rounding on the way leads to 0.42.",
            r"\alpha_j = \frac{e^{s_j}}{\sum_l e^{s_l}}",
        ),
    )  # fmt: skip


def _sigmoid_claims() -> tuple[Claim, ...]:
    score = (2 * 1 + 3 * 1) / math.sqrt(64)
    return (
        Claim(
            "eighth", "A score with d_k = 64", "2 × 1 + 3 × 1 = 5, and 5 / 8 = 0.625.",
            ((5.0, 0.625),), ((2 * 1 + 3 * 1, score),), 3,
            "The arithmetic is right, and the example is not one: 8 = √64 belongs to keys of 64 numbers, while "
            f"the sum has two terms. With d_k = 2 the score is 5 / √2 = {5 / math.sqrt(2):.4f}.",
            r"\frac{q \cdot k}{\sqrt{d_k}}", columns=("q · k", "divided by 8"),
        ),
        Claim(
            "single", "The softmax of one number", "softmax(0.625) = 0.65.",
            ((0.65,),), (softmax(score),), 2,
            f"A softmax over one number is e^s / e^s = 1, whatever s is. {sigmoid(score):.3f} is the logistic "
            "sigmoid of 0.625, which squeezes one number on its own; a softmax shares out 1 among several.",
            r"\begin{gathered} \frac{e^{s}}{e^{s}} = 1 \\[6pt] \sigma(s) = \frac{1}{1 + e^{-s}} \end{gathered}",
        ),
    )  # fmt: skip


def _size_claim() -> Claim:
    return Claim(
        "sizes", "The sizes of BERT", "BERT-base has 6 layers, BERT-large 12, both of width 512.",
        ((6, 512), (12, 512)), ((12, 768), (24, 1024)), 0,
        "BERT-base has 12 layers of width 768, BERT-large 24 of width 1024 (Devlin et al. 2019). 6 layers and "
        "width 512 are the original Transformer's (Vaswani et al. 2017).",
        labels=("BERT-base", "BERT-large"), columns=("layers", "width"),
    )  # fmt: skip


def _rows(array: Array) -> Matrix:
    return tuple(tuple(float(value) for value in row) for row in array)
