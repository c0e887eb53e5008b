"""The sections of the calculation: their tables, their results as formulas, and one number of each in full."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from encoder.explain import latex
from encoder.explain.by_hand import NOTES_POSITIONS, Calculation, Inputs, Normed
from pages.core.words import formulas

WORDS = Inputs().words
#: The query, key and value in their colours.
Q, K, V = (latex.coloured(role, role.upper()) for role in "qkv")


@dataclass(frozen=True)
class ExampleSection:
    """One step. text: a sentence; tables: (name, title, row names) of the editable ones; show: draws the results;
    in_full: draws one number in full; has_eps: whether ε of the norms can be changed here."""

    title: str
    text: str
    tables: tuple[tuple[str, str, tuple[str, ...] | None], ...]
    show: Callable[[Calculation], None]
    in_full: Callable[[Calculation], None]
    has_eps: bool = False


def _is_pre(example: Calculation) -> bool:
    return example.inputs.norm_placement == "pre"


def _matrix(name: str, rows: object, role: str = "", digits: int = 3) -> None:
    """A small matrix with its name, in the colour of its role."""
    formulas.show(latex.coloured(role, f"{name} = {latex.matrix(np.atleast_2d(rows), digits)}"))


def _sum_in_full(left: str, factors: list[tuple[float, float]], roles: tuple[str, str] = ("", "")) -> None:
    """One number as the sum of all its products."""
    products = [
        rf"{latex.coloured(roles[0], latex.bracketed(a, 3))} \cdot {latex.coloured(roles[1], latex.bracketed(b, 3))}"
        for a, b in factors
    ]
    total = sum(a * b for a, b in factors)
    formulas.show(latex.calculation((left, [latex.long_sum(products), latex.number(total)])))


def _pairs(left: object, right: object) -> list[tuple[float, float]]:
    return [(float(a), float(b)) for a, b in zip(left, right, strict=True)]  # type: ignore[call-overload]


def show_input(example: Calculation) -> None:
    formulas.show(r"X' = X + P")
    _matrix("P", example.position, digits=4)
    _matrix("X'", example.x_position, digits=4)


def position_in_full(example: Calculation) -> None:
    if example.inputs.positions != "formula":
        st.caption("This encoding is given. Select “formula” above to compute it.")
        return
    st.caption("The encoding of “cat”, position 1:")
    steps = [
        (rf"P_{{1,{c}}}", [rf"{wave}\frac{{1}}{{10000^{{{power}}}}} = {latex.number(example.position[1, c], 5)}"])
        for c, wave, power in ((0, r"\sin", "0/4"), (1, r"\cos", "0/4"), (2, r"\sin", "2/4"), (3, r"\cos", "2/4"))
    ]
    formulas.show(latex.calculation(*steps))
    numbers = ", ".join(f"{value:g}" for value in NOTES_POSITIONS[1])
    st.caption(f"The notes give {numbers}. Select “from the notes” above to use their encoding.")


def show_projections(example: Calculation) -> None:
    x = r"\mathrm{Norm}(X')" if _is_pre(example) else "X'"
    if _is_pre(example):
        _matrix(x, example.attention_input)
    for name, rows, role in (("Q", example.q, "q"), ("K", example.k, "k"), ("V", example.v, "v")):
        formulas.show(rf"{latex.coloured(role, name)} = {x}\, {latex.coloured(role, f'W_{name}')}")
        _matrix(name, rows, role)


def query_in_full(example: Calculation) -> None:
    st.caption("The first number of “cat” in Q:")
    column = [row[0] for row in example.inputs.w_q]
    _sum_in_full(latex.coloured("q", r"Q_{\text{cat},0}"), _pairs(example.attention_input[1], column))


def show_scores(example: Calculation) -> None:
    product = f"{Q} {K}^T"
    if not example.inputs.scaled:
        formulas.show(f"S = {product}")
        _matrix("S", example.scores)
        return
    formulas.show(rf"S = \frac{{{product}}}{{\sqrt{{d_k}}}} \qquad d_k = {example.k.shape[1]}")
    _matrix(product, example.dots)
    _matrix("S", example.scores)


def score_in_full(example: Calculation) -> None:
    st.caption("The score of the query “cat” and the key “sat”:")
    _sum_in_full(r"q_{\text{cat}} \cdot k_{\text{sat}}", _pairs(example.q[1], example.k[2]), ("q", "k"))
    if example.inputs.scaled:
        divided = latex.fraction(latex.number(example.dots[1, 2], 3), rf"\sqrt{{{example.k.shape[1]}}}")
        formulas.show(latex.calculation((r"S_{\text{cat},\text{sat}}", [divided, latex.number(example.scores[1, 2])])))


def show_softmax(example: Calculation) -> None:
    formulas.show(r"A_{i,j} = \frac{e^{S_{i,j} - \max S_i}}{\sum_l e^{S_{i,l} - \max S_i}}")
    _matrix(r"e^{S - \max}", example.exponentials)
    _matrix("A", example.attention, digits=4)
    st.caption("Rows: the queries The, cat, sat. Columns: the keys The, cat, sat. Each row sums to 1.")


def weight_in_full(example: Calculation) -> None:
    st.caption("The weight of “sat” for “cat”:")
    row = example.exponentials[1]
    below = " + ".join(latex.number(value, 3) for value in row)
    steps = [latex.fraction(latex.number(row[2], 3), below), latex.number(example.attention[1, 2])]
    formulas.show(latex.calculation((r"A_{\text{cat},\text{sat}}", steps)))


def show_weighted_sum(example: Calculation) -> None:
    formulas.show(rf"Z = A\, {V} \qquad O = Z\, W_O")
    _matrix("Z", example.z)
    _matrix("O", example.attention_output)


def weighted_sum_in_full(example: Calculation) -> None:
    st.caption("The first number of “cat” in Z:")
    _sum_in_full(r"Z_{\text{cat},0}", _pairs(example.attention[1], example.v[:, 0]), ("", "v"))


def _norm_statistics(norm: Normed) -> None:
    _matrix(r"\mu^T", norm.mean, digits=4)
    _matrix(r"(\sigma^2)^T", norm.variance, digits=4)


def show_first_norm(example: Calculation) -> None:
    if _is_pre(example):
        formulas.show(r"X_1 = X' + O")
        _matrix("X_1", example.after_attention)
        st.caption("Pre-norm: the norm is before Q, K and V. The sum is not normalised.")
        return
    formulas.show(r"X_1 = \mathrm{Norm}(X' + O)")
    _matrix("X' + O", example.attention_sum)
    _norm_statistics(example.attention_norm)
    _matrix("X_1", example.after_attention)


def _norm_in_full(norm: Normed, x: np.ndarray, gain: float, shift: float) -> None:
    st.caption("The first number of “cat” after the norm:")
    mean, variance = norm.mean[1], norm.variance[1]
    root = rf"\sqrt{{{latex.divisor(variance)} + \varepsilon}}"
    divided = latex.fraction(f"{latex.number(x[1, 0])} - {latex.bracketed(mean)}", root)
    scaled = rf"{divided} \cdot {latex.bracketed(gain, 3)} + {latex.bracketed(shift, 3)}"
    formulas.show(latex.calculation((r"y_{\text{cat},0}", [scaled, latex.number(norm.output[1, 0])])))


def first_norm_in_full(example: Calculation) -> None:
    x = example.x_position if _is_pre(example) else example.attention_sum
    _norm_in_full(example.attention_norm, x, example.inputs.attention_gain[0], example.inputs.attention_shift[0])


def second_norm_in_full(example: Calculation) -> None:
    x = example.after_attention if _is_pre(example) else example.ffn_sum
    _norm_in_full(example.ffn_norm, x, example.inputs.ffn_gain[0], example.inputs.ffn_shift[0])


def show_ffn(example: Calculation) -> None:
    x = r"\mathrm{Norm}(X_1)" if _is_pre(example) else "X_1"
    formulas.show(rf"H = \mathrm{{ReLU}}({x}\, W_{{in}} + b_{{in}})", r"G = H\, W_{out} + b_{out}")
    if _is_pre(example):
        _matrix(x, example.ffn_input)
    _matrix("H", example.hidden, digits=2)
    _matrix("G", example.ffn_output)
    st.caption(f"Activations that are 0: {int((example.hidden == 0).sum())} of {example.hidden.size}.")


def neuron_in_full(example: Calculation) -> None:
    st.caption("Neuron 1 of “cat”; the factor 1 belongs to the bias:")
    factors = _pairs(example.ffn_input[1], [row[1] for row in example.inputs.w_in])
    _sum_in_full("a", [*factors, (1.0, example.inputs.b_in[1])])
    formulas.show(rf"\max(0, a) = {latex.number(example.hidden[1, 1])}")


def show_output(example: Calculation) -> None:
    if _is_pre(example):
        formulas.show("Y = X_1 + G")
    else:
        formulas.show(r"Y = \mathrm{Norm}(X_1 + G)")
        _matrix("X_1 + G", example.ffn_sum)
        _norm_statistics(example.ffn_norm)
    _matrix("Y", example.output, digits=4)
    st.caption("One vector of four numbers per word: the input of a next layer.")


SECTIONS = (
    ExampleSection(
        "1. Embeddings and positions",
        "One row per word. The positional encoding is added component by component.",
        (("embeddings", "Embeddings X", WORDS), ("position_rows", "Positional encoding P", WORDS)),
        show_input,
        position_in_full,
    ),
    ExampleSection(
        "2. Queries, keys, values",
        "Three matrix products with the same input.",
        (("w_q", ":blue[W_Q]", None), ("w_k", ":red[W_K]", None), ("w_v", ":green[W_V]", None)),
        show_projections,
        query_in_full,
    ),
    ExampleSection("3. Scores", "The dot product of every query with every key.", (), show_scores, score_in_full),
    ExampleSection("4. Softmax", "Each row of scores becomes weights that sum to 1.", (), show_softmax, weight_in_full),
    ExampleSection(
        "5. Weighted sum of values, output projection W_O",
        "The weights multiply the values. W_O maps the sum back to the residual stream.",
        (("w_o", "W_O", None),),
        show_weighted_sum,
        weighted_sum_in_full,
    ),
    ExampleSection(
        "6. Add & norm",
        "The output of attention is added to its input.",
        (("attention_gain", "Gain", None), ("attention_shift", "Bias", None)),
        show_first_norm,
        first_norm_in_full,
        has_eps=True,
    ),
    ExampleSection(
        "7. Feed-forward",
        "The up-projection makes six numbers of four, ReLU sets negative ones to 0, the down-projection makes four "
        "again.",
        (("w_in", "W_in", None), ("b_in", "b_in", None), ("w_out", "W_out", None), ("b_out", "b_out", None)),
        show_ffn,
        neuron_in_full,
    ),
    ExampleSection(
        "8. Add & norm again",
        "The output of the feed-forward layer is added to its input.",
        (("ffn_gain", "Gain", None), ("ffn_shift", "Bias", None)),
        show_output,
        second_norm_in_full,
    ),
)
