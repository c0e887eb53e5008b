"""A sentence-transformers folder next to its encoder: pooling, dense maps, normalisation, prompts, SPLADE, ColBERT."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from encoder.checkpoints.places import inside
from encoder.checkpoints.sentence_settings import NO_LIMIT, TransformerSettings, read_settings
from encoder.checkpoints.weights import WeightFiles, fill_strictly
from encoder.errors import ConfigError, LoadError, quoted
from encoder.inputs.json_file import parse_json, read_json
from encoder.model.encoder import unfilled
from encoder.model.pooling import Dense, DenseActivation, DenseConfig, LateConfig, Pooling, SparseConfig

#: pooling_mode of newer files -> ours.
MODES: dict[str, Pooling] = {
    "cls": "cls", "mean": "mean", "max": "max", "mean_sqrt_len_tokens": "mean_sqrt_len",
    "weightedmean": "weighted_mean", "lasttoken": "last",
}  # fmt: skip
#: pooling_mode_... of older files -> pooling_mode of newer ones, in the order in which their vectors are joined.
OLDER_MODES = {
    "cls_token": "cls", "max_tokens": "max", "mean_tokens": "mean", "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "weightedmean_tokens": "weightedmean", "lasttoken": "lasttoken",
}  # fmt: skip
#: torch's names of activations -> ours.
DENSE_ACTIVATION_NAMES: dict[str, DenseActivation] = {
    "Identity": "none", "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu", "Sigmoid": "sigmoid", "SiLU": "silu",
}  # fmt: skip
#: Packages whose modules are known.
PACKAGES = ("sentence_transformers.", "pylate.models.")
#: Modules that modules.json may list.
MOST_MODULES = 20


#: Modules that change nothing in eval mode, or that the classification head does here.
IGNORED = ("Dropout", "LogitScore")
#: Normalize and Dense work on one vector of a text, or on each token's.
TEXT, TOKEN = "sentence_embedding", "token_embeddings"
ORDERS = {
    "Pooling": ("Transformer", "Pooling", "Dense", "Normalize"),
    "SpladePooling": ("Transformer", "SpladePooling"),
    "MultiVectorMask": ("Transformer", "Dense", "Normalize", "MultiVectorMask"),
}


@dataclass(frozen=True)
class EmbeddingSteps:
    """How a text becomes one vector, or one for each token. folder: the encoder's; dense, token_dense: folders.

    settings: the fields of TextEncoder that need no weights; transformer: what its file says of encoder and tokenizer;
    notes: for people.
    """

    folder: Path
    dense: tuple[Path, ...] = ()
    token_dense: tuple[Path, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    transformer: TransformerSettings = field(default_factory=TransformerSettings)
    notes: tuple[str, ...] = ()


def read_steps(folder: Path) -> EmbeddingSteps:
    """Read modules.json and the folders that it names. Without it: the mean of the tokens.

    Raises LoadError for an unknown module, and for an order that is none of ORDERS.
    """
    path = folder / "modules.json"
    if not path.is_file():
        return EmbeddingSteps(folder)
    modules = parse_json(path)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules) or not modules:
        raise LoadError(f"modules.json in {folder.name} is not a list of modules: download it again.")
    if len(modules) > MOST_MODULES:
        raise LoadError(f"modules.json in {folder.name} has {len(modules):,} modules: at most {MOST_MODULES} are read.")
    kinds = [kind_of_module(str(module.get("type", ""))) for module in modules]
    kinds = ["Transformer" if kind == "MLMTransformer" else kind for kind in kinds]
    check_order([kind for kind in kinds if kind not in IGNORED])
    weightless = (*IGNORED, "Normalize")
    paths = [
        "" if kind in weightless else str(module.get("path", "")) for module, kind in zip(modules, kinds, strict=True)
    ]
    places = [inside(folder, path) for path in paths]
    of = {kind: tuple(place for place, one in zip(places, kinds, strict=True) if one == kind) for kind in kinds}
    transformer = read_settings(places[0], folder, pools="Pooling" in kinds)
    prompts, notes = read_prompts(folder, kinds)
    settings = {"max_embed_tokens": limit_of(places[0], transformer)} | prompts
    dense, token_dense = of.get("Dense", ()), ()
    if "SpladePooling" in kinds:
        settings["sparse"] = read_sparse(of["SpladePooling"][0])
    elif "Pooling" not in kinds and ("MultiVectorMask" in kinds or "Dense" in kinds):
        mask = of.get("MultiVectorMask")
        settings["late"] = read_late(places[0], None if mask is None else mask[0], normalise="Normalize" in kinds)
        dense, token_dense = token_dense, dense
    else:
        pooling, pools_prompt = read_pooling(of["Pooling"][0]) if "Pooling" in kinds else ("mean", True)
        settings |= {"pooling": pooling, "pools_prompt": pools_prompt, "normalise": "Normalize" in kinds}
    return EmbeddingSteps(places[0], dense, token_dense, settings, transformer, (*notes, *transformer.notes))


def kind_of_module(name: str) -> str:
    """The class of a module without its package. Raises LoadError for a class of another package: its code may do
    anything."""
    if not name.startswith(PACKAGES):
        raise LoadError(
            f"This checkpoint's modules.json has the module {quoted(name)}, which is code of its own: this program has "
            "only the modules of sentence-transformers. To see its encoder, load it there as model, and call "
            "encoder.wrap(model[0].auto_model, model.tokenizer)."
        )
    return name.rsplit(".", 1)[-1]


def check_order(kinds: list[str]) -> None:
    """Raise LoadError, which names the first module that is unknown or out of order."""
    known = dict.fromkeys(kind for order in ORDERS.values() for kind in order)
    for kind in kinds:
        if kind not in known:
            raise LoadError(
                f"This checkpoint's modules.json has an unknown module {quoted(kind)}: choose a checkpoint of "
                f"{', '.join(known)} modules."
            )
    order = ORDERS[next((kind for kind in kinds if kind in ORDERS), "Pooling")]
    ranks = [order.index(kind) if kind in order else -1 for kind in kinds]
    if ranks != sorted(ranks) or ranks[0] or any(kinds.count(kind) > 1 for kind in order if kind != "Dense"):
        raise LoadError(
            f"This checkpoint's modules.json has the modules {', '.join(kinds)}: choose one with the order "
            f"{', '.join(order)}, with any number of Dense."
        )


def read_pooling(folder: Path) -> tuple[str, bool]:
    """The pooling in a Pooling module's config.json, older or newer: its ways, and whether prompts are pooled, too.

    Raises LoadError for an unknown way.
    """
    fields = read_json(folder / "config.json")
    mode = fields.get("pooling_mode")
    if mode is None:
        modes = [new for old, new in OLDER_MODES.items() if fields.get(f"pooling_mode_{old}")] or ["mean"]
    else:
        modes = mode if isinstance(mode, list) else [mode]
    if unknown := [one for one in modes if one not in MODES]:
        raise LoadError(
            f"This checkpoint has an unknown pooling_mode={unknown[0]!r}: choose one of {', '.join(MODES)}."
        )
    if not 1 <= len(modes) <= len(MODES):
        raise LoadError(f"This checkpoint pools in {len(modes)} ways: choose one with 1 to {len(MODES)}.")
    return "+".join(MODES[one] for one in modes), bool(fields.get("include_prompt", True))


def read_sparse(folder: Path) -> SparseConfig:
    """SPLADE's pooling. Raises LoadError for an unknown one."""
    fields = read_json(folder / "config.json")
    activation = fields.get("activation_function", "relu")
    if activation not in ("relu", "log1p_relu"):
        raise LoadError(f"{folder.name} has an unknown activation_function={quoted(activation)}: choose relu.")
    try:
        return SparseConfig(fields.get("pooling_strategy", "max"), twice=activation != "relu")
    except (ConfigError, TypeError) as error:
        raise LoadError(f"{folder.name} describes no pooling. {error}") from error


