"""The models that these tests share."""

from __future__ import annotations

import pytest

import encoder


@pytest.fixture(scope="session")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


@pytest.fixture(scope="session")
def twin_pre() -> encoder.TextEncoder:
    return encoder.load("twin-pre", device="cpu")


@pytest.fixture(scope="session")
def twin_post() -> encoder.TextEncoder:
    return encoder.load("twin-post", device="cpu")


@pytest.fixture(scope="session")
def digit_words() -> encoder.JointEncoder:
    return encoder.load("digit-words", device="cpu")
