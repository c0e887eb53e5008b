"""Train the bundled pair of digits and captions again: `python -m recipes.digit_words`, part of `make digits`."""

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from encoder.inputs.digits import EXAMPLES, dataset
from recipes.digit_words.finish import write
from recipes.digit_words.training import PairRecipe, train


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.digit_words", description=__doc__)
    parser.add_argument("--out", type=Path, default=EXAMPLES.parent, help="folder of the model (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=PairRecipe().epochs, help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    images, labels, _, _ = dataset()
    recipe, began = PairRecipe(epochs=options.epochs), time.monotonic()
    model = train(recipe, images, labels, partial(print, flush=True))
    print(write(model, recipe, time.monotonic() - began, options.out))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
