"""What the engine's tests share: MiniLM loaded once, and tiny random encoders whose sizes are pairwise distinct."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import encoder
from encoder import EncoderConfig, TextEncoder
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.conformer import Conformer
from encoder.model.distances import DistanceKeys

WORDS = "the cat sat on a mat and dog ran to big red bus . , ! un ##happ ##y bank river money of".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

#: L 3, H 5, K 6 (H x K is not D), D 16, F 22, E 14 where factorised, T 12 for the sentence of the tests: no two are the
#: same, so that a swapped axis shows.
SIZES = {"d_model": 16, "n_layers": 3, "n_heads": 5, "d_head": 6, "d_ffn": 22, "max_positions": 61}

#: Every way in which the architectures differ, as changes to the tiny post-norm encoder.
VARIANTS: dict[str, dict[str, Any]] = {
    "post": {"n_segments": 2},
    "pre": {"norm_placement": "pre"},
    "pre, no first norm, no biases": {
        "norm_placement": "pre", "first_norm": False, "norm_bias": False, "attention_bias": False, "ffn_bias": False,
    },
    "sinusoidal": {"position": "sinusoidal", "embedding_norm": False, "activation": "relu"},
    "rotary, windows": {
        "norm_placement": "pre", "gated": True,
        "position": "rotary", "attention_window": (None, 2, 1), "rotary_base": (1e4, 50.0, 50.0),
    },
    "no positions, causal": {"position": "none", "causal": True, "activation": "silu"},
    "causal window": {"causal": True, "attention_window": 3, "activation": "gelu_tanh"},
    "relative bias": {"relative_buckets": 8, "relative_max_distance": 7, "position_offset": 2, "pad_position": 1},
    "relative bias, window": {"relative_buckets": 8, "relative_max_distance": 7, "attention_window": 2},
    "factorised, shared layers": {"embedding_width": 14, "layer_groups": 1},
    "learned sinks, gated output": {"attention_sinks": True, "output_gate": True},
    "norms without gains": {"norm_gain": False, "qk_norm": "head", "activation": "relu2"},
    "q and k normed without a gain": {
        "qk_norm": "full", "qk_norm_gain": False, "position": "rotary", "rotary_reversed": True,
        "activation": "gelu_rounded",
    },
    "adapter": {"adapter": 5},
    "conformer, distances by sines": {
        "norm_placement": "pre", "position": "none", "conformer": Conformer(3), "distance_keys": DistanceKeys(),
        "activation": "silu",
    },
    "conformer, causal, distances by a table": {
        "norm_placement": "pre", "final_norm": False, "position": "none", "distance_keys": DistanceKeys(3, 2),
        "conformer": Conformer(4, norm="layer", bias=True, causal=True),
    },
    "scale of its own": {"attention_scale": 0.9, "activation": "quick_gelu"},
}  # fmt: skip


def tiny_tokenizer() -> Tokenizer:
    """A word-piece tokenizer of 27 entries with BERT's template."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, normalizers, pre_tokenizers, processors

    vocab = {token: index for index, token in enumerate(SPECIAL + WORDS)}
    backend = Backend(models.WordPiece(vocab, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])],
    )
    return Tokenizer(backend)


def tiny(seed: int = 1, **changes: Any) -> TextEncoder:
    """A random encoder on the tiny vocabulary; gains and biases are random too, so that none can be left out."""
    config = EncoderConfig(vocab_size=len(SPECIAL) + len(WORDS), norm_eps=1e-5, **{**SIZES, **changes})
    model = encoder.build(config, tiny_tokenizer(), seed=seed)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, parameter in model.encoder.named_parameters():
            noise = torch.empty(parameter.shape).normal_(0.0, 0.3, generator=generator)
            if name.endswith("bias"):
                parameter.copy_(noise)
            elif name.endswith("variance"):
                parameter.copy_(1.0 + noise.abs())
            elif name.endswith("mean") or "sinks" in name or "_bias" in name:
                parameter.copy_(3.0 * noise)
            elif "norm" in name:
                parameter.copy_(1.0 + noise)
    return model


@pytest.fixture(scope="session")
def make_tiny() -> Callable[..., TextEncoder]:
    return tiny


@pytest.fixture(scope="session", params=list(VARIANTS))
def variant(request: pytest.FixtureRequest) -> TextEncoder:
    """Each architecture in turn."""
    return tiny(**VARIANTS[request.param])


@pytest.fixture(scope="session")
def minilm() -> TextEncoder:
    return encoder.load("minilm", device="cpu")


PROSE = (
    "The town lies on a narrow river between two hills. In spring the water rises, and people carry their chairs "
    "and tables up to the first floor. When it falls again they wash the walls, open the windows and wait for the sun."
)


@pytest.fixture(scope="session")
def prose() -> str:
    """Ordinary English of this project's own."""
    return PROSE
