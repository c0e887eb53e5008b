"""Where a model runs: which devices there are, and how much memory is in use there."""

from __future__ import annotations

import torch

from encoder.errors import LoadError

DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def available_devices() -> tuple[str, ...]:
    """The devices that torch finds here, the one that "auto" takes first."""
    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    return tuple(name for name, there in found.items() if there)


def pick_device(device: str) -> torch.device:
    """ "auto" -> CUDA, MPS or the CPU, whichever is there first. Raises LoadError for one that is not there."""
    if device not in DEVICES:
        raise LoadError(f"device={device!r}: choose one of {', '.join(DEVICES)}.")
    if device == "auto":
        return torch.device(available_devices()[0])
    if device not in available_devices():
        raise LoadError(f"device={device!r}: torch finds none on this machine. Choose auto or cpu.")
    return torch.device(device)


def memory_in_use(device: torch.device) -> int:
    """Bytes: what torch holds on a GPU, or what this whole process holds of the machine's memory on the CPU."""
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device)
    if device.type == "mps":
        return torch.mps.current_allocated_memory()
    import psutil

    return psutil.Process().memory_info().rss
