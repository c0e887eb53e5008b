"""Our own checkpoints: `encoder.save` writes them here; `native_read` reads them, exactly in float32.

A folder with config.json (model_type "encoderscope": the fields of EncoderConfig and of the heads), model.safetensors
(our own parameter names) and, where there is text, tokenizer.json. A JointEncoder has the fields of both "towers", and
"text." and "image." (or "sound.") before the names of their weights.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from encoder import disk
from encoder.checkpoints.weights import SINGLE, named_weights
from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder, Preparation
from encoder.encoders.joint import JointEncoder
from encoder.encoders.page import PageEncoder
from encoder.encoders.seq2seq import Decoder
from encoder.encoders.text import TextEncoder
from encoder.encoders.video import VideoEncoder
from encoder.errors import ConfigError, EncoderError, LoadError, quoted
from encoder.inputs.json_file import parse_json, read_json
from encoder.inputs.label_prompt import LabelPrompt
from encoder.inputs.nodes import TagTable
from encoder.model.checks import check_whole
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.model.config import EncoderConfig
from encoder.model.entity_head import EntityHead, EntityHeadConfig
from encoder.model.mlm import MLMHead, MLMHeadConfig
from encoder.model.pooling import LateConfig, SparseConfig, parts_of
from encoder.model.steps import LayerMix, LayerMixConfig, settings_of
from encoder.model.vector_head import VectorHead, VectorHeadConfig

MODEL_TYPE = "encoderscope"
FORMAT = 1
#: A field of config.json in any layout that `save` wrote.
SAVED_BY = "saved_by_encoderscope"
#: What the list of the folder's files calls it.
KIND = "a checkpoint of this program"
#: Files that `save` may have written before it kept a list, besides those of modules.
WRITTEN_EARLIER = (
    "config.json", SINGLE, "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "modules.json",
    "sentence_bert_config.json", "config_sentence_transformers.json", "decoder_tokenizer.json",
    "generation_config.json", "preprocessor_config.json", "processor_config.json",
)  # fmt: skip
#: Heads by their name in `NamedEncoder.heads`, with which the names of their weights begin.
HEADS: dict[str, tuple[type, Callable[[EncoderConfig, Any], nn.Module]]] = {
    "classifier": (ClassifierConfig, lambda config, own: Classifier(config.d_model, own)),
    "vector_head": (VectorHeadConfig, lambda config, own: VectorHead(config.d_model, own)),
    "mlm_head": (MLMHeadConfig, MLMHead),
    "span_head": (ClassifierConfig, lambda config, own: Classifier(config.d_model, own)),
    "entity_head": (EntityHeadConfig, lambda config, own: EntityHead(config.d_model, own)),
    "mix": (LayerMixConfig, lambda config, own: LayerMix(own)),
}
#: Fields of TextEncoder with several steps.
SEVERAL = ("dense", "token_dense")
#: Fields of TextFields that are the tokenizer's.
OF_TOKENIZER = ("fill_to", "label_prompt", "tags")
#: The tokenizer of a decoder whose vocabulary is not that of the input.
DECODER_TOKENIZER = "decoder_tokenizer.json"
TOKENS = "embedding.tokens.weight"
#: The largest number of float16.
FLOAT16_MAX = 65_504.0

DiskType = Literal["float32", "float16", "bfloat16"]
Tower = TextEncoder | ImageEncoder | VideoEncoder | AudioEncoder
Savable = Tower | JointEncoder
DISK_TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class TextFields:
    """What config.json says of a TextEncoder besides its modules: its fields of these names; those of OF_TOKENIZER.

    Raises ConfigError for values that do not fit.
    """

    pooling: str = "mean"
    normalise: bool = False
    max_embed_tokens: int | None = None
    truncate_dim: int | None = None
    prompts: dict[str, str] = field(default_factory=dict)
    default_prompt: str | None = None
    pools_prompt: bool = True
    pools_words: bool = False
    sparse: SparseConfig | None = None
    late: LateConfig | None = None
    fill_to: int | None = None
    label_prompt: LabelPrompt | None = None
    tags: TagTable | None = None
    page_preparation: Preparation | None = None

    def __post_init__(self) -> None:
        parts_of(self.pooling)
        for name in ("max_embed_tokens", "truncate_dim", "fill_to"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)
        if self.default_prompt is not None and self.default_prompt not in self.prompts:
            raise ConfigError(f"default_prompt={quoted(self.default_prompt)} is none of the prompts: correct it.")

    @classmethod
    def of(cls, model: TextEncoder) -> TextFields:
        """Those of a model."""
        owners = {one.name: model.tokenizer if one.name in OF_TOKENIZER else model for one in dataclasses.fields(cls)}
        own: dict[str, Any] = {name: getattr(owner, name) for name, owner in owners.items()}
        return cls(**own | {"prompts": dict(model.prompts)})


def save(
    model: Savable, folder: str | Path, dtype: DiskType, write: Callable[[Savable, Path, torch.dtype], None]
) -> Path:
    """Write `model` as a folder that `encoder.load` reads, and return the folder. dtype: the numbers on disk; write:
    writes its files, in one of the layouts.

    The folder is written elsewhere and then exchanged, so it is never incomplete. Of an earlier checkpoint of `save`
    only what `save` wrote is replaced. Raises SaveError for a folder with other files, and where the disk is full or
    accepts no files; EncoderError for an unknown number type, and for a weight that is too large for float16.
    """
    if not isinstance(model, Savable):
        raise EncoderError(f"{type(model).__name__} cannot be saved: specify an encoder of this program.")
    if dtype not in DISK_TYPES:
        raise EncoderError(f"dtype={quoted(dtype)} is unknown: choose one of {', '.join(DISK_TYPES)}.")
    try:
        with disk.whole_folder(folder, KIND, written_earlier) as beside:
            write(model, beside, DISK_TYPES[dtype])
    except EncoderError:
        raise
    except Exception as error:  # safetensors and tokenizers have errors of their own for the disk
        raise disk.not_written(Path(folder).name[:80], error) from error
    return Path(folder).expanduser().resolve()


def written_earlier(folder: Path) -> set[str]:
    """What `save` wrote in this folder before it kept a list; nothing if it did not write the folder."""
    with contextlib.suppress(LoadError):
        if SAVED_BY in read_json(folder / "config.json") or is_native(folder):
            inside = [one for name in ("config.json", SINGLE) for one in folder.glob(f"[0-9]*_*/{name}")]
            return {*WRITTEN_EARLIER, *(one.relative_to(folder).as_posix() for one in inside)}
    return set()


def write_weights(state: dict[str, Tensor], file: Path, dtype: torch.dtype) -> None:
    """Weights as safetensors. Raises EncoderError for one that is too large for the number type."""
    from safetensors.torch import save_file

    file.parent.mkdir(exist_ok=True)
    save_file({name: _to_disk(name, value, dtype) for name, value in state.items()}, file, {"format": "pt"})


def write_native(model: Savable, folder: Path, dtype: torch.dtype) -> None:
    """Write the files of our own layout."""
    fields = {"model_type": MODEL_TYPE, "format": FORMAT, "name": model.name}
    if isinstance(model, JointEncoder):
        fields |= {"towers": {kind: fields_of(tower) for kind, tower in model.towers.items()}}
        fields |= {name: getattr(model, name) for name in ("scale", "bias", "compares")}
    else:
        fields |= fields_of(model)
    text = next(iter(model.towers.values()))
    write_weights(state_of(model), folder / SINGLE, dtype)
    if text.decoder is not None and text.decoder.tokenizer is not getattr(text, "tokenizer", None):
        text.decoder.tokenizer.backend.save(str(folder / DECODER_TOKENIZER))
    if isinstance(text, TextEncoder):
        text.tokenizer.backend.save(str(folder / "tokenizer.json"))
        special = json.dumps(text.tokenizer.special, indent=2, ensure_ascii=False)
        (folder / "special_tokens_map.json").write_text(special + "\n", encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")


def fields_of(model: Tower) -> dict[str, Any]:
    """All of a model but its weights and its tokenizer, as JSON."""
    if isinstance(model, PageEncoder):
        raise EncoderError(f"{model.name} has no layout of our own: save the whole model with layout='huggingface'.")
    fields: dict[str, Any] = {"encoder": dataclasses.asdict(model.config)}
    fields |= {name: _head_fields(getattr(model, name)) for name in heads_of(type(model))}
    if model.decoder is not None:
        fields["decoder"] = _decoder_fields(model, model.decoder)
    if isinstance(model, TextEncoder):
        if model.sides:
            names = " and ".join(f"model.sides[{name!r}]" for name in model.sides)
            raise EncoderError(f"{model.name} has one encoder for each side: save them one by one, {names}.")
        fields |= {name: [dict(settings_of(step)) for step in getattr(model, name)] for name in SEVERAL}
        return fields | dataclasses.asdict(TextFields.of(model))
    fields["preparation"] = dataclasses.asdict(model.preparation)
    if isinstance(model, AudioEncoder):
        fields["preparation"]["kind"] = type(model.preparation).__name__
    return fields


def _decoder_fields(model: Tower, decoder: Decoder) -> dict[str, Any]:
    alone = decoder.encoder is model.encoder
    return {
        "encoder": None if alone else dataclasses.asdict(decoder.config),
        "lm_head": dataclasses.asdict(decoder.lm_head.config),
        "settings": dataclasses.asdict(decoder.settings),
        "shares_tokens": not alone and shares_tokens(model),
    }


def shares_tokens(model: Tower) -> bool:
    """Whether the decoder's table of tokens is the encoder's."""
    one, other = (getattr(stack.embedding.tokens, "weight", None) for stack in (model.encoder, model.decoder.encoder))
    return one is not None and other is not None and one.data_ptr() == other.data_ptr()


def heads_of(kind: type[Tower]) -> list[str]:
    """The names of HEADS that an encoder of this kind may have."""
    return [own.name for own in dataclasses.fields(kind) if own.name in HEADS]


def _head_fields(head: Any) -> dict[str, Any] | None:
    return None if head is None else dataclasses.asdict(head.config)


def modules_of(model: Savable) -> dict[str, nn.Module]:
    """The modules of a model, by what stands before the names of their weights."""
    found: dict[str, nn.Module] = {}
    for kind, tower in model.towers.items():
        start = f"{kind}." if isinstance(model, JointEncoder) else ""
        found |= {start: tower.encoder} | {f"{start}{name}.": head for name, head in tower.heads.items()}
    return found


def state_of(model: Savable) -> dict[str, Tensor]:
    """The weights under our own names; a table of tokens that encoder and decoder share once."""
    found = named_weights(modules_of(model))
    if not isinstance(model, JointEncoder) and model.decoder is not None and shares_tokens(model):
        found.pop(f"decoder.{TOKENS}", None)
    return found


def _to_disk(name: str, value: Tensor, dtype: torch.dtype) -> Tensor:
    value = value.detach().cpu()
    largest = float(value.abs().max()) if dtype is torch.float16 else 0.0
    if largest > FLOAT16_MAX:
        raise EncoderError(
            f"The weight {name} reaches {largest:g}, but float16 holds up to {FLOAT16_MAX:g}: save as float32 or "
            "bfloat16."
        )
    return value.to(dtype).contiguous()


def is_native(folder: Path) -> bool:
    """Whether `save` wrote this folder."""
    try:
        fields = parse_json(folder / "config.json")
    except LoadError:
        return False
    return isinstance(fields, dict) and fields.get("model_type") == MODEL_TYPE
