"""Spoken digits: the bundled model on voices that it never heard, its recordings, and a small training."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from encoder.errors import EncoderError
from encoder.inputs import spoken_digits
from encoder.inputs.log_mel import KaldiMel
from encoder.inputs.sound import MOST_SECONDS, Sound
from encoder.inputs.spoken_digits import WORDS
from recipes.spoken import recordings, voices
from recipes.spoken.finish import choose, write
from recipes.spoken.training import SpokenRecipe, accuracy, features, hidden, moved, train
from recipes.spoken.voices import HELD_OUT_VOICES, TRAINING_VOICES, Utterance


@pytest.fixture(scope="module")
def model() -> encoder.AudioEncoder:
    found = encoder.load("spoken-digits", device="cpu")
    assert isinstance(found, encoder.AudioEncoder)
    return found


@pytest.mark.slow("speaks and hears every word in other voices")
def test_voices_that_it_never_heard(model: encoder.AudioEncoder) -> None:
    right = []
    for one in spoken_digits.held_out():
        found = model.probabilities(model.trace(one.sound))
        right.append(max(found, key=found.__getitem__) == one.word)
    assert len(right) >= 80
    assert np.mean(right) >= 0.95


def test_the_recordings(model: encoder.AudioEncoder) -> None:
    held_out = spoken_digits.held_out()
    assert {one.voice.partition(",")[0] for one in held_out} == set(HELD_OUT_VOICES)
    assert not set(HELD_OUT_VOICES) & set(TRAINING_VOICES)
    assert {one.digit for one in held_out} == set(range(10))
    for one in held_out:
        assert 0.3 < one.sound.seconds < model.seconds
        assert np.abs(one.sound.samples).max() > 0.05
    assert list(spoken_digits.examples()) == sorted(WORDS, key=list(spoken_digits.examples()).index)
    assert set(spoken_digits.examples()) == set(WORDS)


def test_eight_bits_are_enough() -> None:
    samples = np.sin(np.linspace(0, 400, 16_000)).astype(np.float32) * np.linspace(0.01, 1, 16_000, dtype=np.float32)
    error = spoken_digits.expanded(recordings.compressed(samples)) - samples
    assert 20 * np.log10(np.std(samples) / np.std(error)) > 35


def test_the_files_are_small_and_the_card_has_the_figures(model: encoder.AudioEncoder) -> None:
    files = {path.name: path.stat().st_size for path in spoken_digits.DATA.iterdir()}
    assert sum(files.values()) < 2_000_000
    card = (spoken_digits.DATA / "MODEL_CARD.md").read_text(encoding="utf-8")
    weights = [*model.encoder.parameters(), *model.classifier.parameters()]
    assert f"{sum(weight.numel() for weight in weights):,} parameters" in card
    assert "not measured" in card


def test_transformers_opens_it_too(model: encoder.AudioEncoder) -> None:
    from transformers import ASTFeatureExtractor, ASTForAudioClassification

    theirs = ASTForAudioClassification.from_pretrained(spoken_digits.DATA, dtype=torch.float32).eval()
    prepared = ASTFeatureExtractor.from_pretrained(spoken_digits.DATA)
    sound = spoken_digits.examples()["seven"].sound
    inputs = prepared(sound.samples, sampling_rate=sound.rate, return_tensors="pt")["input_values"]
    with torch.no_grad():
        expected = theirs(inputs).logits[0].softmax(-1)
    found = model.probabilities(model.trace(sound))
    assert list(found) == list(WORDS)
    torch.testing.assert_close(torch.tensor(list(found.values())), expected, atol=1e-4, rtol=0.0)


# --- training --------------------------------------------------------------------------------------------------------


def clip(digit: int, draw: np.random.Generator) -> np.ndarray:
    """A stand-in for a word: a tone that rises from a pitch of its own."""
    time = np.arange(6_000) / 16_000
    pitch = 250 * (digit + 1) * draw.uniform(0.97, 1.03)
    return (0.5 * np.sin(2 * np.pi * (pitch + 300 * time) * time)).astype(np.float32)


@pytest.mark.slow("trains a model")
def test_a_small_training_learns(tmp_path: Path) -> None:
    recipe = SpokenRecipe(
        d_model=32, n_layers=1, d_ffn=32, n_frames=64, n_mels=32, copies=2, epochs=25, warmup_steps=10, batch=30
    )
    draw, digits = np.random.default_rng(0), list(range(4)) * 15
    clips = [clip(digit, draw) for digit in digits]
    made = features(clips, recipe, 2, seed=1)
    model = train(recipe, made, torch.tensor(digits).repeat_interleave(2))
    unseen = features([clip(digit, draw) for digit in digits], recipe, 1, seed=2)
    assert float(accuracy(model, unseen, torch.tensor(digits)).float().mean()) > 0.8
    stored = write(model, tmp_path / "spoken")
    assert stored.config.replace(dropout=0.0) == model.config.replace(dropout=0.0)
    sound = Sound(clips[2], 16_000)
    ours, theirs = (list(one.probabilities(one.trace(sound)).values()) for one in (model, stored))
    assert ours == pytest.approx(theirs, abs=0.01)  # float16


def test_features_are_those_that_the_model_reads() -> None:
    """The training scales by itself what `KaldiMel` scales for a trace; frames after the end are zero before it."""
    recipe = SpokenRecipe(n_frames=64, n_mels=32)
    made = features([clip(1, np.random.default_rng(0))], recipe, 1, seed=0)
    plain = KaldiMel(n_mels=32, n_frames=64, mean=None)
    again = voices.recorded(clip(1, np.random.default_rng(0)), np.random.default_rng(0), plain.seconds)
    np.testing.assert_allclose(made[0].float(), plain.features(again.samples), atol=0.01)


def test_augmented_spectrograms() -> None:
    generator = torch.Generator().manual_seed(0)
    spectrograms = torch.randn(5, 40, 24)
    assert moved(spectrograms, generator).shape == (5, 40, 24)
    masked = hidden(spectrograms, generator)
    changed = (masked != spectrograms).flatten(1).float().mean(1)
    assert float(changed.max()) < 0.9
    assert float(changed.max()) > 0.0


def test_recordings_of_a_room() -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        sound = voices.recorded(clip(3, draw), draw, 1.5)
        assert 0.3 < sound.seconds <= 1.5 < MOST_SECONDS
        assert np.abs(sound.samples).max() <= 1.0


def test_what_ships_is_each_digit_by_each_voice() -> None:
    said = voices.utterances(HELD_OUT_VOICES, 2)
    chosen = choose(said, [np.ones(4_000, dtype=np.float32)] * len(said))
    assert len(chosen) == 80
    assert len({(one.digit, one.voice) for one in chosen}) == 80
    assert dataclasses.asdict(said[0]) == dataclasses.asdict(voices.utterances(HELD_OUT_VOICES, 2)[0])


def test_without_espeak_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(EncoderError, match="apt-get install espeak-ng"):
        voices.say(Utterance(7, "f3", "en-us", 160, 50))


def test_a_clip_of_a_header_without_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """espeak-ng writes no length into a pipe."""
    import io

    from scipy.io import wavfile

    out = io.BytesIO()
    wavfile.write(out, 22_050, (clip(2, np.random.default_rng(0)) * 32_767).astype(np.int16))
    content = out.getvalue()
    lying = content[:4] + b"\xff\xff\xff\x7f" + content[8:40] + b"\xff\xff\xff\x7f" + content[44:]
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(
        subprocess, "run", lambda *args, **more: subprocess.CompletedProcess(args, 0, stdout=lying, stderr=b"")
    )
    samples = voices.say(Utterance(2, "f3", "en-us", 160, 50))
    assert len(samples) / 16_000 == pytest.approx(6_000 / 22_050, abs=0.01)
