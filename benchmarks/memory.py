"""How many bytes a call takes at its peak, and how many it keeps.

On a CPU torch has no counter of allocated bytes, and a process's resident size tells the allocator's habits rather than
the program's needs: freed memory stays, fresh memory is counted page by page. So the profiler's record of every
allocation and release of a tensor is added up. It repeats to the byte, whatever else the machine does. Not counted:
what kernels take outside torch's allocator (a matrix product's scratch space), on either side.
"""

from __future__ import annotations

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
    """(peak, kept): bytes of tensors above what there was before, at the worst moment of `call` and after it.

    "Kept" is what the call's result holds. The call runs once before, so that what is made only once is not counted.
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
    """The profiler's library writes a line about each start and stop past Python."""
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
    """Bytes of resident memory that a fresh Python running `program` has at its largest, libraries included."""
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
    """Bytes of this process's resident memory at its largest so far."""
    try:
        # getrusage would do, but on Linux it starts with the memory of the process that started this one.
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
