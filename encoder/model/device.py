"""Devices: which ones there are, how much memory is in use there, what to do when it runs out; threads of the CPU."""

import contextlib
import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from encoder.errors import LoadError, OutOfMemory, is_out_of_memory, quoted

DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
#: Linux's control groups, and the file that names those of this process.
CONTROL_GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
#: Bytes of the largest block by which glibc learns, less its own header: DEFAULT_MMAP_THRESHOLD_MAX of mallopt(3).
LARGEST_LEARNED = (32 << 20) - (64 << 10)
#: Bytes that this process may have on the CPU in all, None: as many as the machine gives it.
_limit: int | None = None


@functools.cache
def keep_freed_memory() -> None:
    """Let glibc keep up to 64 MB of freed memory for the next trace, once in a process.

    By default it gives a freed trace back to the system, and the next one fetches it again page by page, which takes
    10% more time at 512 tokens. It learns from the largest block that was freed: up to this size it no longer asks the
    system, and it keeps twice as much (mallopt(3), M_MMAP_THRESHOLD). The block here is never written, so it takes no
    memory. Where the environment configures malloc, and with other allocators, nothing changes.
    """
    torch.empty(LARGEST_LEARNED, dtype=torch.uint8)


def available_devices() -> tuple[str, ...]:
    """The devices that torch finds on this machine; "auto" takes the first."""
    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    return tuple(name for name, there in found.items() if there)


def pick_device(device: str) -> torch.device:
    """ "auto" -> CUDA, MPS or the CPU, the first that exists. Raises LoadError for a device that does not exist."""
    if device not in DEVICES:
        raise LoadError(f"device={quoted(device)} is unknown: choose one of {', '.join(DEVICES)}.")
    if device == "auto":
        return torch.device(available_devices()[0])
    if device not in available_devices():
        raise LoadError(f"torch finds no {quoted(device)} device on this machine: choose auto or cpu.")
    return torch.device(device)


def pick_dtype(dtype: str) -> torch.dtype:
    """ "float32" or "bfloat16" -> torch's type. Raises LoadError for another name."""
    if dtype not in DTYPES:
        raise LoadError(f"dtype={quoted(dtype)} is unknown: choose one of {', '.join(DTYPES)}.")
    return DTYPES[dtype]


def memory_in_use(device: torch.device) -> int:
    """Bytes that torch uses on a GPU; on the CPU, bytes that this whole process uses."""
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device)
    if device.type == "mps":
        return torch.mps.current_allocated_memory()
    import psutil

    return int(psutil.Process().memory_info().rss)


def limit_memory(most: int | None) -> None:
    """Let this process have `most` bytes on the CPU in all: `free_memory` counts what is left of them."""
    global _limit
    _limit = most


def free_memory(device: torch.device) -> int:
    """Bytes that are free on a device. On the CPU the limits of a container, of systemd (MemoryMax) and of
    `limit_memory` count, too."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    import psutil

    left = [] if _limit is None else [max(0, _limit - memory_in_use(device))]
    return min([int(psutil.virtual_memory().available), *free_in_groups(), *left])


def free_in_groups(root: Path = CONTROL_GROUPS, own: Path = OWN_GROUPS) -> list[int]:
    """Bytes that are free in each of Linux's control groups that this process is in and that has a limit.

    These are the process's own group and the groups around it (Linux, Documentation/admin-guide/cgroup-v2.rst and
    cgroup-v1/memory.rst). A cached file that nobody has used for a while (`inactive_file`) counts as free: the system
    drops it when a process needs memory. root: where the groups are; own: the file that names the process's groups.
    """
    try:
        lines = own.read_text().splitlines()
    except OSError:  # not Linux
        return []
    free: list[int] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2
            top, limit, current, cached = root, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            top, limit, current = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cached = "total_inactive_file"
        else:
            continue
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            with contextlib.suppress(OSError, ValueError, KeyError):  # no limit ("max"), or a group outside a container
                most, used = (int((folder / name).read_text()) for name in (limit, current))
                stat = dict(entry.split() for entry in (folder / "memory.stat").read_text().splitlines())
                free.append(max(0, most - used + int(stat[cached])))
            if folder == top:
                break
    return free


@contextmanager
def explain_out_of_memory(device: torch.device, n_tokens: int) -> Iterator[None]:
    """Inside, a device that runs out of memory raises OutOfMemory, which says what to do."""
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        raise OutOfMemory(
            f"{n_tokens:,} tokens do not fit into the memory of {device}: specify a shorter text, or choose another "
            "device or bfloat16."
        ) from error


def use_one_thread() -> None:
    """Let torch compute in the calling thread only.

    Such small sums take 1.6 times the processor with two threads. `torch.set_num_threads` also sets the number for
    threads that start later, so a thread of its own sets that back.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    if before > 1:
        again = threading.Thread(target=torch.set_num_threads, args=(before,))
        again.start()
        again.join()


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in the calling thread only, until the end of the block. A pass of 24 tokens takes a quarter less work."""
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    use_one_thread()
    try:
        yield
    finally:
        torch.set_num_threads(before)
