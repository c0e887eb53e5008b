"""From the trained pair to the files that ship: float16 weights, and the model card with its figures."""

import dataclasses
from pathlib import Path

import torch

from encoder.checkpoints import load, save
from encoder.encoders.joint import JointEncoder
from encoder.inputs.captions import PLAIN_TEMPLATES, TEMPLATES, UNSEEN_TEMPLATES, WORDS
from encoder.inputs.digits import dataset
from recipes.digit_words.captions import MOST_TOKENS, UNSEEN_PAIRS
from recipes.digit_words.strokes import accuracy_of_strokes
from recipes.digit_words.training import NAME, PairRecipe
from recipes.zero_shot import held_out_vectors, of_held_out


def write(model: JointEncoder, recipe: PairRecipe, seconds: float, out: Path) -> Path:
    """Write the folder, and measure these stored weights for its card."""
    folder = save(model, out / NAME, dtype="float16", layout="encoderscope")
    stored = load(folder, device="cpu")
    assert isinstance(stored, JointEncoder)
    (folder / "MODEL_CARD.md").write_text(card(stored, recipe, seconds / 60), encoding="utf-8")
    return folder


def accuracies(model: JointEncoder) -> dict[str, tuple[float, float]]:
    """The least and the largest share of held-out images named rightly, by templates "trained" and "unseen"."""
    vectors = held_out_vectors(model)
    found = {}
    for name, templates in (("trained", (*TEMPLATES, *PLAIN_TEMPLATES)), ("unseen", UNSEEN_TEMPLATES)):
        shares = [of_held_out(model, template, vectors).accuracy for template in templates]
        found[name] = min(shares), max(shares)
    return found


def card(model: JointEncoder, recipe: PairRecipe, minutes: float) -> str:
    """The model card, with the figures of these weights."""
    shown = of_held_out(model, "a handwritten {number}")
    counted = [(*place, int(shown.counts[tuple(place)])) for place in torch.nonzero(shown.counts).tolist()]
    wrong = [f"{WORDS[digit]} as {WORDS[said]} ({n})" for digit, said, n in counted if digit != said]
    strokes = {name: accuracy_of_strokes(model, unseen=name == "unseen") for name in ("trained", "unseen")}
    ranges = {name: f"{low:.3f} to {high:.3f}" for name, (low, high) in accuracies(model).items()}
    values = dataclasses.asdict(recipe) | {
        "n_parameters": model.n_parameters,
        "vocabulary": model.text.config.vocab_size,
        "most_tokens": MOST_TOKENS,
        "n_train": len(dataset()[0]),
        "n_held_out": len(shown.truth),
        "minutes": minutes,
        "n_templates": len(TEMPLATES) + len(PLAIN_TEMPLATES),
        "n_unseen": len(UNSEEN_TEMPLATES),
        "start_scale": recipe.scale,
        "scale": model.scale,
        "held_out": shown.accuracy,
        "trained_templates": ranges["trained"],
        "unseen_templates": ranges["unseen"],
        "confused": ", ".join(wrong) or "none",
        "trained_strokes": strokes["trained"][0],
        "n_trained_strokes": strokes["trained"][1],
        "unseen_strokes": strokes["unseen"][0],
        "n_unseen_strokes": strokes["unseen"][1],
        "unseen_pairs": ", ".join(sorted(f"{stroke} {WORDS[digit]}" for stroke, digit in UNSEEN_PAIRS)),
    }
    return Path(__file__).with_name("model_card.md").read_text(encoding="utf-8").format(**values)
