"""Worked example: a calculation by hand, every number editable, beside what teaching notes say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from encoder.errors import EncoderError
from encoder.explain import latex
from encoder.explain.by_hand import NOTES_POSITIONS, Inputs, Normed, WorkedExample, compute
from encoder.explain.claims import Claim, claims
from pages.by_hand import editable_inputs
from pages.by_hand.export import export_claims, export_worked
from pages.core import formulas, sidebar
from pages.core.frame import heading
from pages.core.view import state

WORDS = Inputs().words


@dataclass(frozen=True)
class Section:
    """One step: its title and a sentence, the tables that may be edited (name, title, row names), its results on the
    right, and one of its numbers in full on the left; has_eps: the norms' ε may be edited here, too."""

    title: str
    text: str
    tables: tuple[tuple[str, str, tuple[str, ...] | None], ...]
    show: Callable[[WorkedExample], None]
    in_full: Callable[[WorkedExample], None]
    has_eps: bool = False


def main() -> None:
    heading()
    st.markdown(
        "“The cat sat” through one encoder layer with vectors of four numbers and one head: small enough to "
        "follow with a pocket calculator. The embeddings and W_Q come from teaching notes that circulate; the "
        "other numbers are free choices. **Change any number and everything below it follows.** The model in the "
        "sidebar plays no part here."
    )
    half = state.bound(
        st.segmented_control,
        "worked",
        "Half of the page",
        ["calculation", "notes"],
        required=True,
        format_func={"calculation": "The calculation", "notes": "What the notes say"}.get,
        label_visibility="collapsed",
    )
    if half == "notes":
        what_the_notes_say()
        export_claims()
        return
    base = editable_inputs.begin()
    inputs, example = through_the_layer(base, options(base))
    editable_inputs.end(inputs)
    if example is not None:
        export_worked(inputs, example)


def what_the_notes_say() -> None:
    """Each statement of the notes, with a word on how many of them hold."""
    stated = claims()
    numbers = [agrees for claim in stated for row in claim.agreeing for agrees in row]
    st.markdown(
        f"Each statement of the notes, beside the result of its own formula. Of {len(stated)} statements "
        f"{sum(claim.agrees for claim in stated)} agree; of their {len(numbers)} numbers {sum(numbers)} do."
    )
    for claim in stated:
        compared(claim)


def options(base: Inputs) -> Inputs:
    """Where the encoding comes from, where the norms stand, whether scores are divided."""
    with st.container(horizontal=True, gap="medium"):
        positions = editable_inputs.choice(
            "positions", base, "Positional encoding", {"formula": "formula", "notes": "the notes'", "own": "your own"}
        )
        placement = editable_inputs.choice("norm_placement", base, "Norm placement", {"post": "post", "pre": "pre"})
        scaled = editable_inputs.choice("scaled", base, "Scores", {True: "divided by √D", False: "as they are"})
    st.button("Back to the example's own numbers", icon=":material/restart_alt:", on_click=editable_inputs.reset)
    return base.replace(positions=positions, norm_placement=placement, scaled=scaled)


def through_the_layer(base: Inputs, inputs: Inputs) -> tuple[Inputs, WorkedExample | None]:
    """Tables left, results right. All tables come first, since each result needs those above it.

    Returns the numbers in the tables and what comes of them; nothing comes where one of them is missing.
    """
    problem = st.container()
    places, edited = [], {}
    for section in SECTIONS:
        st.subheader(section.title, anchor=False)
        st.markdown(section.text)
        left, right = st.columns([1, 1], gap="medium")
        with left:
            for name, title, rows in section.tables:
                if name != "position_rows" or inputs.positions == "own":
                    edited[name] = editable_inputs.matrix(name, base, title, rows)
            if section.has_eps:
                edited["eps"] = editable_inputs.number(
                    "eps", base, "ε, in both norms", min_value=0.0, step=1e-5, format="%g"
                )
        places.append((left.container(), right.container()))
    inputs = inputs.replace(**edited)
    try:
        example = compute(inputs)
    except EncoderError as error:
        problem.warning(f"{error} Until then there are no results.", icon=":material/edit:")
        for _, right in places:
            right.caption("No result: a number above or beside is missing or does not fit.")
        return inputs, None
    for section, (left, right) in zip(SECTIONS, places, strict=True):
        with right:
            section.show(example)
        with left:
            section.in_full(example)
    return inputs, example


