"""Train the bundled pair of spoken digits and captions again: `python -m recipes.spoken_words`, part of `make digits`.

It needs espeak-ng.
"""

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from encoder.inputs.digits import EXAMPLES
from recipes.spoken.training import features
from recipes.spoken.voices import HELD_OUT_VOICES, TRAINING_VOICES, said, utterances
from recipes.spoken_words.finish import card, write
from recipes.spoken_words.training import NAME, WordsRecipe, train


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.spoken_words", description=__doc__)
    parser.add_argument("--out", type=Path, default=EXAMPLES.parent / NAME, help="(default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=WordsRecipe().epochs, help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    recipe, began = WordsRecipe(epochs=options.epochs), time.monotonic()
    trained_on, unheard = utterances(TRAINING_VOICES, 1), utterances(HELD_OUT_VOICES, 2)
    print(f"espeak-ng says {len(trained_on) + len(unheard):,} digits", flush=True)
    spectrograms = features(list(said(trained_on)), recipe.sound, recipe.copies, seed=3)
    noisy = features(list(said(unheard)), recipe.sound, 1, seed=4)
    digits = torch.tensor([one.digit for one in trained_on]).repeat_interleave(recipe.copies)
    print(f"{time.monotonic() - began:.0f} s; training", flush=True)
    model = train(recipe, spectrograms, digits, partial(print, flush=True))
    stored = write(model, options.out)
    held_out = noisy, torch.tensor([one.digit for one in unheard])
    text = card(stored, recipe, len(digits), held_out, (time.monotonic() - began) / 60)
    (options.out / "MODEL_CARD.md").write_text(text, encoding="utf-8")
    print(text, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
