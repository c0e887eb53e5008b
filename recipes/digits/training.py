"""The digit twins: their recipe and their training. Both norm placements have the same seed, data and settings.

Shapes: B batch, N images, 8 rows and columns of pixels, T tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from encoder.encoders.image import ImageEncoder, Preparation
from encoder.inputs.digits import SIDE
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.model.config import EncoderConfig, NormPlacement, Patches
from encoder.model.encoder import Encoder
from recipes.classifier_run import fit

LABELS = tuple("0123456789")


@dataclass(frozen=True)
class DigitRecipe:
    """The settings of one run. Every default is shared by both placements."""

    norm_placement: NormPlacement
    d_model: int = 64
    n_layers: int = 4
    n_heads: int = 4
    d_ffn: int = 128
    patch_size: int = 2
    epochs: int = 100
    batch: int = 64
    learning_rate: float = 2e-3
    warmup_steps: int = 100
    weight_decay: float = 0.05
    clip_norm: float = 1.0
    smoothing: float = 0.05
    seed: int = 0

    @property
    def name(self) -> str:
        """Of the bundled model."""
        return f"digits-{self.norm_placement}"

    @property
    def config(self) -> EncoderConfig:
        """The architecture."""
        patches = Patches(SIDE, self.patch_size, 1)
        return EncoderConfig(
            vocab_size=0,
            d_model=self.d_model,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_ffn=self.d_ffn,
            max_positions=patches.count + 1,
            norm_placement=self.norm_placement,
            embedding_norm=False,
            norm_eps=1e-5,
            patches=patches,
        )


def untrained(recipe: DigitRecipe) -> ImageEncoder:
    """The model before its first step."""
    with torch.random.fork_rng():  # the head draws its weights from torch's own numbers
        torch.manual_seed(recipe.seed)
        head = Classifier(recipe.d_model, ClassifierConfig("sequence", LABELS))
    preparation = Preparation(mean=(0.5,), std=(0.5,), interpolation="box")
    encoder = Encoder(recipe.config, seed=recipe.seed)
    return ImageEncoder(name=recipe.name, encoder=encoder, preparation=preparation, classifier=head)


def train(
    recipe: DigitRecipe, images: Tensor, labels: Tensor, say: Callable[[str], None] = lambda line: None
) -> ImageEncoder:
    """Train on images [N, 8, 8] from 0 to 1 and labels [N]; say: takes a line about the progress."""
    model = untrained(recipe)
    assert model.classifier is not None
    encoder, head = model.encoder, model.classifier

    def logits_of(batch: Tensor, generator: torch.Generator) -> Tensor:
        pixels = (moved(images[batch], generator).unsqueeze(1) - 0.5) / 0.5
        logits: Tensor = head(encoder(pixels), torch.ones(len(batch), recipe.config.max_tokens, dtype=torch.bool))
        return logits

    fit((encoder, head), logits_of, labels, recipe, lambda line: say(f"{recipe.name}: {line}"))
    return model


def moved(images: Tensor, generator: torch.Generator) -> Tensor:
    """Images [B, 8, 8], each turned, sheared, scaled and shifted a little at random: a person draws no digit twice."""
    n = len(images)
    angle, shear, scale, x, y = (torch.rand(5, n, generator=generator) - 0.5) * torch.tensor(
        [[0.4], [0.3], [0.3], [0.5], [0.5]]
    )
    rows = torch.stack(
        [
            torch.stack([angle.cos() / (1 + scale), shear - angle.sin(), x], dim=-1),
            torch.stack([angle.sin(), angle.cos() / (1 + scale), y], dim=-1),
        ],
        dim=1,
    )  # [B, 2, 3]
    grid = F.affine_grid(rows, [n, 1, *images.shape[1:]], align_corners=False)
    return F.grid_sample(images.unsqueeze(1), grid, align_corners=False)[:, 0]


@torch.no_grad()
def predictions(model: ImageEncoder, images: Tensor) -> Tensor:
    """Images [N, 8, 8] from 0 to 1 -> probabilities [N, 10]."""
    assert model.classifier is not None
    pixels = torch.stack([model.prepare(image) for image in images]).to(model.device, model.encoder.dtype)
    mask = torch.ones(len(images), model.config.max_tokens, dtype=torch.bool, device=model.device)
    return model.classifier.probabilities(model.classifier(model.encoder(pixels), mask)).cpu()
