"""The command `models`: the families that open, how far each is from transformers, and what is refused."""

import argparse
from collections.abc import Iterator

import pandas as pd

from encoder.checkpoints.measured_parity import REFUSED, measured
from encoder.cli.command import Result


def show_models(_: argparse.Namespace) -> Iterator[Result]:
    """The registry of families."""
    registry = measured()
    rows = [
        (one.model_type, max(one.float64), max(one.float32), ", ".join(one.mechanisms), "") for one in registry.rows
    ]
    rows += [(model_type, float("nan"), float("nan"), "", missing) for model_type, missing in REFUSED.items()]
    table = pd.DataFrame(rows, columns=["model_type", "float64", "float32", "mechanisms", "missing"])
    versions = ", ".join(f"{name} {version}" for name, version in registry.versions.items())

    def shown() -> pd.DataFrame:
        text = table.astype({"float64": object, "float32": object})
        for name in ("float64", "float32"):
            text[name] = [f"{value:.0e}" if value == value else "refused" for value in table[name]]
        text["mechanisms"] = [a or f"missing: {b}" for a, b in zip(text["mechanisms"], text["missing"], strict=True)]
        return text.drop(columns="missing")

    said = f"Largest difference from transformers (output, maps, gradients) on random checkpoints; {versions}."
    yield Result(lambda: [table], facts={"Versions": versions}, shown=shown, said=said, name=f"{len(table)} families")
