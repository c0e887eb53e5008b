"""sentence-transformers' file of the Transformer module: what it says of config.json, the tokenizer and the pooling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import read_json

#: The names of the file, of which the first that says something counts.
FILES = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
#: Names of version 5 and earlier -> those of version 6; where a file has both, the older one counts.
OLDER = {"model_args": "model_kwargs", "tokenizer_args": "processor_kwargs", "config_args": "config_kwargs"}
#: Where a file is on the Hub: nothing that a folder can follow.
PLACES = ("cache_dir", "code_revision", "force_download", "local_files_only", "revision", "token", "trust_remote_code",
          "use_auth_token", "use_fast", "proxies")  # fmt: skip
#: Arguments of the tokenizer's call that do not change the tokens of a text without its padding.
WITHOUT_EFFECT = ("padding", "pad_to_multiple_of", "return_tensors", "return_token_type_ids", "verbose",
                  "return_special_tokens_mask", "return_length", "return_offsets_mapping")  # fmt: skip
#: Arguments of AutoModel.from_pretrained that say how it computes, not what.
COMPUTES = ("attn_implementation", "device_map", "low_cpu_mem_usage", "use_safetensors", "dtype", "torch_dtype",
            "output_loading_info")  # fmt: skip
#: tokenizer_config.json writes "no limit" as model_max_length 10^30.
NO_LIMIT = 10**9

#: What is pooled, or is the vector: the output of a layer, BERT's pooler, the logits of the masked-word head, or the
#: vectors of tokens that a model of pages makes of them (ColModernVBERT).
Part = Literal["output", "pooler", "words", "late"]


@dataclass(frozen=True)
class TransformerSettings:
    """What the file changes.

    fields: of config.json; tokenizer: of tokenizer_config.json; limit: where texts are cut, None: where the tokenizer
    says; cuts: whether they are cut at all; special: whether they get special tokens; part: what is pooled; layer: the
    number of layers before it, None: all.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    cuts: bool = True
    lower_case: bool = False
    special: bool = True
    part: Part = "output"
    layer: int | None = None
    notes: tuple[str, ...] = ()


def read_settings(folder: Path, outer: Path, *, pools: bool) -> TransformerSettings:
    """Read the file in the Transformer's folder, or else next to modules.json. pools: whether a Pooling follows.

    Raises LoadError, which names the key, for what would make another model of it.
    """
    paths = [place / name for place in (folder, outer) for name in FILES]
    path = next((path for path in paths if path.is_file() and read_json(path)), None)
    if path is None:
        return TransformerSettings()
    found = read_json(path)
    found |= {newer: found[older] for older, newer in OLDER.items() if older in found}
    reader = _Reader(path.name, found)
    model = reader.without_places("model_kwargs", ("subfolder",))
    for key in model:
        if key not in COMPUTES:
            raise reader.wrong(f"model_kwargs.{key}", model[key])
    part, layer = reader.part(pools)
    tokenizer = reader.without_places("processor_kwargs", ("subfolder", "backend"))
    call = reader.call_of_the_tokenizer()
    limit = tokenizer.get("model_max_length", found.get("max_seq_length"))
    number_type = model.get("dtype", model.get("torch_dtype"))
    notes = []
    key = next((name for name in ("model_args", "model_kwargs") if name in read_json(path)), "")
    if number_type not in (None, "auto", "float32", "torch.float32"):
        notes.append(f"{path.name} has {number_type} in {key}: this program computes in its own number type.")
    if found.get("tokenizer_name_or_path") is not None:
        raise reader.wrong("tokenizer_name_or_path", found["tokenizer_name_or_path"])
    return TransformerSettings(
        fields=reader.without_places("config_kwargs", ("subfolder",)),
        tokenizer=tokenizer,
        limit=call.get("max_length", limit),
        cuts=call.get("truncation", True) not in (False, "do_not_truncate"),
        lower_case=bool(found.get("do_lower_case", False)),
        special=bool(call.get("add_special_tokens", True)),
        part=part,
        layer=layer,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Reader:
    """The fields of one file."""

    file: str
    found: Mapping[str, Any]

    def wrong(self, key: str, value: Any, why: str = "remove it, or choose a checkpoint without it") -> LoadError:
        return LoadError(f"This checkpoint is not supported because of {self.file}'s {key}={quoted(value)}: {why}.")

    def of(self, key: str, value: Any) -> dict[str, Any]:
        """An object, which may be null."""
        if not isinstance(value, dict | None):
            raise self.wrong(key, value, "specify an object")
        return dict(value or {})

    def without_places(self, key: str, refused: tuple[str, ...]) -> dict[str, Any]:
        """The arguments of a from_pretrained, without those that say where its files are."""
        fields = self.of(key, self.found.get(key))
        for name in refused:
            if fields.get(name):
                raise self.wrong(f"{key}.{name}", fields[name])
        return {name: value for name, value in fields.items() if name not in (*PLACES, *refused)}

    def call_of_the_tokenizer(self) -> dict[str, Any]:
        """The arguments with which the tokenizer is called for a text."""
        fields = self.of("processing_kwargs", self.found.get("processing_kwargs"))
        text, common = (self.of(f"processing_kwargs.{one}", fields.get(one)) for one in ("text", "common"))
        call = {**text, **common}
        known: dict[str, Any] = {"max_length": int, "truncation": (bool, str), "add_special_tokens": bool}
        for name, value in call.items():
            if name not in WITHOUT_EFFECT and not (name in known and isinstance(value, known[name])):
                raise self.wrong(f"processing_kwargs.{name}", value)
        if not 0 < call.get("max_length", 1) < NO_LIMIT:
            raise self.wrong("processing_kwargs.max_length", call["max_length"], "specify a number of tokens")
        return call

    def part(self, pools: bool) -> tuple[Part, int | None]:
        """What is pooled, and the number of layers before it."""
        task = self.found.get("transformer_task") or "feature-extraction"
        words = task == "fill-mask"
        if task not in ("feature-extraction", "fill-mask", "sequence-classification", "retrieval"):
            raise self.wrong("transformer_task", task)
        usual: Part = "late" if task == "retrieval" else "words" if words else "output"
        if self.found.get("modality_config") is None:
            return usual, None
        modality = self.of("modality_config", self.found["modality_config"])
        if "message" in modality:
            raise self.wrong("modality_config", modality, "its texts go through a chat template; choose another model")
        given = self.of("modality_config.text", modality.get("text"))
        made_of, method, output = (
            given.get("method_output_name"),
            given.get("method"),
            self.found.get("module_output_name"),
        )
        if method != "forward" or output not in ("token_embeddings", "sentence_embedding", "scores"):
            raise self.wrong("modality_config", modality)
        if usual == "late":
            if made_of not in ("embeddings", ["embeddings"]) or output != "token_embeddings":
                raise self.wrong("modality_config", modality)
            return usual, None
        if output == "sentence_embedding" and (pools or made_of not in ("pooler_output", ["pooler_output"])):
            raise self.wrong("module_output_name", output)
        if made_of == "last_hidden_state" or made_of == ["last_hidden_state"]:
            return "output", None
        if made_of in ("logits", ["logits"]):
            return ("words" if words else "output"), None
        if made_of in ("pooler_output", ["pooler_output"]) and output == "sentence_embedding":
            return "pooler", None
        if (
            isinstance(made_of, list)
            and len(made_of) == 2
            and made_of[0] == "hidden_states"
            and type(made_of[1]) is int
        ):
            return "output", made_of[1]
        raise self.wrong("modality_config.text.method_output_name", made_of)
