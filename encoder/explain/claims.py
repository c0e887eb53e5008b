"""Statements of teaching notes about transformers, beside what their own formulas give.

for claim in claims(): ...            # the notes' numbers, the computed ones, and why they differ
"""

import math
from dataclasses import dataclass

from encoder.explain.by_hand import NOTES_POSITIONS, Array, Inputs, Matrix, Vector, compute, encoding

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


def softmax(*scores: float) -> Vector:
    """Softmax of a few numbers."""
    top = max(scores)
    exponentials = [math.exp(score - top) for score in scores]
    return tuple(value / sum(exponentials) for value in exponentials)


def sigmoid(x: float) -> float:
    """The logistic function 1 / (1 + e^-x)."""
    return 1.0 / (1.0 + math.exp(-x))


def claims() -> tuple[Claim, ...]:
    """Every statement of the notes, beside the computed result of its own formula."""
    with_notes = compute(Inputs(positions="notes"))
    return (
        Claim(
            "positions", "Positional encoding", "The encodings of the positions 1 (cat) and 2 (sat).",
            notes=NOTES_POSITIONS[1:], computed=_rows(encoding(3, 4)[1:]), digits=2,
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
            "softmax", "A weight", "The softmax of 0.815 beside 0.7 and 0.5.",
            notes=((0.42,),), computed=((softmax(dot / 2, 0.7, 0.5)[0],),), digits=2,
            reason="e^0.815 = 2.2592, e^0.7 = 2.0138, e^0.5 = 1.6487; their sum is 5.9217, and 2.2592 / 5.9217 = "
            "0.3815. Rounding does not explain 0.42.",
            formula=r"\alpha_j = \frac{e^{s_j}}{\sum_l e^{s_l}}",
        ),
    )  # fmt: skip


def _sigmoid_claims() -> tuple[Claim, ...]:
    score = (2 * 1 + 3 * 1) / math.sqrt(64)
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
            notes=((0.65,),), computed=(softmax(score),), digits=2,
            reason=f"The softmax of a single number is e^s / e^s = 1 for every s. {sigmoid(score):.3f} is the logistic "
            "sigmoid of 0.625. The sigmoid maps one number to 0 … 1; the softmax divides 1 among several numbers.",
            formula=r"\begin{gathered} \frac{e^{s}}{e^{s}} = 1 \\[6pt] \sigma(s) = \frac{1}{1 + e^{-s}} \end{gathered}",
        ),
    )  # fmt: skip


def _rows(array: Array) -> Matrix:
    return tuple(tuple(float(value) for value in row) for row in array)
