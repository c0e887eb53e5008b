"""From a trained translator to the files that ship: float16 weights, and the model card with its figures."""

import dataclasses
import random
from collections import Counter
from pathlib import Path

import numpy as np

from encoder.causal.cross import CrossScores, score_cross
from encoder.checkpoints import load, save
from encoder.encoders.text import TextEncoder
from encoder.measure import dates
from recipes.dates.phrasings import Example, date_phrasings, draw, number_phrasings
from recipes.dates.training import DatesRecipe, written

#: Examples that are measured for the card.
MEASURED = 10_000
#: Held-out examples whose cross-attention is scored.
SCORED = 200


def write(model: TextEncoder, recipe: DatesRecipe, seconds: float, out: Path) -> Path:
    """Write the folder of one twin, and measure these stored weights for its card."""
    folder = save(model, out / recipe.name, dtype="float16", layout="encoderscope")
    stored = load(folder, device="cpu")
    assert isinstance(stored, TextEncoder)
    (folder / "MODEL_CARD.md").write_text(card(stored, recipe, seconds / 60), encoding="utf-8")
    return folder


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """The shares of outputs that are right as a whole: of all, of dates, of numbers; wrong: what it wrote instead."""

    of_all: float
    of_dates: float
    of_numbers: float
    wrong: tuple[Example, ...]


def accuracy(model: TextEncoder, n: int = MEASURED, *, unseen: bool, seed: int = 1) -> Accuracy:
    """Measure n random examples. unseen: of held-out phrasings, with held-out dates and numbers."""
    numbers = random.Random(seed)
    examples = [draw(numbers, unseen) for _ in range(n)]
    said = [text for start in range(0, n, 500) for text in written(model, examples[start : start + 500])]
    every, right = Counter("-" in one.output for one in examples), Counter[bool]()
    right.update("-" in one.output for one, other in zip(examples, said, strict=True) if one.output == other)
    wrong = [Example(one.text, other) for one, other in zip(examples, said, strict=True) if one.output != other]
    return Accuracy(right.total() / n, right[True] / every[True], right[False] / every[False], tuple(wrong))


def heads(model: TextEncoder, n: int = SCORED) -> tuple[str, float, float]:
    """Cross-attention over n held-out examples that it gets right, for the card.

    Returns rows of a table: how often each head's largest weight is on a token that gives the character, and the mean
    fall of the output's log probability without the head; the same share for the token whose hiding costs most; chance.
    """
    numbers = random.Random(2)
    found: list[CrossScores] = []
    while len(found) < n:
        trace = model.trace(draw(numbers, unseen=True).text)
        right = dates.answer(trace.source) if trace.source is not None else None
        if right is not None and right.pairs and model.generate(trace).text == right.output:
            found.append(score_cross(model, model.decode(trace, right.output), right.pairs))
    precision = np.mean([one.attention.precision for one in found], axis=0)
    off = np.mean([one.without_head for one in found], axis=0)
    rows = [
        f"| L{layer} H{head} | {precision[layer, head]:.2f} | {off[layer, head]:.2f} |"
        for layer, head in np.ndindex(*precision.shape)
    ]
    deletion, chance = (
        float(np.mean(part))
        for part in zip(*((one.deletion.precision[0, 0], one.attention.chance) for one in found), strict=True)
    )
    return "\n".join(rows), deletion, chance


def card(model: TextEncoder, recipe: DatesRecipe, minutes: float) -> str:
    """The model card, with the figures of these weights."""
    seen, unseen = accuracy(model, unseen=False), accuracy(model, unseen=True)
    rows, deletion, chance = heads(model)
    values = dataclasses.asdict(recipe) | {
        "placement": recipe.norm_placement,
        "other": "post" if recipe.norm_placement == "pre" else "pre",
        "final_norm": ", and after the last layer of each" if recipe.norm_placement == "pre" else "",
        "n_parameters": sum(part.n_parameters for part in (model, model.decoder)),
        "vocabulary": model.config.vocab_size,
        "minutes": minutes,
        "most_source": model.config.max_tokens,
        "most_target": model.decoder.config.max_tokens,
        "drawn": recipe.epochs * recipe.examples,
        "measured": MEASURED,
        "n_date": len(date_phrasings(False)),
        "n_unseen_date": len(date_phrasings(True)),
        "n_number": len(number_phrasings(False)),
        "n_unseen_number": len(number_phrasings(True)),
        "heads": rows,
        "deletion": deletion,
        "chance": chance,
        "scored": SCORED,
        "wrong": "; ".join(f"“{one.text}” as {one.output or 'nothing'}" for one in unseen.wrong[:8]) or "none",
    }
    values |= {f"seen_{name}": value for name, value in vars(seen).items()}
    values |= {f"unseen_{name}": value for name, value in vars(unseen).items()}
    return Path(__file__).with_name("model_card.md").read_text(encoding="utf-8").format(**values)
