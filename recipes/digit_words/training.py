"""The training of "digit-words": an encoder of images and one of captions, trained so that pairs agree (CLIP).

Shapes: B pairs of an image and a caption, N images, M captions, T tokens, W width of the shared space.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from encoder.encoders.image import ImageEncoder, Preparation
from encoder.encoders.joint import JointEncoder
from encoder.encoders.text import TextEncoder
from encoder.inputs.digits import SIDE
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.config import EncoderConfig, Patches
from encoder.model.encoder import Encoder
from encoder.model.pooling import Dense, DenseConfig, pool
from encoder.model.vector_head import VectorHead, VectorHeadConfig
from recipes.classifier_run import descend
from recipes.digit_words import captions
from recipes.digit_words.captions import Caption
from recipes.digit_words.strokes import STROKES, limits, strokes
from recipes.digits.training import moved

NAME = "digit-words"
#: The largest scale, as of CLIP: above, the training is unstable.
MOST_SCALE = 100.0


@dataclass(frozen=True)
class PairRecipe:
    """The settings of the run."""

    d_model: int = 64
    image_layers: int = 4
    text_layers: int = 3
    n_heads: int = 4
    d_ffn: int = 128
    patch_size: int = 2
    #: W, of the common vectors.
    width: int = 32
    #: Of cosines in the loss, before the first step.
    scale: float = 1 / 0.07
    epochs: int = 150
    batch: int = 96
    learning_rate: float = 2e-3
    warmup_steps: int = 100
    weight_decay: float = 0.05
    clip_norm: float = 1.0
    seed: int = 0

    @property
    def image_config(self) -> EncoderConfig:
        """The architecture of the encoder of images, that of digits-pre."""
        patches = Patches(SIDE, self.patch_size, 1)
        return self._config(self.image_layers, vocab_size=0, max_positions=patches.count + 1, patches=patches)

    @property
    def text_config(self) -> EncoderConfig:
        """The architecture of the encoder of captions: causal, so [END] is the one token that attends to all words."""
        size = len(captions.vocabulary())
        return self._config(self.text_layers, vocab_size=size, max_positions=captions.MOST_TOKENS, causal=True)

    def _config(self, n_layers: int, **fields: object) -> EncoderConfig:
        return EncoderConfig(
            d_model=self.d_model,
            n_layers=n_layers,
            n_heads=self.n_heads,
            d_ffn=self.d_ffn,
            norm_placement="pre",
            embedding_norm=False,
            norm_eps=1e-5,
            **fields,  # type: ignore[arg-type]
        )


class Pair(nn.Module):
    """Both encoders with their projections into the shared space, and the scale, in training."""

    def __init__(self, recipe: PairRecipe) -> None:
        super().__init__()
        self.image = Encoder(recipe.image_config, seed=recipe.seed)
        self.text = Encoder(recipe.text_config, seed=recipe.seed + 1)
        with torch.random.fork_rng():  # the projections draw their weights from torch's own numbers
            torch.manual_seed(recipe.seed)
            self.image_head = VectorHead(recipe.d_model, VectorHeadConfig("cls", recipe.width))
            self.text_head = Dense(DenseConfig(recipe.d_model, recipe.width, bias=False, activation="none"))
        self.log_scale = nn.Parameter(torch.tensor(recipe.scale).log())

    @property
    def scale(self) -> Tensor:
        """What cosines are multiplied with."""
        return self.log_scale.exp().clamp(max=MOST_SCALE)

    def of_images(self, images: Tensor) -> Tensor:
        """Images [N, 8, 8] from 0 to 1 -> unit vectors [N, W], from [CLS]."""
        output = self.image((images.unsqueeze(1) - 0.5) / 0.5)
        return F.normalize(self.image_head(output), dim=-1)

    def of_texts(self, texts: Sequence[str], tokenizer: Tokenizer) -> Tensor:
        """M captions -> unit vectors [M, W], from [END]."""
        batch = tokenizer.batch([tokenizer.encode(text, max_tokens=captions.MOST_TOKENS) for text in texts])
        mask = torch.ones_like(batch.ids, dtype=torch.bool) if batch.mask is None else batch.mask
        output = self.text(batch.ids, batch.mask)
        return F.normalize(self.text_head(pool(output, mask, "last")), dim=-1)

    def finished(self, tokenizer: Tokenizer) -> JointEncoder:
        """The trained pair, ready to compare images and texts."""
        text = TextEncoder(NAME, self.text, tokenizer, pooling="last", dense=(self.text_head,))
        preparation = Preparation(mean=(0.5,), std=(0.5,), interpolation="box")
        image = ImageEncoder(NAME, self.image, preparation=preparation, vector_head=self.image_head)
        return JointEncoder(NAME, text, image, scale=float(self.scale.detach()))


def contrastive_loss(logits: Tensor, holds: Tensor) -> Tensor:
    """Logits [N, M] of images and captions, holds [N, M]: whether the caption is true of the image -> the loss.

    As of CLIP (Radford et al. 2021): the mean of two cross-entropies, image to caption and caption to image. With ten
    digits a batch has many captions that are true of an image, and calling them wrong would push apart what belongs
    together. So the target of each row is uniform over all that are true (Yang et al. 2022, UniCL). A row without a
    true one is left out.
    """

    def one_way(logits: Tensor, holds: Tensor) -> Tensor:
        target = holds.float() / holds.sum(dim=-1, keepdim=True).clamp_min(1)
        rows = -(target * F.log_softmax(logits, dim=-1)).sum(dim=-1)
        return rows.sum() / holds.any(dim=-1).sum().clamp_min(1)

    return (one_way(logits, holds) + one_way(logits.T, holds.T)) / 2


def which_hold(drawn: Sequence[Caption], labels: Tensor, thickness: Tensor) -> Tensor:
    """M captions, labels [N], places in STROKES [N] -> bool [N, M]: whether the caption is true of the image."""
    named = torch.tensor([[digit in caption.digits for digit in range(10)] for caption in drawn])  # [M, 10]
    asked = torch.tensor([STROKES.index(caption.stroke) for caption in drawn])  # [M]
    return named.T[labels] & ((asked == 0) | (asked == thickness.unsqueeze(-1)))


def train(
    recipe: PairRecipe, images: Tensor, labels: Tensor, say: Callable[[str], None] = lambda line: None
) -> JointEncoder:
    """Train on images [N, 8, 8] from 0 to 1 and labels [N]; say: takes a line about the progress."""
    model, tokenizer, between = Pair(recipe), captions.tokenizer(), limits(images, labels)

    def loss_of(batch: Tensor, generator: torch.Generator) -> Tensor:
        given = moved(images[batch], generator)
        thickness = strokes(given, labels[batch], between)  # of the pixels that the model is given
        numbers = random.Random(int(torch.randint(2**31, (1,), generator=generator)))
        pairs = zip(labels[batch].tolist(), thickness.tolist(), strict=True)
        drawn = [captions.draw(numbers, digit, STROKES[stroke]) for digit, stroke in pairs]
        texts = model.of_texts([captions.with_unknown_words(one.text, numbers) for one in drawn], tokenizer)
        logits = model.scale * model.of_images(given) @ texts.T
        return contrastive_loss(logits, which_hold(drawn, labels[batch], thickness))

    descend((model,), loss_of, len(labels), recipe, lambda line: say(f"{NAME}: {line}"))
    return model.finished(tokenizer)