# --- results ---------------------------------------------------------------------------------------------------------


def show_matrix(name: str, rows, role: str = "", digits: int = 3) -> None:
    """A small matrix under its name, in the colour of its role."""
    formulas.show(latex.coloured(role, f"{name} = {latex.matrix(rows, digits)}"))


def show_sum(left: str, factors: list[tuple[float, float]], roles: tuple[str, str] = ("", "")) -> None:
    """One number in full: every product of its sum."""
    products = [
        rf"{latex.coloured(roles[0], latex.bracketed(a, 3))} \cdot {latex.coloured(roles[1], latex.bracketed(b, 3))}"
        for a, b in factors
    ]
    total = sum(a * b for a, b in factors)
    formulas.show(latex.calculation((left, [latex.long_sum(products), latex.number(total)])))


def show_input(example: WorkedExample) -> None:
    formulas.show(r"X' = X + P")
    show_matrix("P", example.position, digits=4)
    show_matrix("X'", example.x_position, digits=4)


def show_projections(example: WorkedExample) -> None:
    read = "X'" if example.inputs.norm_placement == "post" else r"\mathrm{Norm}(X')"
    if example.inputs.norm_placement == "pre":
        show_matrix(read, example.attention_input)
    for name, rows, role in (("Q", example.q, "q"), ("K", example.k, "k"), ("V", example.v, "v")):
        formulas.show(rf"{latex.coloured(role, name)} = {read}\, {latex.coloured(role, f'W_{name}')}")
        show_matrix(name, rows, role)


def query_in_full(example: WorkedExample) -> None:
    st.caption("The first number of “cat” in Q, in full:")
    column = [row[0] for row in example.inputs.w_q]
    factors = [(float(x), w) for x, w in zip(example.attention_input[1], column, strict=True)]
    show_sum(latex.coloured("q", r"Q_{\text{cat},0}"), factors)


def show_scores(example: WorkedExample) -> None:
    scaled = example.inputs.scaled
    formulas.show(
        rf"S = \frac{{{latex.coloured('q', 'Q')} {latex.coloured('k', 'K')}^T}}{{\sqrt{{D}}}}"
        if scaled
        else rf"S = {latex.coloured('q', 'Q')} {latex.coloured('k', 'K')}^T"
    )
    show_matrix(f"{latex.coloured('q', 'Q')} {latex.coloured('k', 'K')}^T", example.dots)
    if scaled:
        show_matrix("S", example.scores)


def score_in_full(example: WorkedExample) -> None:
    st.caption("How “cat” looks at “sat”, in full:")
    factors = [(float(q), float(k)) for q, k in zip(example.q[1], example.k[2], strict=True)]
    show_sum(r"q_{\text{cat}} \cdot k_{\text{sat}}", factors, ("q", "k"))
    if example.inputs.scaled:
        divided = latex.fraction(latex.number(example.dots[1, 2], 3), r"\sqrt{4}")
        formulas.show(latex.calculation((r"S_{\text{cat},\text{sat}}", [divided, latex.number(example.scores[1, 2])])))


def show_softmax(example: WorkedExample) -> None:
    formulas.show(r"A_{i,j} = \frac{e^{S_{i,j} - \max S_i}}{\sum_l e^{S_{i,l} - \max S_i}}")
    show_matrix(r"e^{S - \max}", example.exponentials)
    show_matrix("A", example.attention, digits=4)
    st.caption("Rows: The, cat, sat as they look; columns: the same words as they are looked at. Each row sums to 1.")


def weight_in_full(example: WorkedExample) -> None:
    st.caption("The weight that “cat” gives to “sat”, in full:")
    row = example.exponentials[1]
    below = " + ".join(latex.number(value, 3) for value in row)
    steps = [latex.fraction(latex.number(row[2], 3), below), latex.number(example.attention[1, 2])]
    formulas.show(latex.calculation((r"A_{\text{cat},\text{sat}}", steps)))


def show_mixing(example: WorkedExample) -> None:
    formulas.show(rf"Z = A\, {latex.coloured('v', 'V')} \qquad O = Z\, W_O")
    show_matrix("Z", example.z)
    show_matrix("O", example.attention_output)


