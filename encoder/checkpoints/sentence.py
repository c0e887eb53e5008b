"""A sentence-transformers folder next to its encoder: its pooling and steps, prompts, sides, SPLADE, ColBERT."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from encoder.checkpoints.colbert import (
    PROJECTION,
    SETTINGS,
    LateFields,
    is_colbert,
    read_metadata,
    read_pylate,
    with_markers,
)
from encoder.checkpoints.modules import Module, read_modules
from encoder.checkpoints.sentence_settings import NO_LIMIT, TransformerSettings, read_settings
from encoder.checkpoints.sentence_steps import STEP_MODULES, read_unit
from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import read_json
from encoder.model.pooling import LateConfig, Pooling, SparseConfig, TokenMerge

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
#: Normalize and Dense work on one vector of a text, or on each token's.
TEXT, TOKEN = "sentence_embedding", "token_embeddings"


@dataclass(frozen=True)
class EmbeddingSteps:
    """How a text becomes one vector, or one for each token."""

    #: The folder of the first module, which has the weights of the tokens.
    folder: Path
    #: The class of that module.
    first: str = "Transformer"
    #: WeightedLayerPooling's folder.
    mix: Path | None = None
    #: What follows the pooling, and what is done with each token's vector.
    dense: tuple[Module, ...] = ()
    token_dense: tuple[Module, ...] = ()
    #: The fields of TextEncoder that need no weights.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: How many numbers of a sparse code count, where config_sentence_transformers.json says so.
    most: int | None = None
    #: The activation of a cross-encoder's score, where config_sentence_transformers.json names it.
    score: str | None = None
    #: What the Transformer's file says of encoder and tokenizer.
    transformer: TransformerSettings = field(default_factory=TransformerSettings)
    #: Tokens of the prompts that the tokenizer does not split.
    markers: tuple[str, ...] = ()
    #: Weights in the first module's folder that belong to another step.
    apart: tuple[str, ...] = ()
    #: For people.
    notes: tuple[str, ...] = ()
    #: The steps of texts with a role.
    sides: Mapping[str, "EmbeddingSteps"] = field(default_factory=dict)


def read_steps(folder: Path) -> EmbeddingSteps:
    """Read modules.json and the folders that it names. Without it: ColBERT's own folder, or the mean of the tokens.

    Raises LoadError for an unknown module, and for an order that is none of modules.ORDERS.
    """
    sides = read_modules(folder)
    if sides is None and not is_colbert(folder):
        return EmbeddingSteps(folder)
    shared = read_prompts(folder)
    if sides is None:
        own = (Module("Transformer", folder), Module("Projection", folder))
        return replace(_of_modules(folder, own, shared, read_metadata(folder)), apart=(PROJECTION,))
    late = read_pylate(folder)
    found = {side: _of_modules(folder, modules, shared, late) for side, modules in sides.items()}
    plain = found.pop("")
    if not found:
        return plain
    names = " and ".join(map(quoted, found))
    note = (
        f"It has other weights for texts of each side ({names}): embed(texts, side=...) chooses. Elsewhere it is the "
        f"encoder of {quoted(next((side for side, one in found.items() if one == plain), 'texts without a side'))}."
    )
    return replace(plain, sides=found, notes=(*plain.notes, note))


def _of_modules(
    folder: Path, modules: tuple[Module, ...], shared: Mapping[str, Any], late: LateFields
) -> EmbeddingSteps:
    """The steps of one side. shared: what all have; late: what other files say of late interaction."""
    kinds = [one.kind for one in modules]
    of = {one.kind: one.place for one in modules}
    first = modules[0]
    transformer = TransformerSettings()
    if first.kind == "Transformer" and kinds[-1] != "Projection":  # ColBERT's own folder has no such file
        transformer = read_settings(first.place, folder, pools="Pooling" in kinds)
    limit = None if first.kind == "StaticEmbedding" else limit_of(first.place, transformer)
    settings = {"max_embed_tokens": limit} | dict(shared)
    most, score = settings.pop("most"), settings.pop("score")
    normalise = kinds[-1] == "Normalize"
    steps = [one for one in modules[: -1 if normalise else None] if one.kind in STEP_MODULES]
    cut = sum(kind in STEP_MODULES for kind in kinds[: kinds.index("Pooling")]) if "Pooling" in kinds else 0
    before, after = steps[:cut], steps[cut:]
    if "SpladePooling" in kinds:
        settings["sparse"] = read_sparse(of["SpladePooling"], most)
    elif first.kind == "SparseStaticEmbedding":
        settings["sparse"] = SparseConfig("present", most=most)
    elif "MultiVectorMask" in kinds or kinds[-1] == "Projection" or _is_late(kinds):
        unit = modules[-1:] if normalise else [one for one in steps[-1:] if one.kind == "Normalize"]
        for one in unit:
            read_unit(one, TOKEN)
        before, after = [one for one in steps if one not in unit], []
        settings["late"] = read_late(first.place, of, late, normalise=bool(unit))
        settings["prompts"] = with_markers(settings["prompts"], late.markers)
    elif first.kind == "StaticEmbedding":
        settings |= {"pooling": "mean", "normalise": normalise}
    else:
        pooling, pools_prompt = read_pooling(of["Pooling"]) if "Pooling" in kinds else ("mean", True)
        settings |= {"pooling": pooling, "pools_prompt": pools_prompt, "normalise": normalise}
    if normalise and "late" not in settings:
        read_unit(modules[-1], TEXT)
    if "sparse" in settings or "SparseAutoEncoder" in kinds:
        settings["truncate_dim"] = None  # there, too, a sparse vector is never cut
    notes = notes_on(settings, first.kind, code="SparseAutoEncoder" in kinds)
    if "Pooling" in kinds and late.kind != "SentenceTransformer":
        notes = (
            *notes,
            f"config_sentence_transformers.json has model_type={quoted(late.kind)} next to modules that give one "
            "vector. They are followed here. SentenceTransformer(...) replaces them by the mean of the tokens: remove "
            "model_type.",
        )
    return EmbeddingSteps(
        first.place,
        first.kind,
        of.get("WeightedLayerPooling"),
        tuple(after),
        tuple(before),
        settings,
        most,
        score,
        transformer,
        tuple(late.markers.values()) if "late" in settings else (),
        notes=(*notes, *transformer.notes),
    )


def _is_late(kinds: list[str]) -> bool:
    """Whether these modules make a vector of each token, without saying which count."""
    return kinds[0] == "Transformer" and "Dense" in kinds and "Pooling" not in kinds


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
            f"This checkpoint has an unknown pooling_mode={quoted(unknown[0])}: choose one of {', '.join(MODES)}."
        )
    if not 1 <= len(modes) <= len(MODES):
        raise LoadError(f"This checkpoint pools in {len(modes)} ways: choose one with 1 to {len(MODES)}.")
    return "+".join(MODES[one] for one in modes), bool(fields.get("include_prompt", True))


def read_sparse(folder: Path, most: int | None) -> SparseConfig:
    """SPLADE's pooling. most: of the weights, None: all count. Raises LoadError for an unknown one."""
    fields = read_json(folder / "config.json")
    activation = fields.get("activation_function", "relu")
    if activation not in ("relu", "log1p_relu"):
        raise LoadError(f"{folder.name} has an unknown activation_function={quoted(activation)}: choose relu.")
    pooling = fields.get("pooling_strategy", "max")
    if pooling not in ("max", "sum"):
        raise LoadError(f"{folder.name} has an unknown pooling_strategy={quoted(pooling)}: choose max, sum.")
    return SparseConfig(pooling, twice=activation != "relu", most=most)


