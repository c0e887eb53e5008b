"""The checkpoint of a run: one safetensors file, whole or absent, with weights, optimiser, recipe and curve."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from recipes.twins.corpus import write_atomically
from recipes.twins.recipe import TrainingRecipe


@dataclass
class RunState:
    """The state of a run. rows: the curve so far; status: "running", "done", "stopped", "diverged at step n: ..."."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    status: str = "running"
    rows: list[dict[str, float]] = field(default_factory=list)


def save_checkpoint(
    path: Path, model: nn.Module, optimiser: torch.optim.AdamW, state: RunState, recipe: TrainingRecipe
) -> None:
    """Write weights and AdamW's two averages as tensors, and all else as JSON in the header."""
    from safetensors.torch import save

    tensors = {f"model.{name}": value.detach().cpu() for name, value in model.state_dict().items()}
    for index, entry in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{index}.{name}": value.detach().cpu() for name, value in entry.items()}
    header = {"state": json.dumps(dataclasses.asdict(state)), "recipe": json.dumps(dataclasses.asdict(recipe))}
    write_atomically(path, save(tensors, metadata=header))


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], RunState, dict[str, Any]]:
    """(tensors, state, fields of the recipe) from a file of `save_checkpoint`."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        header = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (safe_open is not a mapping)
    return tensors, RunState(**json.loads(header["state"])), json.loads(header["recipe"])


def restore(tensors: dict[str, Tensor], model: nn.Module, optimiser: torch.optim.AdamW) -> None:
    """Load a checkpoint's tensors into a model and an optimiser of the same recipe."""
    model.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
    entries: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimiser."):
            _, index, what = name.split(".")
            entries.setdefault(int(index), {})[what] = value
    optimiser.load_state_dict({"state": entries, "param_groups": optimiser.state_dict()["param_groups"]})
