"""Tries a foreign tokenizer in a process of its own: it may stop the process, grow a text without end, or never end.

Run as a program, `python trial.py tokenizer.json` exits with 0 if the tokenizer splits some texts within its limits.
"""

import os
import subprocess
import sys
from pathlib import Path

#: Seconds of processor time and of waiting, bytes of memory, and tokens for each character.
CPU_SECONDS, WAIT_SECONDS, MEMORY, MOST_GROWTH = 10, 30, 3_000_000_000, 20
SAMPLES = (
    "", "a", "The animal didn't cross the street.", "a" * 2_000, "word " * 400, "".join(map(chr, range(32, 0x250))),
    "Straße, naïve, 東京, שלום, مرحبا, 👩‍👩‍👧, e\u0301",
)  # fmt: skip


def try_tokenizer(folder: Path) -> None:
    """Try the folder's tokenizer.json. Raises LoadError if it fails, takes too much, or does not end."""
    from encoder.errors import LoadError

    path = folder / "tokenizer.json"
    if not path.is_file():
        return
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-I", __file__, str(path)],
            env=environment,
            timeout=WAIT_SECONDS,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LoadError(f"The tokenizer of {folder.name} takes too long: choose another checkpoint.") from None
    if done.returncode:
        raise LoadError(
            f"The tokenizer of {folder.name} fails on simple texts, or takes too much time or memory: download it "
            "again, or choose another checkpoint."
        )


def _limit() -> None:
    """Bound this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: `try_tokenizer` bounds the time only
        return
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _main(path: str) -> int:
    _limit()
    import tokenizers

    backend = tokenizers.Tokenizer.from_file(path)
    backend.no_truncation()
    backend.no_padding()
    for text in SAMPLES:
        for pair in (None, text):
            encoding = backend.encode(text, pair)
            if len(encoding.ids) > MOST_GROWTH * (len(text) + 10):
                return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(_main(sys.argv[1]))
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise
        os._exit(1)
