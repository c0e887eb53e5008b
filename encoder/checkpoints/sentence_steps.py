"""Modules of sentence-transformers with weights of their own -> the steps that follow an encoder, or an encoder itself.

`StaticEmbedding` and `SparseStaticEmbedding` are encoders without layers.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from encoder.checkpoints.colbert import PROJECTION
from encoder.checkpoints.modules import Module
from encoder.checkpoints.weights import WeightFiles, check_memory, fill, fill_strictly
from encoder.errors import ConfigError, LoadError, quoted
from encoder.inputs.json_file import read_json
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder, unfilled
from encoder.model.pooling import Dense, DenseActivation, DenseConfig
from encoder.model.steps import (
    Code,
    CodeConfig,
    LayerMix,
    LayerMixConfig,
    Unit,
    UnitConfig,
    VectorNorm,
    VectorNormConfig,
)

#: torch's names of activations -> ours.
DENSE_ACTIVATION_NAMES: dict[str, DenseActivation] = {
    "Identity": "none", "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu", "Sigmoid": "sigmoid", "SiLU": "silu",
}  # fmt: skip
#: The longest text of an encoder without layers, whose cost grows with the number of tokens only.
LONGEST_STATIC = 1_000_000
#: Weights of a code that only its training uses.
TIED = "decoder.linear.weight"
TRAINING_ONLY = ("stats_last_nonzero", TIED)
TOKENS = "embedding.tokens.weight"

Opens = Callable[[Path], WeightFiles]


def read_dense(module: Module, level: str) -> Dense:
    """A linear map without its weights. level: what it maps. Raises LoadError for what is unknown in its settings."""
    folder = module.place
    fields = read_json(folder / "config.json")
    path = str(fields.get("activation_function", "torch.nn.modules.activation.Tanh"))
    name = path.rsplit(".", 1)[-1]
    if not path.startswith("torch."):
        raise LoadError(
            f"{folder.name} has activation_function={quoted(path)}, which is code of its own: write the name of "
            "torch's class there, such as torch.nn.ReLU, or choose another checkpoint."
        )
    if name not in DENSE_ACTIVATION_NAMES:
        raise LoadError(
            f"{folder.name} has an unknown activation_function={quoted(name)}: choose a checkpoint with one of "
            f"{', '.join(DENSE_ACTIVATION_NAMES)}."
        )
    check_level(folder, fields, level)
    return Dense(
        DenseConfig(
            d_in=int(fields["in_features"]),
            d_out=int(fields["out_features"]),
            bias=bool(fields.get("bias", True)),
            activation=DENSE_ACTIVATION_NAMES[name],
            residual=bool(fields.get("use_residual", False)),
        )
    )


def check_level(folder: Path, fields: dict[str, Any], level: str) -> None:
    """Raise LoadError for a module that works on another vector than its place among the modules says."""
    for key in ("module_input_name", "module_output_name"):
        if fields.get(key) not in (None, level):
            raise LoadError(
                f"{folder.name} has an unknown {key}={quoted(fields[key])}: choose a checkpoint with {level!r}."
            )


def read_unit(module: Module, level: str) -> Unit:
    """The scaling to norm 1 between other steps."""
    path = module.place / "config.json"
    if path.is_file():
        fields = read_json(path)
        check_level(module.place, {key: value for key, value in fields.items() if key.startswith("module_")}, level)
    return Unit(UnitConfig())


def read_norm(module: Module, level: str) -> VectorNorm:
    """A LayerNorm of the text's vector. level: it is always of one vector."""
    return VectorNorm(VectorNormConfig(int(read_json(module.place / "config.json")["dimension"])))


def read_code(module: Module, level: str, most: int | None = None) -> Code:
    """A sparse code. most: the numbers that count, where another file says so."""
    fields = read_json(module.place / "config.json")
    kept = int(fields.get("k", 8)) if most is None else most
    sizes = int(fields["input_dim"]), int(fields.get("hidden_dim", 512))
    return Code(CodeConfig(*sizes, kept, standardised=bool(fields.get("normalize"))))


#: What reads a module's settings, by its class.
STEP_MODULES: dict[str, Callable[[Module, str], nn.Module]] = {
    "Dense": read_dense,
    "Normalize": read_unit,
    "LayerNorm": read_norm,
    "SparseAutoEncoder": read_code,
    "Projection": read_dense,  # `read_step` has its settings from the weight
}


