"""Adapters of PEFT next to the weights that they change: LoRA (Hu et al. 2021) and DoRA (Liu et al. 2024).

Such a weight is W + s B A, with the scale s = alpha / r, or alpha / sqrt(r) with use_rslora. DoRA gives each row of
that sum a learned norm. Shapes: A [r, in], B [out, r], W [out, in].
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from encoder.checkpoints.weights import WeightFiles
from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import read_json

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
#: What PEFT puts before the name of a module.
BEFORE = "base_model.model."
#: Settings of LoRA that add something else to the weights.
REFUSED = ("layer_replication", "megatron_config", "alora_invocation_tokens", "trainable_token_indices", "lora_bias",
           "target_parameters", "use_qalora", "use_bdlora", "arrow_config")  # fmt: skip
#: Ways to begin the training that change the weights of the base, too.
CHANGES_BASE = ("pissa", "olora", "corda", "loftq")


@dataclass(frozen=True)
class Change:
    """What an adapter does to one weight. a, b, norm: names in the adapter's file; norm: DoRA's, "" for none."""

    a: str
    b: str
    scale: float
    norm: str = ""
    transposed: bool = False

    def applied(self, weight: Tensor, adapter: WeightFiles) -> Tensor:
        """The weight [out, in] with the change. Raises LoadError for shapes that do not fit."""
        low, high = adapter.read(self.a).float(), adapter.read(self.b).float()
        fits = low.dim() == high.dim() == weight.dim() == 2 and high.shape[1] == low.shape[0]
        change = self.scale * (high @ low) if fits else None
        if change is not None and self.transposed:
            change = change.T
        if change is None or change.shape != weight.shape:
            raise LoadError(
                f"The adapter's {self.a} and {self.b} have the shapes {tuple(low.shape)} and {tuple(high.shape)}. They "
                f"do not fit a weight of shape {tuple(weight.shape)}: use the model that the adapter was trained on."
            )
        found = weight.float() + change
        if self.norm:
            axis = 0 if self.transposed else 1
            wanted = adapter.read(self.norm).float().reshape(-1).unsqueeze(axis)
            found = found * (wanted / found.norm(dim=axis, keepdim=True))
        return found.to(weight.dtype)


class AdaptedWeights(WeightFiles):
    """The weights of a folder with the changes of its adapter."""

    def __init__(self, base: WeightFiles, adapter: WeightFiles, changes: Mapping[str, Change]) -> None:
        self.__dict__.update(vars(base))
        self._adapter, self._changes = adapter, changes

    def read(self, name: str) -> Tensor:
        """A copy of the weight, changed."""
        weight = super().read(name)
        change = self._changes.get(name)
        return weight if change is None else change.applied(weight, self._adapter)


def has_adapter(folder: Path) -> bool:
    """Whether the folder has an adapter of PEFT."""
    return (folder / CONFIG).is_file()


def with_adapter(folder: Path, base: WeightFiles) -> tuple[WeightFiles, tuple[str, ...]]:
    """The weights with the changes of the folder's adapter, and a sentence about it; without one, the same weights.

    Raises LoadError for another kind of adapter, and for one of another model.
    """
    if not has_adapter(folder) or base.shares:
        return base, ()
    settings = read_json(folder / CONFIG)
    check(folder, settings)
    if not (folder / WEIGHTS).is_file():
        raise LoadError(
            f"{folder.name} has {CONFIG} without {WEIGHTS}: copy the adapter's weights, or remove {CONFIG} to open the "
            "model without it."
        )
    adapter = WeightFiles.of_file(folder / WEIGHTS)
    changes: dict[str, Change] = {}
    for name in adapter:
        if name.endswith((".lora_A.weight", ".lora_embedding_A")):
            place, change = _change(name, adapter, settings)
            changes[_name_of(place, base)] = change
    known = {one for change in changes.values() for one in (change.a, change.b, change.norm)}
    own = {name: name.removeprefix(BEFORE).replace(".base_layer.", ".") for name in adapter if name not in known}
    whole = {_name_of(place, base, new=True): name for name, place in own.items()}
    found = AdaptedWeights(base, adapter, changes)
    found.replace(adapter, whole)
    kind = "DoRA" if settings.get("use_dora") else "LoRA"
    more = f", and {len(whole)} are its own" if whole else ""
    return found, (f"The adapter in this folder ({kind}) changes {len(changes)} weights{more}.",)


def check(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise LoadError for an adapter that is not a sum of two small maps."""
    kind = str(settings.get("peft_type", "LORA"))
    begin = str(settings.get("init_lora_weights", "")).lower()
    odd = [f"{name}={quoted(settings[name])}" for name in REFUSED if settings.get(name)]
    if kind.upper() != "LORA":
        odd = [f"peft_type={quoted(kind)}"]
    if begin.startswith(CHANGES_BASE):
        odd = [f"init_lora_weights={quoted(begin)}"]
    if odd:
        raise LoadError(
            f"{folder.name} has an adapter of PEFT with {odd[0]}, and LoRA and DoRA are known here: merge it first by "
            f"PeftModel.from_pretrained(base, {folder.name!r}).merge_and_unload().save_pretrained(merged). Open that."
        )


