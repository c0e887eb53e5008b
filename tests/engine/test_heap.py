"""Memory of a trace that is gone is used for the next one, rather than fetched from the system again."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from tests.conftest import ROOT

PROGRAM = """
import resource
from encoder import heap
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
print(heap.keep_freed_memory(), min(later) * resource.getpagesize() / held)
"""


def run(**environment: str) -> tuple[bool, float]:
    """(whether the setting took hold, bytes faulted in by a later trace as a share of what it holds)"""
    kept = {name: value for name, value in os.environ.items() if "MALLOC" not in name and "TUNABLES" not in name}
    command = [sys.executable, "-c", PROGRAM]
    answer = subprocess.run(command, cwd=ROOT, env={**kept, **environment}, capture_output=True, text=True, check=True)
    set_here, share = answer.stdout.split()
    return set_here == "True", float(share)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library's allocator")
def test_a_later_trace_fetches_hardly_any_memory():
    set_here, share = run()
    _, handed_back = run(MALLOC_TRIM_THRESHOLD_="100000", MALLOC_MMAP_THRESHOLD_="100000")  # as without the setting
    assert set_here
    # What is left are a few small blocks, more or fewer with the allocator's luck; without the setting it is all.
    assert share < 0.3 < 0.6 < handed_back


@pytest.mark.skipif(sys.platform == "win32", reason="the module `resource` is POSIX")
def test_what_the_environment_says_stands():
    assert run(MALLOC_TRIM_THRESHOLD_="100000")[0] is False
