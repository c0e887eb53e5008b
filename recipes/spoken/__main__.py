"""Train the bundled encoder of spoken digits again: `python -m recipes.spoken`, part of `make digits`.

It needs espeak-ng and takes a quarter of an hour on two cores.
"""

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from encoder.inputs import spoken_digits
from recipes.spoken import recordings
from recipes.spoken.finish import card, choose, write
from recipes.spoken.training import SpokenRecipe, features, train
from recipes.spoken.voices import HELD_OUT_VOICES, TRAINING_VOICES, said, utterances


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    usual = SpokenRecipe()
    parser = argparse.ArgumentParser(prog="python -m recipes.spoken", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=spoken_digits.DATA, help="folder of the model (default: %(default)s)"
    )
    parser.add_argument("--epochs", type=int, default=usual.epochs, help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    recipe, began = SpokenRecipe(epochs=options.epochs), time.monotonic()
    trained_on, unheard = utterances(TRAINING_VOICES, 1, recipe.accents_each), utterances(HELD_OUT_VOICES, 2)
    print(f"espeak-ng says {len(trained_on) + len(unheard):,} digits")
    clips, unheard_clips = list(said(trained_on)), list(said(unheard))
    print(f"{time.monotonic() - began:.0f} s; making recordings of them")
    sets = {
        "train": (
            features(clips, recipe, recipe.copies, seed=3),
            torch.tensor([one.digit for one in trained_on]).repeat_interleave(recipe.copies),
        ),
        "held_out": (features(unheard_clips, recipe, 1, seed=4), torch.tensor([one.digit for one in unheard])),
    }
    print(f"{time.monotonic() - began:.0f} s; training")
    model = train(recipe, *sets["train"], partial(print, flush=True))
    stored = write(model, options.out)
    recordings.write(choose(unheard, unheard_clips), options.out / spoken_digits.FILE)
    text = card(stored, recipe, unheard, sets, (time.monotonic() - began) / 60)
    (options.out / "MODEL_CARD.md").write_text(text, encoding="utf-8")
    print(text, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
