"""The families of checkpoints, their mechanisms and their difference from transformers: a page of `make docs`."""

from encoder.checkpoints.families import JOINTS
from encoder.checkpoints.measured_parity import REFUSED, measured


def text() -> str:
    """Every family of encoder/checkpoints/measured.json, then every refused one, as Markdown."""
    found = measured()
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    precise = sum(max(row.float64) <= 1e-10 for row in found.rows)
    lines = [
        "# Families of checkpoints",
        "",
        f"{len(found.rows)} families, and {len(JOINTS)} of pairs. Measured on random checkpoints with {versions}: the "
        f"largest difference of output, maps and gradient. In float64, {precise} are within 1e-10, and all in float32 "
        "within 1e-5.",
        "",
        "| family | model_type | mechanisms | float64 | float32 |",
        "|---|---|---|---|---|",
    ]
    for row in found.rows:
        both = (", ".join(f"{one:.0e}" for one in figures) for figures in (row.float64, row.float32))
        lines.append(f"| {row.family} | {row.model_type} | {', '.join(row.mechanisms)} | {' | '.join(both)} |")
    lines += [
        "",
        "Families that write, on the same kind of checkpoints: the largest difference of logits, of the decoder's "
        "own maps and of cross-attention, and outputs that are equal token by token, greedy and of four beams.",
        "",
        "| family | model_type | float64 | float32 | equal outputs |",
        "|---|---|---|---|---|",
    ]
    for one in found.decoders:
        both = (", ".join(f"{figure:.0e}" for figure in figures) for figures in (one.float64, one.float32))
        lines.append(f"| {one.family} | {one.model_type} | {' | '.join(both)} | {one.equal} of {one.outputs} |")
    lines += ["", "Refused, with the mechanism that is missing:", "", "| model_type | missing |", "|---|---|"]
    lines += [f"| {name} | {missing} |" for name, missing in REFUSED.items()]
    return "\n".join(lines)
