"""The command `encoderscope models`: the families that open, how far each is from transformers, and what is refused."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from encoder.cli.arguments import Subparsers


def show_models(options: argparse.Namespace) -> int:
    """Print the registry."""
    from encoder.load.measured_parity import measured
    from encoder.load.missing_mechanisms import REFUSED

    registry = measured()
    versions = ", ".join(f"{name} {version}" for name, version in registry.versions.items())
    print(f"Largest difference from transformers (output, maps, gradients) on random checkpoints; {versions}.\n")
    width = max(len(row.model_type) for row in registry.rows)
    print(f"{'model_type':{width}}  float64  float32  mechanisms")
    for row in registry.rows:
        print(
            f"{row.model_type:{width}}  {max(row.float64):.0e}    {max(row.float32):.0e}    {', '.join(row.mechanisms)}"
        )
    print("\nRefused, with the mechanism that is missing:")
    for model_type, missing in REFUSED.items():
        print(f"{model_type:{width}}  {missing}")
    return 0


def add_models(subparsers: Subparsers) -> None:
    """Add the command to the parser of the whole command line."""
    parser = subparsers.add_parser(
        "models",
        help="list the families of checkpoints that open, and how far each is from transformers",
        description="List the families of checkpoints that open, and how far each is from transformers.",
    )
    parser.set_defaults(run=show_models)
