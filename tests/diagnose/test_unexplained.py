"""An answer without a cause says what the errors share: noise, one direction, length, some texts, a turn."""

from __future__ import annotations

import numpy as np
import pytest

import encoder
from encoder import diagnose
from encoder.diagnose.unexplained import errors_of, group_of, most_telling

RANDOM = np.random.default_rng(0)
OURS = RANDOM.normal(size=(8, 64))
TOKENS = [3, 5, 8, 12, 20, 40, 80, 160]
ONE = RANDOM.normal(size=64)
NOISE = RANDOM.normal(size=OURS.shape)
SPOILED = {
    "noise": OURS + 1e-3 * NOISE,
    "one-direction": OURS + 0.05 * ONE + 1e-3 * NOISE,
    "length": OURS + np.array(TOKENS)[:, None] * 2e-3 * NOISE,
    "some-texts": np.concatenate([OURS[:6], OURS[6:] + 0.1 * NOISE[6:]]),
    "turned": OURS @ np.linalg.qr(RANDOM.normal(size=(64, 64)))[0],
    "other-model": RANDOM.normal(size=OURS.shape),
}


@pytest.mark.parametrize("shape", SPOILED)
def test_what_errors_share_is_found(shape: str):
    right = range(6) if shape == "some-texts" else ()
    found = errors_of(OURS, SPOILED[shape], TOKENS, right)
    assert found.shape == shape, found
    a, b = OURS[found.worst[0]], SPOILED[shape][found.worst[0]]
    assert min(found.cosines) == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_a_turn_is_seen_in_another_width():
    wide = np.concatenate([OURS, 0 * OURS], axis=1) @ np.linalg.qr(RANDOM.normal(size=(128, 128)))[0]
    found = errors_of(OURS, wide, TOKENS)
    assert (found.shape, found.cosines, found.widths) == ("turned", (), (64, 128))


def test_noise_is_compared_with_roundings_that_are_run():
    twin, texts = encoder.load("twin-pre"), ["A cat sat.", "two words", "a dog ran through the old town", "café"]
    right = twin.embed(texts).numpy()
    pipeline = diagnose.FAULTS["precision"]("bfloat16", "computation").apply(diagnose.Pipeline.of(twin))
    own = float(np.linalg.norm(pipeline.vectors(texts) - right) / np.linalg.norm(right))
    noise = np.random.default_rng(1).normal(size=right.shape)
    noise *= own * np.linalg.norm(right) / np.linalg.norm(noise)
    found = diagnose.find(twin, texts, right + noise, together=1)
    assert (found.verdict, found.errors.shape) == ("unknown", "noise")
    fault, size = found.errors.like
    assert size / own == pytest.approx(1, abs=0.5)
    assert fault.sentence[13:-1] in found.said
    assert "precision" not in found.excluded, "noise cannot be told from rounding of its size"


def test_every_fault_has_a_group_and_no_identifier_is_said():
    groups = {group_of(name, kind.stage) for name, kind in diagnose.FAULTS.items()}
    assert 10 < len(groups) < 20
    assert not [group for group in groups if "-" in group or "_" in group]


def test_the_text_that_tells_most_is_far_from_the_known_ones():
    texts = ("a cat", "w " * 200, "café", "two more")
    short = most_telling([2, 200, 2, 2], ["a dog", "one two"], texts, [2, 2])
    assert short[:2] == ("w " * 200, "café")
