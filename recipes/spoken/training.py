"""The training of "spoken-digits": features of recordings, the model, and the steps.

Shapes: R recordings, B batch, S frames, M mel bands.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.encoders.audio import AudioEncoder
from encoder.inputs.log_mel import Array, KaldiMel
from encoder.inputs.spoken_digits import WORDS
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder
from encoder.model.sound_shapes import SpectrogramPatches
from recipes.classifier_run import fit
from recipes.spoken.voices import recorded

NAME = "spoken-digits"


@dataclass(frozen=True)
class SpokenRecipe:
    """The settings of the run."""

    d_model: int = 64
    n_layers: int = 4
    n_heads: int = 4
    d_ffn: int = 128
    n_frames: int = 192
    n_mels: int = 64
    patch_size: int = 16
    #: Accents for each voice.
    accents_each: int = 8
    #: Recordings made of each clip.
    copies: int = 3
    epochs: int = 24
    batch: int = 64
    learning_rate: float = 2e-3
    warmup_steps: int = 200
    weight_decay: float = 0.05
    clip_norm: float = 1.0
    dropout: float = 0.1
    smoothing: float = 0.05
    seed: int = 0

    @property
    def config(self) -> EncoderConfig:
        """The architecture."""
        patches = SpectrogramPatches(self.n_frames, self.n_mels, self.patch_size, self.patch_size, self.patch_size)
        return EncoderConfig(
            vocab_size=0,
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_ffn=self.d_ffn,
            max_positions=patches.n_tokens(),
            norm_placement="pre",
            embedding_norm=False,
            norm_eps=1e-5,
            dropout=self.dropout,
            spectrogram=patches,
        )


def preparation(recipe: SpokenRecipe, mean: float, std: float) -> KaldiMel:
    """The features, scaled by the mean and twice the standard deviation of the training's."""
    return KaldiMel(n_mels=recipe.n_mels, n_frames=recipe.n_frames, mean=mean, std=std)


def features(clips: Sequence[Array], recipe: SpokenRecipe, copies: int, seed: int) -> Tensor:
    """Clips -> log-mel spectrograms [R x copies, S, M] float16, not yet scaled; each copy is another recording."""
    draw = np.random.default_rng(seed)
    plain = KaldiMel(n_mels=recipe.n_mels, n_frames=recipe.n_frames, mean=None)
    made = torch.empty(len(clips) * copies, recipe.n_frames, recipe.n_mels, dtype=torch.float16)
    for index in range(len(made)):
        clip = clips[index // copies]
        made[index] = torch.from_numpy(plain.features(recorded(clip, draw, plain.seconds).samples))
    return made


def untrained(recipe: SpokenRecipe, mean: float, std: float) -> AudioEncoder:
    """The model before its first step."""
    head = ClassifierConfig("sequence", WORDS, pooling="first_two", norm=True)
    with torch.random.fork_rng():  # the head draws its weights from torch's own numbers
        torch.manual_seed(recipe.seed)
        classifier = Classifier(recipe.d_model, head)
    encoder = Encoder(recipe.config, seed=recipe.seed)
    return AudioEncoder(NAME, encoder, preparation(recipe, mean, std), classifier=classifier)


def train(
    recipe: SpokenRecipe, spectrograms: Tensor, digits: Tensor, say: Callable[[str], None] = lambda line: None
) -> AudioEncoder:
    """Train on spectrograms [R, S, M] from `features` and digits [R]; say: takes a line about the progress."""
    spoken = spectrograms[spectrograms != 0].float()  # frames after the end are zero
    mean, std = float(spoken.mean()), float(spoken.std())
    model = untrained(recipe, mean, std)
    assert model.classifier is not None
    encoder, head = model.encoder, model.classifier

    def logits_of(batch: Tensor, generator: torch.Generator) -> Tensor:
        scaled = (hidden(moved(spectrograms[batch].float(), generator), generator) - mean) / (2 * std)
        logits: Tensor = head(encoder(scaled), torch.ones(len(batch), 1, dtype=torch.bool))
        return logits

    fit((encoder, head), logits_of, digits, recipe, say)
    return model


def moved(spectrograms: Tensor, generator: torch.Generator) -> Tensor:
    """Spectrograms [B, S, M], each shifted by up to 8 frames and 2 bands: words begin anywhere, and voices differ."""
    n, n_frames, n_mels = spectrograms.shape
    later = torch.randint(-8, 9, (n, 1), generator=generator)
    higher = torch.randint(-2, 3, (n, 1), generator=generator)
    frames = (torch.arange(n_frames) - later).clamp(0, n_frames - 1)  # [B, S]
    bands = (torch.arange(n_mels) - higher).clamp(0, n_mels - 1)  # [B, M]
    return spectrograms[torch.arange(n).view(-1, 1, 1), frames.unsqueeze(2), bands.unsqueeze(1)]


def hidden(spectrograms: Tensor, generator: torch.Generator) -> Tensor:
    """Spectrograms [B, S, M] with a band and a time of each hidden behind the mean (SpecAugment, Park et al. 2019)."""
    n, n_frames, n_mels = spectrograms.shape
    filled = spectrograms.mean(dim=(1, 2), keepdim=True)
    places = torch.rand(4, n, 1, 1, generator=generator)
    band, frame = torch.arange(n_mels).view(1, 1, -1), torch.arange(n_frames).view(1, -1, 1)
    low, start = (places[0] * n_mels).long(), (places[1] * n_frames).long()
    in_band = (band >= low) & (band < low + (places[2] * 10).long())
    in_time = (frame >= start) & (frame < start + (places[3] * 16).long())
    return torch.where(in_band | in_time, filled, spectrograms)


@torch.no_grad()
def accuracy(model: AudioEncoder, spectrograms: Tensor, digits: Tensor) -> Tensor:
    """Spectrograms [R, S, M] from `features` -> bool [R]: whether the most probable class is the digit."""
    assert model.classifier is not None
    assert isinstance(model.preparation, KaldiMel)
    mean, std = model.preparation.mean or 0.0, model.preparation.std
    right = []
    for some, truth in zip(torch.split(spectrograms, 256), torch.split(digits, 256), strict=True):
        output = model.encoder((some.float() - mean) / (2 * std))
        right.append(model.classifier(output, torch.ones(len(some), 1, dtype=torch.bool)).argmax(-1) == truth)
    return torch.cat(right)
