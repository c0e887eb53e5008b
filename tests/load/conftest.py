"""Reference checkpoints, each written once a session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import encoder
from encoder import AudioEncoder, TextEncoder
from encoder.encoders.image import ImageEncoder
from tests.load import reference, sounds


@dataclass(frozen=True)
class Pair:
    """The same weights twice: in transformers, and loaded from what it wrote."""

    theirs: Any
    ours: Any
    folder: Path


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small are slowed down by more threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session", autouse=True)
def quiet_transformers() -> Iterator[None]:
    """No network, no progress bars, no advice: a test that prints has something to say."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    yield
    os.environ.pop("HF_HUB_OFFLINE", None)  # pages' tests use this fixture, too


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Pair]:
    """`pair = checkpoint("bert", "ForMaskedLM", n_layers=3)`; the same request is answered from memory."""
    made: dict[Any, Pair] = {}

    def make(family: str, head: str = "Model", n_layers: int = 3, **more: Any) -> Pair:
        key = (family, head, n_layers, repr(sorted(more.items())))
        if key not in made:
            theirs: nn.Module
            if family == "vit":
                theirs = reference.vit_of(head, n_layers, **more)
            elif family in sounds.FAMILIES:
                theirs = sounds.model_of(family, head, n_layers, **more)
            else:
                theirs = reference.model_of(family, head, n_layers, **more)
            folder = tmp_path_factory.mktemp(family)
            is_text = family in reference.FAMILIES
            reference.write(theirs, folder, family if is_text else None)
            ours = encoder.load(folder, device="cpu")
            kind = AudioEncoder if family in sounds.FAMILIES else ImageEncoder
            assert isinstance(ours, TextEncoder if is_text else kind)
            made[key] = Pair(theirs, ours, folder)
        return made[key]

    return make
