"""Encoders of every kind that the steps must explain, sizes pairwise distinct so that a swapped axis shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import torch

import encoder
from encoder import EncoderConfig, TextEncoder, Trace
from encoder.explain import Recomputation
from encoder.model.experts import Experts

TEXT = "The cat sat on the mat, because the cat was unbelievably tired."
SHORT = "Hi there"

#: name -> what differs from the base: L=3, H=3, D=24, K=8, F=40.
SCRATCH = {
    "post, learned, GELU": {"n_segments": 2},
    "pre, sinusoidal, ReLU": {"norm_placement": "pre", "position": "sinusoidal", "activation": "relu"},
    "post, rotary, gated SiLU": {"position": "rotary", "gated": True, "activation": "silu"},
    "pre, rotary, windows": {
        "norm_placement": "pre", "position": "rotary", "rotary_base": (1e4, 50.0, 1e4),
        "attention_window": (None, 3, 2), "first_norm": False, "gated": True, "norm_bias": False,
        "attention_bias": False, "ffn_bias": False,
    },
    "pre, no positions, causal": {
        "norm_placement": "pre", "position": "none", "causal": True, "activation": "gelu_tanh",
    },
    "post, relative bias": {
        "relative_buckets": 8, "relative_max_distance": 12, "position_offset": 2, "pad_position": 1,
    },
    "post, shared layers, narrow tables": {"layer_groups": 1, "embedding_width": 10, "position": "sinusoidal"},
    "pre, learned sinks, gated output": {"norm_placement": "pre", "attention_sinks": True, "output_gate": True},
    "pre, experts with a gate": {
        "norm_placement": "pre", "experts": Experts(5, 2), "gated": True, "ffn_bias": False, "activation": "silu",
    },
    "pre, norms without gains": {
        "norm_placement": "pre", "norm_gain": False, "qk_norm": "head", "position": "rotary",
        "rotary_reversed": True, "activation": "relu2",
    },
    "pre, sinusoidal, rounded GELU": {
        "norm_placement": "pre", "position": "sinusoidal", "activation": "gelu_rounded", "qk_norm": "full",
        "qk_norm_gain": False,
    },
    "post, experts in one layer": {"experts": Experts(4, 3, renormalised=False, layers=(1,)), "d_ffn": 160},
    "pre, one head, wide head": {
        "norm_placement": "pre", "n_heads": 2, "d_head": 10, "embedding_norm": False, "activation": "quick_gelu",
    },
}  # fmt: skip
NAMES = ("minilm", "minilm, rewired to pre", *SCRATCH)


@cache
def model_of(name: str) -> TextEncoder:
    """One of NAMES, loaded or built once."""
    if name == "minilm":
        return encoder.load("minilm")
    if name == "minilm, rewired to pre":
        return model_of("minilm").with_norm_placement("pre")
    tokenizer = model_of("minilm").tokenizer
    base = {"vocab_size": tokenizer.vocab_size, "d_model": 24, "n_layers": 3, "n_heads": 3, "d_ffn": 40}
    config = EncoderConfig(**(base | {"max_positions": 64} | SCRATCH[name]))
    model = encoder.build(config, tokenizer, seed=7, name=name)
    # Random biases and gains: an all-zero bias or a gain of 1 would hide a forgotten one.
    for parameter_name, parameter in model.encoder.named_parameters():
        if parameter.dim() == 1:
            generator = torch.Generator().manual_seed(len(parameter_name))
            start = 1.0 if parameter_name.endswith("norm.weight") else 0.0
            parameter.data.normal_(start, 0.2, generator=generator)
    return model


@cache
def traces_of(name: str) -> dict[str, tuple[Trace, Recomputation]]:
    """The sentence only, and padded in a batch, each with its second opinion."""
    model = model_of(name)
    traces = {"alone": model.trace(TEXT, request=("ffn.hidden",)), "padded": model.trace_batch([SHORT, TEXT])[0]}
    return {kind: (trace, Recomputation(trace)) for kind, trace in traces.items()}


@pytest.fixture(scope="session")
def minilm() -> TextEncoder:
    return model_of("minilm")


@pytest.fixture(params=NAMES)
def model(request: pytest.FixtureRequest) -> TextEncoder:
    """Every model in turn."""
    return model_of(request.param)


@pytest.fixture(params=["alone", "padded"])
def traced(request: pytest.FixtureRequest, model: TextEncoder) -> tuple[Trace, Recomputation]:
    """A trace of every model, alone and padded, and its second opinion."""
    name = next(name for name in NAMES if model_of(name) is model)
    return traces_of(name)[request.param]


@pytest.fixture
def build() -> Callable[..., TextEncoder]:
    """A small encoder from scratch with some fields changed."""

    def make(**changes) -> TextEncoder:
        tokenizer = model_of("minilm").tokenizer
        base = {"vocab_size": tokenizer.vocab_size, "d_model": 24, "n_layers": 2, "n_heads": 3, "d_ffn": 40}
        return encoder.build(EncoderConfig(**(base | changes)), tokenizer, seed=3)

    return make