def read_late(folder: Path, mask: Path | None, *, normalise: bool) -> LateConfig:
    """ColBERT's settings: how queries are filled, and which tokens do not count. mask: MultiVectorMask's folder."""
    path = folder / "sentence_bert_config.json"
    own = read_json(path) if path.is_file() else {}
    fields = {} if mask is None else read_json(mask / "config.json")
    if fields.get("keep_only_token_ids") is not None:
        raise LoadError(
            f"{folder.name} compares some kinds of tokens only (keep_only_token_ids): choose another model."
        )
    words, tasks = fields.get("skiplist_words") or [], fields.get("skiplist_tasks") or ["document"]
    filled = own.get("query_expansion") or {}
    lengths = [own.get("query_length"), own.get("document_length"), filled.get("length", 0)]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise LoadError(f"{folder.name} has skiplist_words={quoted(words)}: specify a list of tokens.")
    if not all(length is None or (type(length) is int and 0 <= length < NO_LIMIT) for length in lengths):
        raise LoadError(f"{folder.name} has the lengths {quoted(lengths)}: specify numbers of tokens.")
    return LateConfig(
        normalise,
        tuple(words),
        "query" in tasks,
        n_query=lengths[2] or 0,
        filler=filled.get("token"),
        exact=filled.get("strategy", "fixed") == "fixed",
        attends=bool(filled.get("attend", False)),
        query_length=lengths[0],
        document_length=lengths[1],
    )


