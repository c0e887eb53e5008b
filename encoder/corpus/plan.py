"""What a build computes: model, settings, the labels of the texts, and which texts are samples; equal for all workers.

Blocks are runs of `block_texts` texts in the order of the file. What is computed for a block depends on nothing else.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from encoder.encoders.text import TextEncoder
from encoder.measure.head_definitions import BY_NAME, HEAD_MEASURES
from encoder.measure.head_measures import STRONG

MEASURES = tuple(definition.name for definition in HEAD_MEASURES)
#: Bars of a histogram.
BINS = 50
#: Different values of a label column, at most.
MOST_LABELS = 100
#: Fields that say what the names and shapes of the weights say, or that matter in training only. A field with its
#: default is left out, too: a later version with one more field gives the same hash.
IMPLIED = frozenset(
    "vocab_size d_head embedding_width n_segments final_norm attention_bias qkv_bias key_bias ffn_bias ffn_in_bias "
    "n_kv_heads qk_norm_gain pooler dropout attention_dropout".split()
)


@dataclass(frozen=True)
class Settings:
    """Settings of a build."""

    #: Where a text is cut; None: what the model accepts.
    max_tokens: int | None = None
    #: The threshold of the measure `strong`.
    strong: float = STRONG
    #: Texts of a block.
    block_texts: int = 500
    #: Strongest texts of each head and measure.
    examples: int = 8
    #: Of the bootstrap.
    replicates: int = 200
    #: Of the bootstrap.
    seed: int = 0
    #: Texts on which all heads are compared, evenly spaced.
    similarity_texts: int = 500
    #: Whose tokens' vectors are kept. 0: the embeddings; N: after N layers, where all of them mean the output.
    vector_layers: tuple[int, ...] = ()
    #: Texts whose vectors are kept.
    vector_texts: int = 5_000
    #: Words to which attention is recorded, next to special tokens, full stops and commas.
    key_tokens: tuple[str, ...] = ()
    #: Names of your own measures (`measure.register`), which `build` fills in.
    own: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the M measures."""
        return (*MEASURES, *self.own)

    def about(self) -> dict[str, object]:
        """The settings for files. Versions before had no `key_tokens` and `own`: an atlas without has the same hash."""
        later = ("key_tokens", "own")
        return {name: value for name, value in dataclasses.asdict(self).items() if name not in later or value}


@dataclass(frozen=True)
class Plan:
    """Settings, the number of texts, each label column's values in the order of their names, and the column of a second
    text."""

    settings: Settings
    n_texts: int
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pair: str | None = None

    @property
    def n_blocks(self) -> int:
        """The number of blocks; the last one may be short."""
        return -(-self.n_texts // self.settings.block_texts)

    def compares_heads(self, index: int) -> bool:
        """Whether all heads are compared on a text. index: its place among the texts, from 0."""
        return is_sampled(index, self.n_texts, self.settings.similarity_texts)

    def keeps_vectors(self, index: int) -> bool:
        """Whether the vectors of a text's tokens are kept."""
        layers = self.settings.vector_layers
        return bool(layers) and is_sampled(index, self.n_texts, self.settings.vector_texts)


@dataclass(frozen=True)
class Block:
    """A run of texts. first: the index of the first one; labels: column -> a value or None for each text; pairs: the
    second text of each, where there are some."""

    number: int
    first: int
    texts: tuple[str, ...]
    labels: Mapping[str, tuple[str | None, ...]]
    pairs: tuple[str, ...] = ()


def is_sampled(index: int, n_texts: int, wanted: int) -> bool:
    """Whether text `index` is among `wanted` evenly spaced ones."""
    return (index + 1) * wanted // n_texts > index * wanted // n_texts if wanted < n_texts else True


def bins(max_tokens: int, measures: Sequence[str]) -> np.ndarray:
    """[M, BINS + 1]: edges of each measure's histogram. Shares and normalised entropy: 0 to 1; nats: 0 to ln
    max_tokens; tokens: 0 to max_tokens, finer for short distances; any number: -10,000 to 10,000, finer near 0."""
    share = np.linspace(0, 1, BINS + 1)
    edges = {
        "share": share,
        "nats": share * np.log(max(2, max_tokens)),
        "tokens": np.expm1(share * np.log1p(max_tokens)),
        "number": np.sinh((2 * share - 1) * np.arcsinh(1e6)) / 100,
    }
    return np.stack([edges[BY_NAME[name].unit] for name in measures])


def model_about(model: TextEncoder) -> dict[str, object]:
    """The model's name, and a hash of its architecture, tokenizer and weights: equal for equal numbers."""
    chosen = {
        field.name: getattr(model.config, field.name)
        for field in dataclasses.fields(model.config)
        if field.name not in IMPLIED and getattr(model.config, field.name) != field.default
    }
    if chosen.get("rotary_width") == model.config.d_head:  # all of a head, as in models without the field
        del chosen["rotary_width"]
    digest = hashlib.sha256(json.dumps(chosen, sort_keys=True, default=str).encode())
    digest.update(model.tokenizer.backend.to_str().encode())
    for name, tensor in sorted(model.encoder.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return {
        "name": model.name,
        "sha256": digest.hexdigest(),
        "n_layers": model.config.n_layers,
        "n_heads": model.config.n_heads,
        "d_model": model.config.d_model,
        "norm_placement": model.config.norm_placement,
        "max_tokens": model.config.max_tokens,
    }