def mixture_in_full(example: WorkedExample) -> None:
    st.caption("The first number of “cat” in Z, in full:")
    factors = [(float(a), float(v)) for a, v in zip(example.attention[1], example.v[:, 0], strict=True)]
    show_sum(r"Z_{\text{cat},0}", factors, ("", "v"))


def show_first_norm(example: WorkedExample) -> None:
    if example.inputs.norm_placement == "pre":
        formulas.show(r"X_1 = X' + O")
        show_matrix("X_1", example.after_attention)
        st.caption("Pre-norm: the norm stood before Q, K and V; here its result is added to the stream as it is.")
        return
    formulas.show(r"X_1 = \mathrm{Norm}(X' + O)")
    show_matrix("X' + O", example.attention_sum)
    show_norm(example.attention_norm)
    show_matrix("X_1", example.after_attention)


def show_norm(norm) -> None:
    """Mean and variance of the three rows."""
    show_matrix(r"\mu^T", [norm.mean], digits=4)
    show_matrix(r"(\sigma^2)^T", [norm.variance], digits=4)


def norm_in_full(norm: Normed, x, gain: float, shift: float) -> None:
    """The first number of "cat" through a norm."""
    st.caption("The first number of “cat” through the norm, in full:")
    mean, variance = norm.mean[1], norm.variance[1]
    root = rf"\sqrt{{{latex.divisor(variance)} + \varepsilon}}"
    divided = latex.fraction(f"{latex.number(x[1, 0])} - {latex.bracketed(mean)}", root)
    steps = [
        rf"{divided} \cdot {latex.bracketed(gain, 3)} + {latex.bracketed(shift, 3)}",
        latex.number(norm.output[1, 0]),
    ]
    formulas.show(latex.calculation((r"y_{\text{cat},0}", steps)))


def first_norm_in_full(example: WorkedExample) -> None:
    x = example.x_position if example.inputs.norm_placement == "pre" else example.attention_sum
    norm_in_full(example.attention_norm, x, example.inputs.attention_gain[0], example.inputs.attention_shift[0])


def second_norm_in_full(example: WorkedExample) -> None:
    x = example.after_attention if example.inputs.norm_placement == "pre" else example.ffn_sum
    norm_in_full(example.ffn_norm, x, example.inputs.ffn_gain[0], example.inputs.ffn_shift[0])


def neuron_in_full(example: WorkedExample) -> None:
    st.caption("Neuron 1 of “cat”, in full; 1 stands for the bias:")
    factors = [(float(x), row[1]) for x, row in zip(example.ffn_input[1], example.inputs.w_in, strict=True)]
    show_sum("a", [*factors, (1.0, example.inputs.b_in[1])])
    formulas.show(rf"\max(0, a) = {latex.number(example.hidden[1, 1])}")


def position_in_full(example: WorkedExample) -> None:
    if example.inputs.positions != "formula":
        st.caption("The encoding is given here, not computed; “formula” above computes it.")
        return
    st.caption("The encoding of “cat”, position 1, in full:")
    steps = [
        (rf"P_{{1,{c}}}", [rf"{wave}\frac{{1}}{{10000^{{{power}}}}} = {latex.number(example.position[1, c], 5)}"])
        for c, wave, power in ((0, r"\sin", "0/4"), (1, r"\cos", "0/4"), (2, r"\sin", "2/4"), (3, r"\cos", "2/4"))
    ]
    formulas.show(latex.calculation(*steps))
    said = ", ".join(f"{value:g}" for value in NOTES_POSITIONS[1])
    st.caption(f"The notes give {said} for it; “the notes'” above computes with theirs.")


def show_ffn(example: WorkedExample) -> None:
    pre = example.inputs.norm_placement == "pre"
    read = r"\mathrm{Norm}(X_1)" if pre else "X_1"
    formulas.show(rf"H = \mathrm{{ReLU}}({read}\, W_{{in}} + b_{{in}})", r"G = H\, W_{out} + b_{out}")
    if pre:
        show_matrix(read, example.ffn_input)
    show_matrix("H", example.hidden, digits=2)
    show_matrix("G", example.ffn_output)
    off = int((example.hidden == 0).sum())
    st.caption(f"{off} of {example.hidden.size} activations are 0: ReLU has cut them off.")