def read_late(folder: Path, of: Mapping[str, Path], late: LateFields, *, normalise: bool) -> LateConfig:
    """How queries are filled, and which tokens do not count. of: folders by the module's class; late: other files."""
    path = folder / "sentence_bert_config.json"
    own = {**late.lengths, **(read_json(path) if path.is_file() and not late.alone else {})}
    mask, merging = of.get("MultiVectorMask"), of.get("HierarchicalTokenPooling")
    fields = {} if mask is None else read_json(mask / "config.json")
    words, (in_queries, in_documents) = fields.get("skiplist_words") or [], read_roles(folder, fields, "skiplist_tasks")
    filled, kept = own.get("query_expansion") or {}, fields.get("keep_only_token_ids") or []
    lengths = [own.get("query_length"), own.get("document_length"), filled.get("length", 0)]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise LoadError(f"{folder.name} has skiplist_words={quoted(words)}: specify a list of tokens.")
    if not isinstance(kept, list) or not all(type(number) is int for number in kept):
        raise LoadError(f"{folder.name} has keep_only_token_ids={quoted(kept)}: specify a list of ids.")
    if not all(length is None or (type(length) is int and 0 <= length < NO_LIMIT) for length in lengths):
        raise LoadError(f"{folder.name} has the lengths {quoted(lengths)}: specify numbers of tokens.")
    if late.skipped and mask is not None and (in_queries or not in_documents):
        raise LoadError(
            f"{mask.name} has skiplist_tasks={quoted(fields['skiplist_tasks'])}, and {SETTINGS} has tokens of its own "
            "that do not count: remove skiplist_words from one of the two."
        )
    exact, attends = filled.get("strategy", "fixed") == "fixed", bool(filled.get("attend", False))
    if mask is None and not late.completed and not attends:  # nothing counts the filler; the length still cuts
        lengths = [(lengths[2] or lengths[0]) if exact else lengths[0], lengths[1], 0]
    return LateConfig(
        normalise or late.completed,
        (*words, *late.skipped),
        in_queries,
        in_documents,
        n_query=lengths[2] or 0,
        filler=filled.get("token"),
        exact=exact,
        attends=attends,
        query_length=lengths[0],
        document_length=lengths[1],
        kept_ids=tuple(kept),
        merge=None if merging is None else read_merge(merging, unit=late.completed),
    )


