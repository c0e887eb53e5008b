"""A sentence-transformers folder beside its encoder: pooling, dense maps, normalisation, where to cut a text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from encoder.errors import ConfigError, LoadError, quoted
from encoder.inputs.json_file import parse_json, read_json
from encoder.load.places import inside
from encoder.load.weights import WeightFiles, fill_strictly
from encoder.model.encoder import unfilled
from encoder.model.pooling import Dense, DenseActivation, DenseConfig, Pooling

#: pooling_mode of newer files -> ours.
MODES: dict[str, Pooling] = {
    "cls": "cls",
    "mean": "mean",
    "max": "max",
    "mean_sqrt_len_tokens": "mean_sqrt_len",
    "weightedmean": "weighted_mean",
    "lasttoken": "last",
}
#: pooling_mode_... of older files -> pooling_mode of newer ones.
OLDER_MODES = {
    "cls_token": "cls",
    "mean_tokens": "mean",
    "max_tokens": "max",
    "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "weightedmean_tokens": "weightedmean",
    "lasttoken": "lasttoken",
}
DENSE_ACTIVATION_NAMES: dict[str, DenseActivation] = {
    "Identity": "none",
    "Tanh": "tanh",
    "ReLU": "relu",
    "GELU": "gelu",
}
#: tokenizer_config.json writes "no limit" as model_max_length 10^30.
NO_LIMIT = 10**9
#: Modules that modules.json may list.
MOST_MODULES = 20


@dataclass(frozen=True)
class EmbeddingSteps:
    """How a text becomes one vector. folder: the encoder's; max_tokens: where a text is cut, None: nowhere."""

    folder: Path
    pooling: Pooling = "mean"
    dense: tuple[Path, ...] = ()
    normalise: bool = False
    max_tokens: int | None = None
    lower_case: bool = False
    notes: tuple[str, ...] = ()


def read_steps(folder: Path) -> EmbeddingSteps:
    """Read modules.json and the folders that it names. Without it: the mean of the tokens.

    Raises LoadError for an unknown module, and for another order than encoder, pooling, dense maps, normalisation.
    """
    path = folder / "modules.json"
    if not path.is_file():
        return EmbeddingSteps(folder)
    modules = parse_json(path)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules) or not modules:
        raise LoadError(f"modules.json in {folder.name} is no list of modules: download it again.")
    if len(modules) > MOST_MODULES:
        raise LoadError(f"modules.json in {folder.name} has {len(modules):,} modules: at most {MOST_MODULES} are read.")
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    check_order(kinds)
    places = [inside(folder, str(module.get("path", ""))) if kind != "Normalize" else folder
              for module, kind in zip(modules, kinds, strict=True)]  # fmt: skip
    return EmbeddingSteps(
        folder=places[0],
        pooling=read_pooling(places[kinds.index("Pooling")]) if "Pooling" in kinds else "mean",
        dense=tuple(place for place, kind in zip(places, kinds, strict=True) if kind == "Dense"),
        normalise="Normalize" in kinds,
        **read_limits(places[0], folder),
        notes=prompt_notes(folder),
    )


def check_order(kinds: list[str]) -> None:
    """Raise LoadError, which names the first module that is unknown or out of order."""
    order = {"Transformer": 0, "Pooling": 1, "Dense": 2, "Normalize": 3}
    for kind in kinds:
        if kind not in order:
            raise LoadError(
                f"This checkpoint's modules.json has an unknown module {quoted(kind)}: choose a checkpoint of "
                f"{', '.join(order)} modules."
            )
    ranks = [order[kind] for kind in kinds]
    if ranks != sorted(ranks) or kinds[0] != "Transformer" or any(kinds.count(k) > 1 for k in order if k != "Dense"):
        raise LoadError(
            f"This checkpoint's modules.json has the modules {', '.join(kinds)}: choose one with the order "
            "Transformer, Pooling, any number of Dense, Normalize."
        )


def read_pooling(folder: Path) -> Pooling:
    """The pooling in a Pooling module's config.json, older or newer. Raises LoadError for an unknown one."""
    fields = read_json(folder / "config.json")
    mode = fields.get("pooling_mode")
    if mode is None:
        modes = [new for old, new in OLDER_MODES.items() if fields.get(f"pooling_mode_{old}")] or ["mean"]
    else:
        modes = mode if isinstance(mode, list) else [mode]
    if len(modes) != 1:
        raise LoadError(
            f"This checkpoint pools in several ways ({', '.join(map(str, modes))}): choose one with a single way."
        )
    if modes[0] not in MODES:
        raise LoadError(f"This checkpoint has an unknown pooling_mode={modes[0]!r}: choose one of {', '.join(MODES)}.")
    return MODES[modes[0]]


def read_limits(folder: Path, outer: Path) -> dict[str, Any]:
    """max_tokens and lower_case, from sentence_bert_config.json or else tokenizer_config.json."""
    found: dict[str, Any] = {}
    for place in (folder, outer):
        path = place / "sentence_bert_config.json"
        if path.is_file():
            found = read_json(path)
            break
    limit = found.get("max_seq_length")
    path = folder / "tokenizer_config.json"
    if limit is None and path.is_file():
        limit = read_json(path).get("model_max_length")
    usable = isinstance(limit, int) and 0 < limit < NO_LIMIT
    return {"max_tokens": limit if usable else None, "lower_case": bool(found.get("do_lower_case", False))}


def prompt_notes(folder: Path) -> tuple[str, ...]:
    """A sentence about a prompt that sentence-transformers puts before each text."""
    path = folder / "config_sentence_transformers.json"
    if not path.is_file():
        return ()
    fields = read_json(path)
    name = fields.get("default_prompt_name")
    prompts = fields.get("prompts")
    prompt = prompts.get(name) if isinstance(prompts, dict) and name is not None else None
    if not prompt:
        return ()
    return (f"sentence-transformers puts {prompt!r} before each text of this checkpoint: here you type it yourself.",)


def read_dense(folder: Path, files: WeightFiles, device: torch.device, dtype: torch.dtype) -> Dense:
    """A Dense module. Raises LoadError for an unknown activation or an unknown connection."""
    fields = read_json(folder / "config.json")
    name = str(fields.get("activation_function", "torch.nn.modules.activation.Tanh")).rsplit(".", 1)[-1]
    if name not in DENSE_ACTIVATION_NAMES:
        raise LoadError(
            f"{folder.name} has an unknown activation_function={name!r}: choose a checkpoint with one of "
            f"{', '.join(DENSE_ACTIVATION_NAMES)}."
        )
    for key, usual in (("use_residual", False), ("module_input_name", "sentence_embedding"),
                       ("module_output_name", "sentence_embedding")):  # fmt: skip
        if fields.get(key) not in (None, usual):
            raise LoadError(f"{folder.name} has an unknown {key}={fields[key]!r}: choose a checkpoint with {usual!r}.")
    try:
        config = DenseConfig(
            d_in=int(fields["in_features"]),
            d_out=int(fields["out_features"]),
            bias=bool(fields.get("bias", True)),
            activation=DENSE_ACTIVATION_NAMES[name],
        )
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise LoadError(
            f"config.json in {folder.name} describes no linear map ({error}): download it again."
        ) from error
    with unfilled():
        dense = Dense(config)
    fill_strictly({"": dense}, files, device, dtype)
    return dense
