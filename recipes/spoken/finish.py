"""From a trained model to the files that ship: a folder as of transformers' AST, the card, the held-out recordings."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from encoder.checkpoints import load
from encoder.checkpoints.checkpoint import name_on_disk
from encoder.checkpoints.families.sound import AST
from encoder.encoders.audio import AudioEncoder
from encoder.inputs import spoken_digits
from encoder.inputs.log_mel import Array, KaldiMel
from encoder.inputs.sound import Sound
from encoder.inputs.spoken_digits import RATE, WORDS
from recipes.spoken.training import SpokenRecipe, accuracy
from recipes.spoken.voices import ACCENTS, HELD_OUT_VOICES, TRAINING_VOICES, Utterance


def write(model: AudioEncoder, folder: Path) -> AudioEncoder:
    """Write the folder (float16), and load it again: figures are measured with the stored weights."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config_fields(model), indent=2) + "\n", encoding="utf-8")
    prepared = model.preparation
    assert isinstance(prepared, KaldiMel)
    settings = {
        "feature_extractor_type": "ASTFeatureExtractor",
        "sampling_rate": prepared.rate,
        "do_normalize": True,
        "num_mel_bins": prepared.n_mels,
        "max_length": prepared.n_frames,
        "mean": prepared.mean,
        "std": prepared.std,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    save_file(weights_on_disk(model), folder / "model.safetensors", metadata={"format": "pt"})
    stored = load(folder, device="cpu")
    assert isinstance(stored, AudioEncoder)
    return stored


def config_fields(model: AudioEncoder) -> dict[str, object]:
    """config.json as transformers writes it for ASTForAudioClassification."""
    config, patches = model.config, model.config.spectrogram
    assert patches is not None
    return {
        "architectures": ["ASTForAudioClassification"],
        "model_type": "audio-spectrogram-transformer",
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.d_ffn,
        "hidden_act": "gelu",
        "layer_norm_eps": config.norm_eps,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": 0.0,
        "qkv_bias": True,
        "patch_size": patches.patch_size,
        "frequency_stride": patches.mel_stride,
        "time_stride": patches.time_stride,
        "max_length": patches.n_frames,
        "num_mel_bins": patches.n_mels,
        "id2label": {str(digit): word for digit, word in enumerate(WORDS)},
        "label2id": {word: digit for digit, word in enumerate(WORDS)},
    }


def weights_on_disk(model: AudioEncoder) -> dict[str, Tensor]:
    """The weights in float16, under transformers' names."""
    assert model.classifier is not None
    found = {}
    for ours, value in model.encoder.state_dict().items():
        part = name_on_disk(ours, AST, model.config)
        stored = value.unsqueeze(0) if part.unwrap else value
        found[AST.prefixes[0] + part.name] = stored.to(torch.float16).contiguous()
    for ours, value in model.classifier.state_dict().items():
        name = ours.replace("norm.", "classifier.layernorm.").replace("out.", "classifier.dense.")
        found[name] = value.to(torch.float16).contiguous()
    return found


def choose(said: Sequence[Utterance], clips: Sequence[Array]) -> list[spoken_digits.Recording]:
    """The recordings that ship: each digit by each held-out voice, the accents in turn; 0.15 s of silence around."""
    chosen = []
    for utterance, clip in zip(said, clips, strict=True):
        turn = HELD_OUT_VOICES.index(utterance.voice) + utterance.digit
        if utterance.accent != ACCENTS[turn % len(ACCENTS)]:
            continue
        samples = np.pad(clip, int(0.15 * RATE))
        chosen.append(
            spoken_digits.Recording(utterance.digit, f"{utterance.voice}, {utterance.accent}", Sound(samples, RATE))
        )
    return chosen


def card(
    stored: AudioEncoder,
    recipe: SpokenRecipe,
    said: Sequence[Utterance],
    sets: dict[str, tuple[Tensor, Tensor]],
    minutes: float,
) -> str:
    """The model card. sets: "train" and "held_out", each (spectrograms, digits); said: the held-out utterances."""
    right = {name: accuracy(stored, *one) for name, one in sets.items()}
    voices = [
        (voice, float(right["held_out"][[i for i, one in enumerate(said) if one.voice == voice]].float().mean()))
        for voice in HELD_OUT_VOICES
    ]
    clean = [stored.probabilities(stored.trace(one.sound)) for one in spoken_digits.held_out()]
    bundled = [
        max(one, key=one.__getitem__) == other.word for one, other in zip(clean, spoken_digits.held_out(), strict=True)
    ]
    weights = [*stored.encoder.parameters(), *(stored.classifier.parameters() if stored.classifier else ())]
    values = dataclasses.asdict(recipe) | {
        "n_parameters": sum(weight.numel() for weight in weights),
        "n_train": len(sets["train"][1]),
        "n_held_out": len(said),
        "minutes": minutes,
        "n_voices": len(TRAINING_VOICES),
        "n_held_out_voices": len(HELD_OUT_VOICES),
        "n_accents": len(ACCENTS),
        "train": float(right["train"].float().mean()),
        "held_out": float(right["held_out"].float().mean()),
        "n_bundled": len(bundled),
        "bundled": sum(bundled) / len(bundled),
        "by_voice": ", ".join(f"{voice} {share:.2f}" for voice, share in voices),
        "seconds": stored.seconds,
        "n_tokens": stored.config.max_tokens,
    }
    return Path(__file__).with_name("model_card.md").read_text(encoding="utf-8").format(**values)
