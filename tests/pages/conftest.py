"""What several tests of the pages share."""

from __future__ import annotations

import pytest

import encoder


@pytest.fixture(scope="session")
def minilm() -> encoder.TextEncoder:
    """The model of the first page."""
    return encoder.load("minilm", device="cpu")
