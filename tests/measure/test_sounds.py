"""Attention over the time of a sound, pieces of it, and the spectrogram next to it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import encoder
from encoder import EncoderConfig, EncoderError, Sound
from encoder.encoders.audio import AudioEncoder
from encoder.inputs.log_mel import KaldiMel, Samples, WhisperMel
from encoder.inputs.sound_layout import TimeSteps
from encoder.measure import positions, sounds
from encoder.measure.head_measures import head_measures
from encoder.model.encoder import Encoder
from encoder.model.sound_shapes import Convolutions, SpectrogramPatches

SIZES = {"vocab_size": 0, "d_model": 16, "n_layers": 2, "n_heads": 4, "d_ffn": 16}


def tone(seconds: float = 0.3) -> Sound:
    time = np.arange(int(16_000 * seconds)) / 16_000
    return Sound(np.where(time > seconds / 2, 0.5, 0.01) * np.sin(2 * np.pi * 440 * time), 16_000)


@pytest.fixture(scope="module")
def patches() -> AudioEncoder:
    shape = SpectrogramPatches(48, 32, 16, 8, 16)
    config = EncoderConfig(**SIZES, max_positions=shape.n_tokens(), norm_placement="pre", spectrogram=shape)
    return AudioEncoder("patches", Encoder(config, seed=0), KaldiMel(n_mels=32, n_frames=48))


@pytest.fixture(scope="module")
def steps() -> AudioEncoder:
    front = Convolutions(1, (8, 16), (10, 4), (80, 4), norm="group")
    config = EncoderConfig(
        **SIZES,
        max_positions=front.n_tokens(480_000),
        convolutions=front,
        position="convolutional",
        position_kernel=8,
        position_groups=2,
    )
    return AudioEncoder("steps", Encoder(config, seed=0), Samples())


def test_weights_of_patches_by_time(patches: AudioEncoder) -> None:
    trace = patches.trace(tone())
    row = trace.attention(1, 2)[7]
    over = sounds.over_time(row, sounds.sound_layout(trace))
    assert over.bands.shape == (2, 5)
    assert float(over.columns.sum()) + over.special == pytest.approx(1.0, abs=1e-5)
    assert over.bands[1, 3] == pytest.approx(float(row[2 + 5 + 3]))
    np.testing.assert_allclose(over.starts, np.arange(5) * 0.08, atol=1e-6)
    everything = sounds.all_heads_over_time(trace, 7)
    assert everything.shape == (2, 4, 5)
    np.testing.assert_allclose(everything[1, 2], over.columns, atol=1e-6)
    assert sounds.token_at(trace.layout, 3, 1) == 2 + 5 + 3
    with pytest.raises(EncoderError, match="band 2"):
        sounds.token_at(trace.layout, 0, 2)


def test_weights_of_time_steps(steps: AudioEncoder) -> None:
    trace = steps.trace(tone())
    over = sounds.over_time(trace.attention(0, 1)[3], sounds.sound_layout(trace))
    assert over.bands is None
    assert len(over.columns) == trace.n_tokens == 15
    np.testing.assert_allclose(sounds.all_heads_over_time(trace, 3)[0, 1], over.columns, atol=1e-6)
    assert trace.layout.spans[sounds.loudest(tone(), trace.layout)].start > 0.13


def test_pieces_are_the_largest_and_do_not_overlap() -> None:
    weights = np.array([0.0, 0.05, 0.3, 0.25, 0.0, 0.0, 0.1, 0.0, 0.3, 0.0], dtype=np.float32)
    found = sounds.pieces(sounds.over_time(weights, TimeSteps(10, 0.5)))
    assert [(piece.start, piece.end) for piece in found] == [(1.0, 2.0), (4.0, 4.5), (3.0, 3.5)]
    assert [piece.share for piece in found] == pytest.approx([0.55, 0.3, 0.1])
    short = sounds.pieces(sounds.over_time(weights, TimeSteps(10, 0.02)))
    assert all(end - start >= 0.1 for start, end in (piece.audible() for piece in short))
    assert sounds.names(found)[0] == "1.00-2.00 s"


def test_spectrograms(patches: AudioEncoder, steps: AudioEncoder) -> None:
    read = sounds.spectrogram(patches, tone())
    torch.testing.assert_close(torch.from_numpy(read.values.T.copy()), patches.prepare(tone()))
    assert (read.is_read, read.n_real) == (True, 28)
    shown = sounds.spectrogram(steps, tone())
    assert (shown.is_read, shown.values.shape) == (False, (64, 28))
    front = Convolutions(20, (16, 16), (3, 3), (1, 2), padded=True, length=100)
    config = EncoderConfig(**SIZES, max_positions=50, norm_placement="pre", convolutions=front)
    whisper = AudioEncoder("whisper", Encoder(config, seed=0), WhisperMel(n_mels=20, seconds=1))
    assert sounds.spectrogram(whisper, tone()).n_real == 30
    assert whisper.trace(tone()).n_tokens == 50


def test_waveform_and_loudest_part() -> None:
    starts, low, high = sounds.waveform(tone(), 0.3, n_bins=30)
    assert len(starts) == len(low) == len(high) == 30
    assert float(high[:14].max()) < 0.02 < float(high[-1])
    start, part = tone().loudest_part(0.1)
    assert part.seconds == pytest.approx(0.1)
    assert 0.14 < start < 0.21
    assert tone().loudest_part(1.0)[1] is not None


def test_parts_of_a_sound_are_no_repeated_tokens(steps: AudioEncoder, patches: AudioEncoder) -> None:
    for model in (steps, patches):
        found = head_measures(model.trace(tone()))
        assert np.isnan(found["same_token"]).all()
        assert np.isnan(found["own_word"]).all()
        assert np.isfinite(found["entropy"]).all()


def test_a_text_is_no_sound(steps: AudioEncoder) -> None:
    trace = encoder.load("twin-pre", device="cpu").trace("a cat")
    with pytest.raises(EncoderError, match="text"):
        sounds.sound_layout(trace)


def test_sines_that_whisper_stores():
    from transformers.models.whisper.modeling_whisper import sinusoids

    table = sinusoids(50, 40).numpy()
    assert positions.are_stored_sines(table)
    assert positions.are_stored_sines(table.astype(np.float16).astype(np.float32))
    assert not positions.are_stored_sines(positions.sines(50, 40))
    assert not positions.are_stored_sines(np.random.default_rng(0).normal(size=(50, 40)))
