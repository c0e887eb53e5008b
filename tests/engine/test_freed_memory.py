"""A process uses the memory of a freed trace for the next one, and does not fetch it from the system again."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from encoder.cli import app, main
from tests.conftest import ROOT

#: Prints how many bytes a later trace faults in, as a share of the bytes that it holds.
PROGRAM = """
import resource
from tests.engine.conftest import WORDS, tiny

model = tiny(d_model=128, max_positions=512)
sentence = model.tokenize(" ".join(WORDS[5 + i % 9] for i in range(510)))
trace = model.trace_tokens(sentence)
held = sum(value.untyped_storage().nbytes() for value in trace.values.values())
later = []
for _ in range(5):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    trace = None
    trace = model.trace_tokens(sentence)
    later.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(later) * resource.getpagesize() / held)
"""


def run(settings: dict[str, str]) -> float:
    plain = {name: value for name, value in os.environ.items() if "MALLOC" not in name and "TUNABLES" not in name}
    command = [sys.executable, "-c", PROGRAM]
    answer = subprocess.run(command, cwd=ROOT, env=plain | settings, capture_output=True, text=True, check=True)
    return float(answer.stdout)


@pytest.mark.slow("measures the memory of another process")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library's allocator")
def test_a_later_trace_fetches_hardly_any_memory():
    """With thresholds of 100 kB, near glibc's own at the start of a process, it fetches all."""
    kept = run({})
    returned = run(dict.fromkeys(("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), "100000"))
    assert kept < 0.3 < 0.6 < returned  # a few small blocks remain, more or fewer by the allocator's luck


@pytest.mark.parametrize("own", ["", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES"])
def test_the_command_bounds_the_places_of_freed_memory(monkeypatch: pytest.MonkeyPatch, own: str):
    """But where the environment configures malloc itself."""
    started = []
    monkeypatch.setattr(app, "_hand_over", lambda command, environment: started.append(environment) or 0)
    for name in ("GLIBC_TUNABLES", *app.ARENAS):
        monkeypatch.delenv(name, raising=False)
    if own:
        monkeypatch.setenv(own, "glibc.malloc.arena_max=9")
    assert main.main(["--no-browser"]) == 0
    expected = {"": "4", "MALLOC_ARENA_MAX": "glibc.malloc.arena_max=9", "GLIBC_TUNABLES": None}[own]
    assert started[0].get("MALLOC_ARENA_MAX") == expected