def _change(name: str, adapter: WeightFiles, settings: Mapping[str, Any]) -> tuple[str, Change]:
    """The name of a changed weight in the base, and its change. name: that of A."""
    in_table = name.endswith(".lora_embedding_A")
    module = name.removesuffix(".lora_embedding_A").removesuffix(".lora_A.weight")
    other = name.replace(".lora_embedding_A", ".lora_embedding_B").replace(".lora_A.", ".lora_B.")
    norms = [
        one for one in (f"{module}.lora_magnitude_vector.weight", f"{module}.lora_magnitude_vector") if one in adapter
    ]
    if other not in adapter or (in_table and norms):
        raise LoadError(f"The adapter's {quoted(name)} is not a pair of maps: save it again with PEFT.")
    rank, alpha = adapter.shape(name)[0], settings.get("lora_alpha", 8)
    place = module.removeprefix(BEFORE)
    for pattern, value in (settings.get("alpha_pattern") or {}).items():
        if re.match(rf"(.*\.)?({pattern})$", place):
            alpha = value
            break
    if not isinstance(alpha, int | float) or isinstance(alpha, bool) or rank < 1:
        raise LoadError(f"{CONFIG} has lora_alpha={quoted(alpha)}: specify a number.")
    scale = alpha / (math.sqrt(rank) if settings.get("use_rslora") else rank)
    transposed = in_table or bool(settings.get("fan_in_fan_out"))
    return f"{place}.weight", Change(name, other, scale, norms[0] if norms else "", transposed)


def _name_of(place: str, base: WeightFiles, *, new: bool = False) -> str:
    """The name on disk of a weight of the model that was adapted, whose names may have another prefix.

    new: whether the adapter may bring a weight that the base does not have.
    """
    found = [name for name in base if name == place or name.endswith(f".{place}") or place.endswith(f".{name}")]
    exact = [name for name in found if name == place] or found
    if len(exact) == 1:
        return exact[0]
    if new and not exact:
        return place
    raise LoadError(
        f"The adapter changes {quoted(place)}, which the model of this folder does not have: use the adapter with the "
        "model that it was trained on."
    )


def refuse_alone(folder: Path) -> None:
    """Raise LoadError for a folder that has only the changes of a fine-tuning, and no model."""
    base = read_json(folder / CONFIG).get("base_model_name_or_path")
    raise LoadError(
        f"{folder.name} is an adapter of PEFT, which has only the changes of {quoted(base)}: copy that model's "
        "config.json and model.safetensors into the folder, or merge them first by "
        f"PeftModel.from_pretrained(base, {folder.name!r}).merge_and_unload().save_pretrained(merged), and open that."
    )