def read_step(
    module: Module, weights: Opens, device: torch.device, dtype: torch.dtype, level: str, most: int | None = None
) -> nn.Module:
    """A step with its weights. weights: opens those of a folder; level: what it maps; most: of a sparse code.

    Raises LoadError, which names the setting or the weight that is wrong.
    """
    if module.kind == "Projection":
        return read_projection(module.place, weights, device, dtype)
    try:
        with unfilled():
            read = STEP_MODULES[module.kind]
            step = read_code(module, level, most) if read is read_code else read(module, level)
    except LoadError:
        raise
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        what = "linear map" if module.kind == "Dense" else module.kind
        raise LoadError(
            f"config.json in {module.place.name} describes no {what} ({error}): download it again."
        ) from error
    if next(step.parameters(), None) is not None:
        _fill(step, module.place, weights, device, dtype)
    return step


def read_projection(place: Path, weights: Opens, device: torch.device, dtype: torch.dtype) -> Dense:
    """ColBERT's projection, which is among the weights of its encoder. Raises LoadError where it is missing."""
    files = weights(place).starting_with(("linear.",))
    shape = files.shape(PROJECTION) if PROJECTION in files else ()
    if len(shape) != 2:
        raise LoadError(f"{place.name} lacks ColBERT's projection {PROJECTION}: download it again.")
    with unfilled():
        step = Dense(DenseConfig(shape[1], shape[0], bias=False, activation="none"))
    fill_strictly({"": step}, files, device, dtype)
    return step


def read_mix(place: Path, weights: Opens, device: torch.device, dtype: torch.dtype) -> LayerMix:
    """The mean over layers. Raises LoadError for settings and weights that do not fit."""
    fields = read_json(place / "config.json")
    first = fields.get("layer_start", 4)
    try:
        with unfilled():
            mix = LayerMix(LayerMixConfig(first, fields.get("num_hidden_layers", 12) + 1 - first))
    except (TypeError, ConfigError) as error:
        raise LoadError(f"config.json in {place.name} describes no mean over layers ({error}).") from error
    _fill(mix, place, weights, device, dtype)
    return mix


def _fill(step: nn.Module, place: Path, weights: Opens, device: torch.device, dtype: torch.dtype) -> None:
    files = weights(place)
    if isinstance(step, Code) and TIED in files:  # one weight, which may be in the file under either name
        files.also("encoder.weight", TIED)
    fill_strictly({"": step}, files.without(TRAINING_ONLY), device, dtype)


def read_static(place: Path, weights: Opens, device: torch.device, dtype: torch.dtype) -> Encoder:
    """A table of tokens as an encoder without layers. The names are those of sentence-transformers, or of model2vec.

    model2vec may have fewer rows than tokens ("mapping": the row of each) and a factor for each ("weights"). Raises
    LoadError for weights of another form.
    """
    files = weights(place)
    table = next((name for name in ("embedding.weight", "embeddings", "weight") if name in files), None)
    if table is None:
        raise LoadError(f"{place.name} has no table of tokens (embedding.weight or embeddings): save it again.")
    shape = files.shape(table)
    width = shape[1] if len(shape) == 2 else 1
    if len(shape) != (1 if table == "weight" else 2) or not width or not shape[0]:
        raise LoadError(
            f"The weight {table} in {place.name} has the shape {shape}, not that of a table: save it again."
        )
    n_rows = files.shape("mapping")[0] if table == "embeddings" and "mapping" in files else shape[0]
    with unfilled():
        made = Encoder(static_config(n_rows, width))
    check_memory([made], device, dtype)
    rows = files.read(table).view(-1, width)
    if table == "embeddings":
        if "mapping" in files:
            rows = rows[_rows(files, n_rows, len(rows), place)]
        if "weights" in files:
            factors = files.read("weights").reshape(-1, 1)
            if len(factors) != len(rows):
                raise LoadError(f"{place.name} has {len(factors)} weights for {len(rows)} tokens: save it again.")
            rows = (rows.to(torch.promote_types(rows.dtype, torch.float32)) * factors).to(rows.dtype)
    fill(made, {TOKENS: rows.to(device, dtype)})
    return made


def _rows(files: WeightFiles, n_tokens: int, n_rows: int, place: Path) -> torch.Tensor:
    mapping = files.read_whole("mapping").reshape(-1)
    if len(mapping) != n_tokens or int(mapping.min()) < 0 or int(mapping.max()) >= n_rows:
        raise LoadError(f"{place.name} maps tokens to rows that its table does not have: save it again.")
    return mapping


def static_config(n_tokens: int, width: int) -> EncoderConfig:
    """No layers, positions or norms: the vector of a token is its row."""
    return EncoderConfig(
        vocab_size=n_tokens,
        d_model=width,
        n_layers=0,
        n_heads=1,
        d_ffn=1,
        max_positions=LONGEST_STATIC,
        position="none",
        embedding_norm=False,
        norm_placement="pre",
        final_norm=False,
    )