def limit_of(folder: Path, settings: TransformerSettings) -> int | None:
    """Where `embed` cuts a text, as the settings or else tokenizer_config.json say; None: at the model's own length."""
    limit, path = settings.limit, folder / "tokenizer_config.json"
    if limit is None and path.is_file():
        fields = read_json(path)
        limit = fields.get("model_max_length", fields.get("max_len"))
    usable = isinstance(limit, int) and 0 < limit < NO_LIMIT
    return limit if usable and settings.cuts else None


def read_prompts(folder: Path, kinds: list[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Prompts and truncation, and sentences about what `embed` does with them. Raises LoadError for wrong ones."""
    path = folder / "config_sentence_transformers.json"
    fields = read_json(path) if path.is_file() else {}
    prompts, name, width = fields.get("prompts") or {}, fields.get("default_prompt_name"), fields.get("truncate_dim")
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str | None) for prompt in prompts.values()):
        raise LoadError(f"{path.name} has prompts={quoted(prompts)}: specify a text for each name.")
    prompts = {key: prompt or "" for key, prompt in prompts.items()}
    if name is not None and name not in prompts:
        raise LoadError(
            f"{path.name} has default_prompt_name={quoted(name)}, which is none of its prompts: correct it."
        )
    if width is not None and (type(width) is not int or width < 1):
        raise LoadError(f"{path.name} has truncate_dim={quoted(width)}: specify a whole number from 1 on.")
    notes = []
    if name is not None and prompts[name]:
        notes.append(
            f"sentence-transformers puts {prompts[name]!r} before each text of this checkpoint, as embed does here. In "
            "a sentence that you trace, you type it yourself."
        )
    if "SpladePooling" in kinds:
        notes.append("This is a SPLADE model: its vector has a weight for each word of the vocabulary.")
    if "Pooling" not in kinds and ("MultiVectorMask" in kinds or "Dense" in kinds):
        notes.append("This is a late-interaction model (ColBERT): it compares a vector of each token.")
    if len(notes) and kinds.count("Pooling") == 0 and name is None:
        notes[-1] += " Where a page needs one vector of a text, it takes the mean of the tokens."
    found = {"prompts": prompts, "default_prompt": name, "truncate_dim": width}
    return found, tuple(notes)


def read_dense(
    folder: Path, weights: Callable[[Path], WeightFiles], device: torch.device, dtype: torch.dtype, level: str = TEXT
) -> Dense:
    """A Dense module. weights: opens those of a folder; level: what it maps, TEXT or TOKEN.

    Raises LoadError for an unknown activation or an unknown connection.
    """
    fields = read_json(folder / "config.json")
    name = str(fields.get("activation_function", "torch.nn.modules.activation.Tanh")).rsplit(".", 1)[-1]
    if name not in DENSE_ACTIVATION_NAMES:
        raise LoadError(
            f"{folder.name} has an unknown activation_function={name!r}: choose a checkpoint with one of "
            f"{', '.join(DENSE_ACTIVATION_NAMES)}."
        )
    for key in ("module_input_name", "module_output_name"):
        if fields.get(key) not in (None, level):
            raise LoadError(f"{folder.name} has an unknown {key}={fields[key]!r}: choose a checkpoint with {level!r}.")
    try:
        config = DenseConfig(
            d_in=int(fields["in_features"]),
            d_out=int(fields["out_features"]),
            bias=bool(fields.get("bias", True)),
            activation=DENSE_ACTIVATION_NAMES[name],
            residual=bool(fields.get("use_residual", False)),
        )
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise LoadError(
            f"config.json in {folder.name} describes no linear map ({error}): download it again."
        ) from error
    with unfilled():
        dense = Dense(config)
    fill_strictly({"": dense}, weights(folder), device, dtype)
    return dense