def read_roles(folder: Path, fields: Mapping[str, Any], key: str) -> tuple[bool, bool]:
    """Whether a step is done to queries, and to documents. Raises LoadError for a list of something else than names."""
    given = fields.get(key)
    tasks = ["document"] if given is None else [given] if isinstance(given, str) else given
    if not isinstance(tasks, list) or not all(isinstance(task, str) for task in tasks):
        raise LoadError(f"{folder.name} has {key}={quoted(given)}: specify a list of query and document.")
    return "query" in tasks, "document" in tasks


def read_merge(folder: Path, *, unit: bool) -> TokenMerge:
    """HierarchicalTokenPooling's settings. unit: whether a norm 1 follows it."""
    fields = read_json(folder / "config.json")
    queries, documents = read_roles(folder, fields, "tasks")
    return TokenMerge(
        fields.get("pool_factor", 1.0),
        fields.get("num_protected_tokens", 1),
        # sentence-transformers, too, reads a file without it as False
        unit or bool(fields.get("normalize_embeddings")),
        queries=queries,
        documents=documents,
    )


def limit_of(folder: Path, settings: TransformerSettings) -> int | None:
    """Where `embed` cuts a text, as the settings or else tokenizer_config.json say; None: at the model's own length."""
    limit, path = settings.limit, folder / "tokenizer_config.json"
    if limit is None and path.is_file():
        fields = read_json(path)
        limit = fields.get("model_max_length", fields.get("max_len"))
    usable = isinstance(limit, int) and 0 < limit < NO_LIMIT
    return limit if usable and settings.cuts else None


def read_prompts(folder: Path) -> dict[str, Any]:
    """Prompts, truncation, how many weights of a sparse vector count ("most"), and the activation of a cross-encoder's
    score ("score"). Raises LoadError for wrong ones."""
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
    most = fields.get("max_active_dims")
    for key, number in (("truncate_dim", width), ("max_active_dims", most)):
        if number is not None and (type(number) is not int or number < 1):
            raise LoadError(f"{path.name} has {key}={quoted(number)}: specify a whole number from 1 on.")
    score = fields.get("activation_fn")
    if not isinstance(score, str | None):
        raise LoadError(f"{path.name} has activation_fn={quoted(score)}: specify the name of a class of torch.")
    return {"prompts": prompts, "default_prompt": name, "truncate_dim": width, "most": most, "score": score}


def notes_on(settings: Mapping[str, Any], first: str, *, code: bool) -> tuple[str, ...]:
    """Sentences about what `embed` does. code: whether its vector is a sparse code."""
    notes = []
    prompt = settings["prompts"].get(settings["default_prompt"])
    if prompt:
        notes.append(
            f"sentence-transformers puts {prompt!r} before each text of this checkpoint, as embed does here. In "
            "a sentence that you trace, you type it yourself."
        )
    if first == "SparseStaticEmbedding":
        notes.append(
            "This is the query side of an inference-free SPLADE: each word of a text has a weight of its own. It has "
            "no layers."
        )
    elif "sparse" in settings:
        notes.append("This is a SPLADE model: its vector has a weight for each word of the vocabulary.")
    if "late" in settings:
        notes.append("This is a late-interaction model (ColBERT): it compares a vector of each token.")
        if not prompt:
            notes[-1] += " Where a page needs one vector of a text, it takes the mean of the tokens."
    if first == "StaticEmbedding":
        notes.append("This model has no layers: a text's vector is the mean of its tokens' rows in one table.")
    if code:
        notes.append("Its vector is a sparse code: most of its numbers are 0.")
    return tuple(notes)
