"""Sentences about a folder whose files contradict each other: this program and transformers may read it differently."""

from __future__ import annotations

from typing import Any

import torch

from encoder.checkpoints.weights import NUMBERS, WeightFiles


def note_on_dtype(fields: dict[str, Any], files: WeightFiles, dtype: torch.dtype) -> tuple[str, ...]:
    """A sentence where config.json declares another number type than its weights have, and than is computed in.

    transformers 5 computes in the type that config.json declares (`dtype`, before `torch_dtype`).
    """
    declared = str(fields.get("dtype") or fields.get("torch_dtype") or "").removeprefix("torch.")
    known = {str(one).removeprefix("torch."): name for name, one in NUMBERS.items()}
    used = str(dtype).removeprefix("torch.")
    if declared not in known or declared == used or known[declared] in (kinds := files.kinds()):
        return ()
    stored = " and ".join(sorted(name for name, kind in known.items() if kind in kinds))
    return (
        f"config.json has dtype={declared}, and the weights are stored as {stored}. This program computes in {used}, "
        f"and transformers in {declared}: their numbers differ by rounding.",
    )
