"""The similarity of two texts as a file: a report that opens without a network, or the cells as a table.

Shapes: T_a, T_b tokens of the two texts, W_a, W_b their words.
"""

from encoder.documents.document import Section, document
from encoder.documents.tables import similarity_frame, word_frame
from encoder.encoders.text import TextEncoder
from encoder.export import report
from encoder.figures.pairs import similarity_heatmap
from encoder.run import ModelSpec
from encoder.run.code import model_lines
from encoder.similarity import Attribution, WordScores, word_scores

#: Cells in the report's list of the largest.
LARGEST = 10
#: How to read the report's numbers.
FOOTER = (
    "Rows are tokens of the first text, columns of the second. Every number was computed by the model on these texts."
)


def page(
    model: TextEncoder, spec: ModelSpec, found: Attribution, deletion: WordScores | None = None, link: str = ""
) -> str:
    """The report of an attribution. deletion: `leave_words_out` of the same texts; link: the same view in the app."""
    title, parts = f"Why are these two sentences alike? {model.name}", sections(found, deletion)
    said, lines = facts(model, found), code(spec, found)
    return document(title, parts, text=texts(found), facts=said, code=lines, link=link, footer=report.footer(FOOTER))


def facts(model: TextEncoder, found: Attribution) -> dict[str, str]:
    """What a report states: model, cosine, method, reference terms, error."""
    said = {
        "Model": report.model_fact(model),
        "Cosine": f"{found.cosine:.4f}",
        "Tokens": " and ".join(
            f"{len(one):,}" + (f" of {one.n_full:,}" if one.cut else "") for one in (found.a, found.b)
        ),
    }
    if found.is_exact:
        said["Method"] = "exact split of the output vectors"
    else:
        where = "the embeddings" if found.layer == 0 else f"the input of layer {found.layer}"
        terms = zip(("cos(a, r_b)", "cos(r_a, b)", "cos(r_a, r_b)"), found.references, strict=True)
        said["Method"] = f"integrated Jacobians at {where} (Moeller et al. 2023), {found.steps} steps"
        said["Reference"] = {"pad": "padding tokens", "zero": "zero vectors"}[found.reference]
        said["Reference terms"] = ", ".join(f"{name}: {value:.4f}" for name, value in terms)
    said["Sum of the cells"] = f"{found.matrix.sum():.4f}"
    said["Error of the sum"] = f"{found.error:.2g}"
    if model.remarks:
        said["Note"] = " ".join(model.remarks)
    return said


def sections(found: Attribution, deletion: WordScores | None = None) -> list[Section]:
    """The parts of the report: the map, its largest cells, and the words next to the deletion test."""
    rows, columns = found.labels
    if found.is_exact:
        said = ["The cells add up to the cosine. Output vectors already contain information from the whole sentence."]
    else:
        said = [
            "The cells add up to cos(a, b) - cos(a, r_b) - cos(r_a, b) + cos(r_a, r_b). "
            "r_a and r_b are the two texts with their reference vectors.",
            "Another reference gives another map. The sum is checked; single cells are not.",
        ]
    largest = similarity_frame(found).nlargest(LARGEST, "value")[["token_a", "token_b", "value"]]
    parts = [
        Section("Pairs of tokens", figure=similarity_heatmap(found.matrix, rows, columns), sentences=said),
        Section("The largest cells", table=largest),
    ]
    if deletion is not None:
        note = "Change: the cosine minus the cosine without the word. A text without a word may be unusual."
        parts.append(Section("Leaving words out", sentences=[note], table=word_frame(word_scores(found), deletion)))
    return parts


def texts(found: Attribution) -> str:
    """Both texts, one below the other."""
    return f"{found.a.text}\n{found.b.text}"


def code(spec: ModelSpec, found: Attribution) -> str:
    """Python lines that make the model and the attribution again."""
    return f"import encoder\n{model_lines(spec)}\n{attribution_lines(found)}"


def attribution_lines(found: Attribution) -> str:
    """Python lines that make the attribution again from a `model`."""
    options = "" if found.layer == 0 else f", layer={found.layer}"
    if not found.is_exact:
        options += f", steps={found.steps}"
        options += "" if found.reference == "pad" else f', reference="{found.reference}"'
    call = f"similarity.attribute(model, {found.a.text!r}, {found.b.text!r}{options})"
    return f"from encoder import similarity\nfound = {call}\nfound.matrix"
