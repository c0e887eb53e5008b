"""Sound files: what is read, and what is refused in one sentence."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

from encoder import Sound, SoundError, open_sound
from encoder.inputs import sound_files
from encoder.inputs.sound import MOST_BYTES, MOST_SECONDS


def chirp(rate: int = 16_000, seconds: float = 0.25) -> np.ndarray:
    time = np.arange(int(rate * seconds)) / rate
    return (0.5 * np.sin(2 * np.pi * (300 + 500 * time) * time)).astype(np.float32)


def wav(samples: np.ndarray, rate: int = 16_000) -> bytes:
    out = io.BytesIO()
    wavfile.write(out, rate, samples)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["float32", "int16", "int32", "uint8"])
def test_numbers_of_every_type(kind: str):
    samples = chirp()
    stored = samples
    if kind == "uint8":
        stored = (samples * 127 + 128).round().astype(np.uint8)
    elif kind != "float32":
        stored = (samples * np.iinfo(kind).max).astype(kind)
    sound = open_sound(wav(stored))
    assert sound.rate == 16_000
    np.testing.assert_allclose(sound.samples, samples, atol=0.01 if kind == "uint8" else 1e-4)


def test_channels_are_averaged():
    stereo = np.stack((chirp(), -0.5 * chirp()), axis=1)
    np.testing.assert_allclose(open_sound(wav(stereo)).samples, 0.25 * chirp(), atol=1e-6)


def test_a_long_file_is_cut():
    sound = open_sound(wav(np.zeros(int(8_000 * (MOST_SECONDS + 3)), dtype=np.int16), 8_000))
    assert sound.seconds == MOST_SECONDS


def test_what_is_written_is_read():
    sound = Sound(chirp(), 16_000)
    np.testing.assert_allclose(open_sound(sound_files.wav_bytes(sound)).samples, sound.samples, atol=1e-4)


@pytest.mark.parametrize("kind", ["FLAC", "OGG", "MP3"])
def test_other_formats_need_the_extra(kind: str, monkeypatch: pytest.MonkeyPatch):
    import soundfile

    out = io.BytesIO()
    soundfile.write(out, chirp(seconds=0.5), 16_000, format=kind)
    sound = open_sound(out.getvalue(), "seven")
    assert sound.seconds == pytest.approx(0.5, abs=0.1)
    assert float(np.abs(sound.samples).max()) > 0.3
    monkeypatch.setattr(sound_files, "has_soundfile", lambda: False)
    with pytest.raises(SoundError, match=r"encoderscope\[sound\]"):
        open_sound(out.getvalue(), "seven")


def header(rate: int = 16_000, channels: int = 1, bits: int = 16, size: int = 0xFFFFFFF0) -> bytes:
    """A WAV header that may lie, and 64 bytes of sound."""
    block = max(1, channels * bits // 8) & 0xFFFF
    fmt = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, (rate * block) & 0xFFFFFFFF, block, bits)
    return b"RIFF" + struct.pack("<I", 0xFFFFFFF0) + b"WAVE" + fmt + b"data" + struct.pack("<I", size) + b"\1" * 64


def compressed_wav() -> bytes:
    """A WAV file of IMA ADPCM, for which libsndfile 1.2.2 counts its frames beyond 32 bits."""
    fmt = struct.pack("<4sIHHIIHHHH", b"fmt ", 20, 17, 1, 16_000, 8_000, 256, 4, 2, 65_535)
    data = b"data" + struct.pack("<I", 2_048) + b"\0" * 2_048
    return b"RIFF" + struct.pack("<I", 4 + len(fmt) + len(data)) + b"WAVE" + fmt + data


def tagged(content: bytes, length: int = 300) -> bytes:
    """A file with an ID3 tag in front of it."""
    return b"ID3\4\0\0" + bytes((0, 0, length >> 7, length & 0x7F)) + b"\0" * length + content


HOSTILE = {
    "nothing": b"",
    "text": b"seven " * 40,
    "an image": b"\x89PNG\r\n\x1a\n" + b"\0" * 200,
    "a header only": wav(chirp())[:44],
    "half a header": wav(chirp())[:20],
    "no samples": wav(np.zeros(0, dtype=np.int16)),
    "rate 0": header(rate=0),
    "rate 4,000,000,000": header(rate=4_000_000_000),
    "65,535 channels": header(channels=65_535),
    "no channel": header(channels=0),
    "500 bits": header(bits=504),
    "FLAC, truncated": b"fLaC\0\0\0\x22" + b"\0" * 10,
    "OGG, truncated": b"OggS" + b"\0" * 40,
    "not finite": wav(np.array([0.0, np.nan, 1.0], dtype=np.float32)),
    "beyond float32": wav(np.array([0.0, 1e300, 1.0])),
}


NOT_FOR_LIBSNDFILE = {
    "compressed WAV": compressed_wav(),
    "compressed WAV after a tag": tagged(compressed_wav()),
    "after two tags": tagged(tagged(compressed_wav())),
    "MAT4": struct.pack("<5i", 1_000, 1, 1, 0, 11) + b"samplerate\0" + b"\0" * 100,
    "AIFF": b"FORM\0\0\0\x40AIFFCOMM" + b"\0" * 60,
    "a tag only": tagged(b"", 0),
    "a million tags": tagged(b"", 0) * 1_000_000,  # half an hour if each was a copy of the rest
}


@pytest.mark.parametrize("content", NOT_FOR_LIBSNDFILE.values(), ids=NOT_FOR_LIBSNDFILE)
def test_what_libsndfile_never_sees(content: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sound_files.decoder, "decoded", lambda *_: pytest.fail("libsndfile opened it"))
    with pytest.raises(SoundError, match=r"seven\.wav"):
        open_sound(content, "seven.wav")


def test_a_broken_mp3_writes_nothing_to_the_log(capfd: pytest.CaptureFixture[str]):
    import soundfile

    out = io.BytesIO()
    soundfile.write(out, chirp(seconds=0.5), 16_000, format="MP3")
    broken = bytearray(out.getvalue())
    broken[200:2_000:7] = b"\xff" * len(broken[200:2_000:7])
    for content in (bytes(broken), bytes(broken[:300])):
        with suppress(SoundError):
            open_sound(content)
    assert capfd.readouterr() == ("", "")


def test_an_mp3_with_a_tag():
    import soundfile

    out = io.BytesIO()
    soundfile.write(out, chirp(seconds=0.5), 16_000, format="MP3")
    plain, whole = open_sound(out.getvalue()), open_sound(tagged(out.getvalue()))
    np.testing.assert_array_equal(whole.samples, plain.samples)


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_a_sentence(content: bytes):
    with pytest.raises(SoundError) as raised:
        open_sound(content, "seven.wav")
    assert "seven.wav" in str(raised.value)
    assert "Traceback" not in str(raised.value)


def test_a_header_that_promises_gigabytes_takes_no_memory():
    tracemalloc.start()
    try:
        with suppress(SoundError):
            assert open_sound(header()).seconds < 0.1
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


def test_five_hundred_broken_files():
    """Bytes changed, cut or doubled: a sound or a sentence, and nothing else."""
    draw = random.Random(0)
    import soundfile

    flac = io.BytesIO()
    soundfile.write(flac, chirp(), 16_000, format="FLAC")
    originals = [wav(chirp()), flac.getvalue(), header(), wav(np.stack((chirp(), chirp()), 1))]
    for _ in range(500):
        content = bytearray(draw.choice(originals))
        for _ in range(draw.randrange(1, 12)):
            content[draw.randrange(min(len(content), 120))] = draw.randrange(256)
        content = content[: draw.randrange(1, len(content))] if draw.random() < 0.3 else content
        with suppress(SoundError):  # any other error fails
            sound = open_sound(bytes(content))
            assert 0 < sound.seconds <= MOST_SECONDS
            assert np.isfinite(sound.samples).all()


def test_files_of_a_path(tmp_path: Path):
    path = tmp_path / "seven.wav"
    path.write_bytes(wav(chirp()))
    assert open_sound(path).seconds == 0.25
    for missing in (tmp_path / "eight.wav", tmp_path):
        with pytest.raises(SoundError, match=missing.name):
            open_sound(missing)
    with pytest.raises(SoundError, match="MB"):
        open_sound(b"RIFF" + bytes(MOST_BYTES))


# --- the value -------------------------------------------------------------------------------------------------------


def test_a_sound_is_a_value():
    samples = chirp()
    sound, same = Sound(samples, 16_000), Sound(samples.copy(), 16_000)
    assert sound == same
    assert hash(sound) == hash(same)
    assert sound != Sound(samples, 8_000)
    samples[0] = 9.0
    assert sound.samples[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        sound.samples[0] = 1.0


def test_another_rate_keeps_the_tone():
    sound = Sound(np.sin(2 * np.pi * 440 * np.arange(44_100) / 44_100), 44_100).at(16_000)
    assert sound.rate == 16_000
    assert sound.seconds == 1.0
    middle = np.abs(np.fft.rfft(sound.samples))
    assert int(middle.argmax()) == 440
    assert Sound(chirp(), 16_000).part(0.1, 0.2).seconds == pytest.approx(0.1)
    # No common factor: a filter of millions of numbers without a limit.
    odd = Sound(np.sin(2 * np.pi * 440 * np.arange(191_999) / 191_999), 191_999).at(16_000)
    assert odd.seconds == pytest.approx(1.0, abs=1e-3)
    assert int(np.abs(np.fft.rfft(odd.samples, 16_000)).argmax()) == 440


@pytest.mark.parametrize(
    ("samples", "rate"),
    [
        ([], 16_000), ([[0.0, 1.0]], 16_000), ([0.0, np.inf], 16_000), ([0.0], 10), ([0.0], 16_000.5),
        ([0.0] * 31_000, 1_000),
    ],
    ids=["none", "two axes", "infinite", "slow", "half a sample", "too long"],
)  # fmt: skip
def test_what_is_no_sound(samples: list, rate: int):
    with pytest.raises(SoundError):
        Sound(np.array(samples), rate)


@pytest.mark.parametrize("samples", ["abc", None, [[1.0], [1.0, 2.0]], np.zeros(9, dtype=complex)])
def test_samples_that_are_no_numbers(samples: object):
    with pytest.raises(SoundError):
        Sound(samples, 16_000)  # type: ignore[arg-type]


def test_what_is_no_file():
    with pytest.raises(SoundError, match="BytesIO"):
        open_sound(io.BytesIO(wav(chirp())))  # type: ignore[arg-type]
    with pytest.raises(SoundError, match=r"^No file there\.wav"):
        open_sound("not/there.wav")
