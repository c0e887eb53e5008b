"""Train the bundled translators of dates again: `python -m recipes.dates`, which `make dates` calls. Takes minutes."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from encoder.checkpoints.bundled import bundled_folder
from encoder.model.config import NORM_PLACEMENTS
from recipes.dates.finish import write
from recipes.dates.training import DatesRecipe, train


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    usual = DatesRecipe("pre")
    parser = argparse.ArgumentParser(prog="python -m recipes.dates", description=__doc__)
    out = bundled_folder("twin-pre").parent
    parser.add_argument("--out", type=Path, default=out, help="folder of the models (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=usual.epochs, help="(default: %(default)s)")
    parser.add_argument("--examples", type=int, default=usual.examples, help="of an epoch (default: %(default)s)")
    parser.add_argument("--only", choices=NORM_PLACEMENTS, help="train one of the two")
    options = parser.parse_args(arguments)
    for placement in (options.only,) if options.only else NORM_PLACEMENTS:
        recipe = DatesRecipe(placement, epochs=options.epochs, examples=options.examples)
        began = time.monotonic()
        model = train(recipe, print)
        print(write(model, recipe, time.monotonic() - began, options.out))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
