"""Train the bundled pair of digits and captions again: `python -m encoder.digit_words`, part of `make digits`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from encoder.digit_words.finish import write
from encoder.digit_words.training import PairRecipe, train
from encoder.digits.data import EXAMPLES, dataset


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m encoder.digit_words", description=__doc__)
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