def show_output(example: WorkedExample) -> None:
    if example.inputs.norm_placement == "pre":
        formulas.show("Y = X_1 + G")
    else:
        formulas.show(r"Y = \mathrm{Norm}(X_1 + G)")
        show_matrix("X_1 + G", example.ffn_sum)
        show_norm(example.ffn_norm)
    show_matrix("Y", example.output, digits=4)
    st.caption("One vector a word again, of the same four numbers: the next layer would start from here.")


SECTIONS = (
    Section(
        "1. Embeddings and positions",
        "A row a word. The positional encoding is added, number by number.",
        (("embeddings", "Embeddings X", WORDS), ("position_rows", "Positional encoding P", WORDS)),
        show_input,
        position_in_full,
    ),
    Section(
        "2. Queries, keys, values",
        "Each is a product with a matrix of weights.",
        (("w_q", ":blue[W_Q]", None), ("w_k", ":red[W_K]", None), ("w_v", ":green[W_V]", None)),
        show_projections,
        query_in_full,
    ),
    Section("3. Scores", "Every query with every key.", (), show_scores, score_in_full),
    Section("4. Softmax", "Each row of scores becomes weights that sum to 1.", (), show_softmax, weight_in_full),
    Section(
        "5. Weighted sum of values",
        "The weights mix the values; W_O brings the mixture back.",
        (("w_o", "W_O", None),),
        show_mixing,
        mixture_in_full,
    ),
    Section(
        "6. Add & norm",
        "What attention gives is added to what came in.",
        (("attention_gain", "Gain", None), ("attention_shift", "Bias", None)),
        show_first_norm,
        first_norm_in_full,
        has_eps=True,
    ),
    Section(
        "7. Feed-forward",
        "Four numbers become six, what is negative becomes 0, and six become four again.",
        (
            ("w_in", "W_in", None),
            ("b_in", "b_in", None),
            ("w_out", "W_out", None),
            ("b_out", "b_out", None),
        ),
        show_ffn,
        neuron_in_full,
    ),
    Section(
        "8. Add & norm again",
        "The same once more.",
        (("ffn_gain", "Gain", None), ("ffn_shift", "Bias", None)),
        show_output,
        second_norm_in_full,
    ),
)


# --- the notes -------------------------------------------------------------------------------------------------------


def compared(claim: Claim) -> None:
    """A statement of the notes, number by number beside the computed ones, and the reason."""
    with st.container(border=True):
        verdict = ":green-badge[:material/check: agrees]" if claim.agrees else ":red-badge[:material/close: differs]"
        st.markdown(f"**{claim.title}** {verdict}  \n{sidebar.plain(claim.statement)}")
        left, right = st.columns([1, 1], gap="medium")
        with left:
            _numbers(claim)
        with right:
            if claim.formula:
                formulas.show(claim.formula)
            st.markdown(sidebar.plain(claim.reason))


def _numbers(claim: Claim) -> None:
    """Two lines a row, the notes' and the computed one; a computed number is marked where it is another."""
    lines: dict[str, list[str]] = {"": []}
    for row, label in enumerate(claim.labels or ("",) * len(claim.notes)):
        lines[""] += [f"{label}: notes", f"{label}: computed"] if label else ["notes", "computed"]
        columns = claim.columns or tuple(str(column) for column in range(len(claim.notes[row])))
        for column, name in enumerate(columns if len(columns) > 1 else ("number",)):
            mark = "✓" if claim.agreeing[row][column] else "✗"
            computed = digits(claim.computed[row][column], claim.digits)
            lines.setdefault(name, []).extend((f"{claim.notes[row][column]:.{claim.digits}f}", f"{computed} {mark}"))
    st.dataframe(
        lines,
        hide_index=True,
        width="stretch",
        height=38 + 35 * len(lines[""]),
        column_config={"": st.column_config.TextColumn("", pinned=True)},
    )


def digits(value: float, least: int) -> str:
    """A number with at most five decimals, and no fewer than the notes give."""
    text = f"{value:.5f}"
    while text.endswith("0") and len(text.split(".")[1]) > least:
        text = text[:-1]
    return text.rstrip(".")


main()
