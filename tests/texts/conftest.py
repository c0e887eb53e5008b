"""The models that these tests share."""

from __future__ import annotations

import pytest

import encoder


@pytest.fixture(scope="session")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")
