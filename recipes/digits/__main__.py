"""Train the bundled encoders of digits again: `python -m recipes.digits`, which `make digits` calls. Takes minutes."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from encoder.inputs.digits import EXAMPLES, dataset
from encoder.model.config import NORM_PLACEMENTS
from recipes.digits.finish import write, write_examples
from recipes.digits.training import DigitRecipe, train


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.digits", description=__doc__)
    parser.add_argument("--out", type=Path, default=EXAMPLES.parent, help="folder of the models (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=DigitRecipe("pre").epochs, help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    images, labels, _, _ = dataset()
    models = []
    for placement in NORM_PLACEMENTS:
        recipe, began = DigitRecipe(placement, epochs=options.epochs), time.monotonic()
        models.append(train(recipe, images, labels, print))
        print(write(models[-1], recipe, time.monotonic() - began, options.out))
    write_examples(models, options.out / EXAMPLES.name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
