"""Decodes a compressed sound, an MP3 in a process of its own: libmpg123 writes what it finds wrong to the server's log.

Run as a program, `python decoder.py FORMAT SECONDS` reads the file from its input. It writes the samples, then
one line of JSON. It imports nothing of the engine, so that it starts at once.
"""

import io
import json
import subprocess
import sys
from typing import BinaryIO

#: Seconds of processor time and of waiting, and bytes of memory: ten minutes of 48,000 samples and their blocks.
CPU_SECONDS, WAIT_SECONDS, MEMORY = 20, 60, 2_000_000_000
#: A header from here on is wrong: nothing is decoded (sound_files.py has the limits, and says so).
MOST_RATE, MOST_CHANNELS = 1_000_000, 100


def decoded(content: bytes, form: str, seconds: float) -> tuple[dict[str, object], bytes]:
    """(what the header says: format, rate, channels; the samples as float32, channels averaged, at most `seconds`).

    Raises ValueError for an MP3 that cannot be decoded within the limits, and any error for another format.
    """
    if form != "MP3":
        out = io.BytesIO()
        return _decode(content, form, seconds, out), out.getvalue()
    try:
        done = subprocess.run(
            [sys.executable, "-I", __file__, form, str(seconds)],
            input=content,
            capture_output=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError("it takes too long") from None
    if done.returncode:
        raise ValueError("it is damaged")
    samples, _, said = done.stdout.rpartition(b"\n")
    return json.loads(said), samples


def _decode(content: bytes, form: str, seconds: float, out: BinaryIO) -> dict[str, object]:
    """Write the samples, one second at a time, so that memory stays bounded whatever a header says."""
    import soundfile

    with soundfile.SoundFile(io.BytesIO(content)) as opened:
        rate, channels = int(opened.samplerate), int(opened.channels)
        left = int(seconds * rate) if opened.format == form and rate < MOST_RATE and channels < MOST_CHANNELS else 0
        while left > 0:
            block = opened.read(min(rate, left), dtype="float32", always_2d=True)  # [n, channels]
            if not len(block):
                break
            out.write(block.mean(axis=1).tobytes())
            left -= len(block)
        return {"format": opened.format, "rate": rate, "channels": channels}


def _limit() -> None:
    """Bound this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: only the time is bounded
        return
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    _limit()
    _about = _decode(sys.stdin.buffer.read(), sys.argv[1], float(sys.argv[2]), sys.stdout.buffer)
    sys.stdout.buffer.write(b"\n" + json.dumps(_about).encode())
