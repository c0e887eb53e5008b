"""Bytes that a call uses at its peak, and bytes that it keeps.

On a CPU, torch does not count allocated bytes, and a process's resident size depends on the allocator: freed memory
stays, and new memory is counted page by page. So this adds up the profiler's record of every allocation and release of
a tensor, which is the same to the byte in every run. It leaves out memory outside torch's allocator (the scratch space
of a matrix product), on both sides.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerActivity, profile

ROOT = Path(__file__).parent.parent


def tensor_bytes(call: Callable[[], Any]) -> tuple[int, int]:
    """(peak, kept): additional bytes of tensors, at the worst moment of `call` and in its result.

    The call runs once before, so that memory which is allocated only once does not count.
    """
    call()
    with _native_stderr_closed(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        result = call()
    changes = sorted(
        (event.start_ns(), event.nbytes())
        for event in profiled.profiler.kineto_results.events()
        if event.name() == "[memory]"
    )
    del result
    held = peak = 0
    for _, change in changes:
        held += change
        peak = max(peak, held)
    return peak, held


@contextlib.contextmanager
def _native_stderr_closed() -> Iterator[None]:
    """The profiler's library writes a line at each start and stop, and Python cannot catch it."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def peak_resident(program: str, timeout: float = 900) -> int:
    """Peak bytes of resident memory of a new Python process that runs `program`, libraries included."""
    answer = subprocess.run(
        [sys.executable, "-c", f"{program}\nfrom benchmarks.memory import own_peak\nprint(own_peak())"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=True,
    )
    return int(answer.stdout.split()[-1])


def own_peak() -> int:
    """Peak bytes of this process's resident memory so far."""
    try:
        # On Linux, getrusage starts from the memory of the parent process.
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
