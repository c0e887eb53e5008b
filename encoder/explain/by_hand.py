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
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from encoder.errors import EncoderError, quoted
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
    """Every number that can be changed, as nested tuples.

    Embeddings and W_Q are from the notes; the other defaults are small, different from each other, and easy to
    multiply.
    """

    words: tuple[str, ...] = ("The", "cat", "sat")
    #: [T, D].
    embeddings: Matrix = ((0.2, 0.4, 0.8, 0.6), (0.5, 0.1, 0.9, 0.7), (0.3, 0.8, 0.2, 0.4))
    positions: Positions = "formula"
    #: [T, D], used for positions="own".
    position_rows: Matrix = NOTES_POSITIONS
    #: [D, D], as w_k, w_v and w_o.
    w_q: Matrix = ((0.1, 0.3, 0.5, 0.7), (0.2, 0.4, 0.6, 0.8), (0.9, 0.7, 0.5, 0.3), (0.8, 0.6, 0.4, 0.2))
    w_k: Matrix = ((0.5, 0.1, 0.3, 0.2), (0.1, 0.6, 0.2, 0.4), (0.3, 0.2, 0.7, 0.1), (0.4, 0.3, 0.1, 0.5))
    w_v: Matrix = ((1.0, 0.0, 0.5, 0.0), (0.0, 1.0, 0.0, 0.5), (0.5, 0.0, 1.0, 0.0), (0.0, 0.5, 0.0, 1.0))
    w_o: Matrix = ((0.6, 0.1, 0.0, 0.2), (0.1, 0.7, 0.2, 0.0), (0.0, 0.2, 0.5, 0.1), (0.2, 0.0, 0.1, 0.8))
    #: [D, F].
    w_in: Matrix = (
        (0.5, -0.4, 0.3, 0.1, -0.2, 0.6), (-0.3, 0.5, 0.2, -0.6, 0.4, 0.1),
        (0.2, 0.1, -0.5, 0.4, 0.3, -0.2), (0.1, 0.3, 0.4, 0.2, -0.5, -0.4),
    )  # fmt: skip
    #: [F].
    b_in: Vector = (0.1, 0.0, -0.1, 0.0, 0.1, 0.0)
    #: [F, D].
    w_out: Matrix = (
        (0.3, -0.2, 0.1, 0.4), (0.2, 0.5, -0.3, 0.1), (-0.4, 0.1, 0.6, 0.2),
        (0.1, 0.3, 0.2, -0.5), (0.5, -0.1, 0.4, 0.3), (-0.2, 0.4, 0.1, 0.6),
    )  # fmt: skip
    #: [D].
    b_out: Vector = (0.0, 0.1, 0.0, -0.1)
    #: [D], as the three below.
    attention_gain: Vector = (1.0, 1.0, 1.0, 1.0)
    attention_shift: Vector = (0.0, 0.0, 0.0, 0.0)
    ffn_gain: Vector = (1.0, 1.0, 1.0, 1.0)
    ffn_shift: Vector = (0.0, 0.0, 0.0, 0.0)
    eps: float = 1e-5
    #: "post", the paper's, or "pre".
    norm_placement: NormPlacement = "post"
    #: Divide the scores by sqrt(d_k), the width of the keys.
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
    """Every intermediate result, [T, D] unless a shape is given."""

    inputs: Inputs
    #: Embeddings.
    x: Floats
    position: Floats
    #: X', the sum of both.
    x_position: Floats
    #: The numbers of attention's norm.
    attention_norm: Normed
    #: The input of Q, K and V.
    attention_input: Floats
    q: Floats
    k: Floats
    v: Floats
    #: [T, T]: Q K^T.
    dots: Floats
    #: By which the dot products are divided.
    scale: float
    #: [T, T].
    scores: Floats
    #: [T, T].
    exponentials: Floats
    #: [T, T].
    attention: Floats
    #: Attention x V.
    z: Floats
    #: z W_O.
    attention_output: Floats
    #: With the residual stream.
    attention_sum: Floats
    #: The residual stream after attention.
    after_attention: Floats
    #: The numbers of the FFN's norm.
    ffn_norm: Normed
    ffn_input: Floats
    #: [T, F].
    linear: Floats
    #: [T, F].
    hidden: Floats
    ffn_output: Floats
    #: With the residual stream.
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
        inputs=inputs,
        x=x,
        position=position,
        x_position=stream,
        attention_norm=norm,
        attention_input=attention_input,
        q=q,
        k=k,
        v=v,
        dots=dots,
        scale=scale,
        scores=scores,
        exponentials=exponentials,
        attention=attention,
        z=z,
        attention_output=attention_output,
        attention_sum=attention_sum,
        after_attention=after_attention,
        ffn_norm=ffn_norm,
        ffn_input=ffn_input,
        linear=linear,
        hidden=hidden,
        ffn_output=ffn_output,
        ffn_sum=ffn_sum,
        output=ffn_sum if pre else ffn_norm.output,
    )


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
        raise EncoderError(f"positions={quoted(inputs.positions)}: choose notes, formula or own.")
    if inputs.norm_placement not in ("post", "pre"):
        raise EncoderError(f"norm_placement={quoted(inputs.norm_placement)}: choose post or pre.")
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

#: The statements, with the reason why a number differs or agrees.
CLAIMS = Path(__file__).with_suffix(".toml")

#: A computed number agrees when it rounds to the notes' number: half a unit of their last digit.
ROUNDING = 0.5


@dataclass(frozen=True)
class Claim:
    """A statement of the notes."""

    key: str
    title: str
    statement: str
    #: Its numbers, one tuple per row.
    notes: Matrix
    #: Ours, in the same shape.
    computed: Matrix
    #: Decimals in the notes.
    digits: int
    #: Why the two differ or agree.
    reason: str
    #: LaTeX.
    formula: str = ""
    #: Names of rows.
    labels: tuple[str, ...] = ()
    #: Names of columns.
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
    """Every statement of the notes, from `by_hand.toml`, next to the computed result of its own formula."""
    with_notes = compute(Inputs(positions="notes"))
    dot, eighth = 1.2 * 0.9 + 0.5 * 1.1, (2 * 1 + 3 * 1) / math.sqrt(64)
    computed: dict[str, Matrix] = {
        "positions": _rows(arithmetic.sinusoidal(np.arange(1, 3), 4)),
        "sum": _rows(with_notes.x_position),
        "queries": _rows(with_notes.q),
        "dot": ((dot, dot / 2),),
        "softmax": ((_softmax(dot / 2, 0.7, 0.5)[0],),),
        "eighth": ((2 * 1 + 3 * 1, eighth),),
        "single": (_softmax(eighth),),
        "sizes": ((12, 768), (24, 1024)),
    }
    logistic = float(arithmetic.sigmoid(np.array(eighth)))
    in_reasons = {"dot": dot / math.sqrt(2), "eighth": (2 * 1 + 3 * 1) / math.sqrt(2), "single": logistic}
    found = []
    for key, said in tomllib.loads(CLAIMS.read_text(encoding="utf-8")).items():
        reason = said.pop("reason").format(in_reasons.get(key))
        given: dict[str, Any] = {name: _tuples(value) for name, value in said.items()}
        found.append(Claim(key, computed=computed[key], reason=reason, **given))
    return tuple(found)


def _softmax(*scores: float) -> Vector:
    """Softmax of a few numbers."""
    row = np.array(scores)
    return tuple(arithmetic.softmax(row, np.ones_like(row, dtype=bool)).tolist())


def _rows(rows: Floats) -> Matrix:
    return tuple(tuple(float(value) for value in row) for row in rows)
