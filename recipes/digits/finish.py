"""From trained models to the files that ship: float16 weights, the model cards with their figures, the examples."""

import dataclasses
import json
from pathlib import Path

import torch
from torch import Tensor

from encoder.checkpoints import load, save
from encoder.encoders.image import ImageEncoder
from encoder.inputs.digits import EXAMPLES, dataset, encode
from recipes.digits.training import DigitRecipe, predictions


def write(model: ImageEncoder, recipe: DigitRecipe, seconds: float, out: Path) -> Path:
    """Write the folder of one twin, and measure these stored weights for its card."""
    folder = save(model, out / recipe.name, dtype="float16", layout="encoderscope")
    stored = load(folder, device="cpu")
    assert isinstance(stored, ImageEncoder)
    images, labels, held_out, truth = dataset()
    shares = {"train": (images, labels), "held_out": (held_out, truth)}
    accuracy = {name: accuracy_of(predictions(stored, one), other) for name, (one, other) in shares.items()}
    guesses = predictions(stored, held_out).argmax(-1)
    wrong = guesses != truth
    confused = [f"{int(is_)} as {int(said)}" for is_, said in zip(truth[wrong], guesses[wrong], strict=True)]
    weights = [*stored.encoder.parameters(), *(stored.classifier.parameters() if stored.classifier else ())]
    values = dataclasses.asdict(recipe) | {
        "placement": recipe.norm_placement,
        "other": "post" if recipe.norm_placement == "pre" else "pre",
        "final_norm": " and after the last layer" if recipe.norm_placement == "pre" else "",
        "n_parameters": sum(weight.numel() for weight in weights),
        "n_train": len(labels),
        "n_held_out": len(truth),
        "minutes": seconds / 60,
        **accuracy,
        "confused": ", ".join(sorted(confused)) or "none",
    }
    card = Path(__file__).with_name("model_card.md").read_text(encoding="utf-8").format(**values)
    (folder / "MODEL_CARD.md").write_text(card, encoding="utf-8")
    return folder


def accuracy_of(probabilities: Tensor, labels: Tensor) -> float:
    """The share of images [N, 10] whose most probable digit is the label [N]."""
    return float((probabilities.argmax(-1) == labels).float().mean())


def write_examples(models: list[ImageEncoder], path: Path = EXAMPLES) -> None:
    """One held-out image of each digit that all models get right, and the two that they find hardest."""
    _, _, images, labels = dataset()
    right = torch.stack([predictions(model, images)[torch.arange(len(labels)), labels] for model in models]).amin(0)
    found = {}
    for digit in range(10):
        best = int(torch.where(labels == digit, right, -1.0).argmax())
        found[str(digit)] = encode(images[best])
    for index in right.argsort()[:2].tolist():
        found[f"hard: {int(labels[index])}"] = encode(images[index])
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
