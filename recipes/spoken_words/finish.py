"""From the trained pair to the files that ship: float16 weights, and the model card with its figures.

Shapes: R recordings, S frames, M mel bands, E width of the shared space.
"""

import dataclasses
from pathlib import Path

import torch
from torch import Tensor

from encoder.checkpoints import load, save
from encoder.encoders.joint import JointEncoder
from encoder.inputs.captions import WORDS, filled
from encoder.inputs.log_mel import KaldiMel
from encoder.inputs.spoken_digits import TEMPLATES, UNSEEN_TEMPLATES
from recipes.digit_words.captions import MOST_TOKENS
from recipes.spoken.voices import ACCENTS, HELD_OUT_VOICES, TRAINING_VOICES
from recipes.spoken_words.training import WordsRecipe
from recipes.zero_shot import held_out_vectors, of_held_out

SHOWN = "a voice says {number}"


def write(model: JointEncoder, out: Path) -> JointEncoder:
    """Write the folder, and open these stored weights for its card."""
    stored = load(save(model, out, dtype="float16", layout="encoderscope"), device="cpu")
    assert isinstance(stored, JointEncoder)
    return stored


@torch.no_grad()
def accuracy_with_noise(model: JointEncoder, spectrograms: Tensor, digits: Tensor) -> float:
    """Spectrograms [R, S, M] that are not scaled, digits [R] -> the share named rightly by `SHOWN`."""
    prepared = model.sound.preparation
    assert isinstance(prepared, KaldiMel)
    scaled = (spectrograms.float() - (prepared.mean or 0.0)) / (2 * prepared.std)
    vectors = torch.cat([model.sound.pool(model.sound.encoder(some)) for some in torch.split(scaled, 256)])
    texts = model.embed_texts([filled(SHOWN, word) for word in WORDS])
    return float(((vectors @ texts.T).argmax(-1) == digits).float().mean())


def card(
    model: JointEncoder, recipe: WordsRecipe, n_train: int, held_out: tuple[Tensor, Tensor], minutes: float
) -> str:
    """The model card, with the figures of these weights. held_out: spectrograms and digits of the held-out voices."""
    vectors = held_out_vectors(model)
    shares = {template: of_held_out(model, template, vectors).accuracy for template in (*TEMPLATES, *UNSEEN_TEMPLATES)}
    ranges = {
        name: f"{min(shares[one] for one in some):.3f} to {max(shares[one] for one in some):.3f}"
        for name, some in (("trained", TEMPLATES), ("unseen", UNSEEN_TEMPLATES))
    }
    shown = of_held_out(model, SHOWN, vectors)
    places = [(*place, int(shown.counts[tuple(place)])) for place in torch.nonzero(shown.counts).tolist()]
    wrong = [f"{WORDS[digit]} as {WORDS[said]} ({n})" for digit, said, n in places if digit != said]
    values = dataclasses.asdict(recipe) | {
        "n_parameters": model.n_parameters,
        "vocabulary": model.text.config.vocab_size,
        "most_tokens": MOST_TOKENS,
        "sound_layers": model.sound.config.n_layers,
        "n_tokens": model.sound.config.max_tokens,
        "seconds": model.sound.seconds,
        "n_train": n_train,
        "n_voices": len(TRAINING_VOICES),
        "n_held_out_voices": len(HELD_OUT_VOICES),
        "n_accents": len(ACCENTS),
        "n_held_out": len(held_out[1]),
        "noisy": accuracy_with_noise(model, *held_out),
        "n_bundled": len(shown.truth),
        "bundled": shown.accuracy,
        "n_templates": len(TEMPLATES),
        "n_unseen": len(UNSEEN_TEMPLATES),
        "trained_templates": ranges["trained"],
        "unseen_templates": ranges["unseen"],
        "confused": ", ".join(wrong) or "none",
        "minutes": minutes,
        "start_scale": recipe.scale,
        "scale": model.scale,
        "dropout": recipe.sound.dropout,
    }
    return Path(__file__).with_name("model_card.md").read_text(encoding="utf-8").format(**values)
