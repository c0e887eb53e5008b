"""The training of "spoken-words": an encoder of sounds and one of captions, trained so that pairs agree (CLIP, CLAP).

Shapes: R recordings, B batch, S frames, M mel bands, W width of the shared space.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.checkpoints import load
from encoder.encoders.audio import AudioEncoder
from encoder.encoders.joint import JointEncoder
from encoder.encoders.text import TextEncoder
from encoder.inputs.log_mel import KaldiMel
from encoder.inputs.spoken_digits import TEMPLATES
from encoder.model.encoder import Encoder
from encoder.model.vector_head import VectorHead, VectorHeadConfig
from recipes.classifier_run import descend
from recipes.digit_words import captions
from recipes.digit_words.training import Pair, PairRecipe, contrastive_loss, which_hold
from recipes.spoken.training import NAME as SOUND
from recipes.spoken.training import SpokenRecipe, hidden, moved
from recipes.spoken_words.captions import PARITY_TEMPLATES, draw

NAME = "spoken-words"


@dataclass(frozen=True)
class WordsRecipe(PairRecipe):
    """The settings of the run: the encoder of sounds starts as spoken-digits, that of captions untrained.

    copies: recordings made of each clip.
    """

    epochs: int = 10
    copies: int = 2
    learning_rate: float = 1e-3
    warmup_steps: int = 150

    @property
    def sound(self) -> SpokenRecipe:
        """The settings of the encoder of sounds."""
        return SpokenRecipe(copies=self.copies)


class SoundPair(Pair):
    """Both encoders with their projections into the shared space, and the scale, in training."""

    def __init__(self, recipe: WordsRecipe, vocabulary: int, sound: Encoder) -> None:
        super().__init__(recipe)
        del self.image, self.image_head
        self.text = Encoder(recipe.text_config.replace(vocab_size=vocabulary), seed=recipe.seed + 1)
        self.sound = sound
        with torch.random.fork_rng():
            torch.manual_seed(recipe.seed + 2)
            self.sound_head = VectorHead(recipe.d_model, VectorHeadConfig("cls", recipe.width))

    def of_sounds(self, scaled: Tensor) -> Tensor:
        """Scaled spectrograms [B, S, M] -> unit vectors [B, W], from [CLS]."""
        return torch.nn.functional.normalize(self.sound_head(self.sound(scaled)), dim=-1)


def train(
    recipe: WordsRecipe, spectrograms: Tensor, digits: Tensor, say: Callable[[str], None] = lambda line: None
) -> JointEncoder:
    """Train on spectrograms [R, S, M] of `recipes.spoken` and digits [R]; say: takes a line about the progress."""
    begun = load(SOUND, device="cpu")
    assert isinstance(begun, AudioEncoder)
    assert isinstance(begun.preparation, KaldiMel)
    mean, std = begun.preparation.mean or 0.0, begun.preparation.std
    words = captions.vocabulary((*TEMPLATES, *PARITY_TEMPLATES), kinds=())
    model, tokenizer = SoundPair(recipe, len(words), begun.encoder), captions.tokenizer(words)

    def loss_of(batch: Tensor, generator: torch.Generator) -> Tensor:
        scaled = (hidden(moved(spectrograms[batch].float(), generator), generator) - mean) / (2 * std)
        numbers = random.Random(int(torch.randint(2**31, (1,), generator=generator)))
        drawn = [draw(numbers, digit) for digit in digits[batch].tolist()]
        texts = model.of_texts([captions.with_unknown_words(one.text, numbers) for one in drawn], tokenizer)
        logits = model.scale * model.of_sounds(scaled) @ texts.T
        return contrastive_loss(logits, which_hold(drawn, digits[batch], torch.zeros_like(batch)))

    descend((model,), loss_of, len(digits), recipe, lambda line: say(f"{NAME}: {line}"))
    text = TextEncoder(NAME, model.text, tokenizer, pooling="last", dense=(model.text_head,))
    sound = AudioEncoder(NAME, model.sound, begun.preparation, vector_head=model.sound_head)
    return JointEncoder(NAME, text, sound, scale=float(model.scale.detach()))
