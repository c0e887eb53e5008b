"""The families of checkpoints, their mechanisms and their difference from transformers: a page of `make docs`."""

import json
from pathlib import Path

from encoder.checkpoints.families import FAMILIES, JOINTS
from encoder.checkpoints.families.modernbert import NOMIC_PLAIN
from encoder.checkpoints.measured_parity import REFUSED, measured

#: Family -> time of a plain forward pass, where that of transformers is 1: `python -m benchmarks --only families`.
TIMES = Path(__file__).parents[1] / "benchmarks/results/measured-families.json"


def _times() -> list[str]:
    found = json.loads(TIMES.read_text(encoding="utf-8"))
    return [
        "",
        "## Times",
        "",
        f"The plain forward pass, where that of transformers {found['transformers']} takes 1: random weights, 3 layers "
        "of width 384, 512 tokens; processor time of one thread, so the second digit is uncertain.",
        "",
        "| family | ratio |",
        "|---|---|",
        *(f"| {family} | {ratio:.2f} |" for family, ratio in found["ratios"].items()),
        "",
        "## Refused",
    ]


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
    compared = (*(FAMILIES[row.model_type] for row in found.rows), NOMIC_PLAIN)
    lines += ["", *(family.note for family in compared if family.note)]
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
    lines += _times()
    lines += ["", "Refused, with the mechanism that is missing:", "", "| model_type | missing |", "|---|---|"]
    lines += [f"| {name} | {missing} |" for name, missing in REFUSED.items()]
    return "\n".join(lines)
