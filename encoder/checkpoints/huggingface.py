"""`encoder.save`: a model in the layout of its family in transformers where it has one, else in our own (`native`).

A checkpoint keeps the small files of its folder (`NamedEncoder.origin`), and its family's table says where each weight
goes. A model without them, such as a twin, is written as the family whose forward pass is the same. What was written is
opened again and compared before it counts. Of texts, modules.json and its folders make it a model of
sentence-transformers, too.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from encoder.checkpoints import native
from encoder.checkpoints.checkpoint import expert_count, name_on_disk
from encoder.checkpoints.class_heads import KINDS, unfilled_head
from encoder.checkpoints.families import PAGES, Family, Fields, HeadNames, Part, family_of
from encoder.checkpoints.families.parts import written
from encoder.checkpoints.families.reader import ACTIVATIONS
from encoder.checkpoints.folder import load_folder
from encoder.checkpoints.native import SAVED_BY, DiskType, Savable, Tower
from encoder.checkpoints.sentence import MODES
from encoder.checkpoints.sentence_steps import DENSE_ACTIVATION_NAMES
from encoder.checkpoints.weights import SINGLE
from encoder.encoders.joint import JointEncoder
from encoder.encoders.page import PageEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.model.classifier import Classifier
from encoder.model.config import EncoderConfig
from encoder.model.mlm import MLMHead
from encoder.model.pooling import DenseConfig, parts_of
from encoder.model.steps import kind_of

Layout = Literal["auto", "huggingface", "encoderscope"]
State = dict[str, Tensor]
#: A name on disk, the part of ours there, and our numbers.
Place = tuple[str, Part, Tensor]
#: Files of the checkpoint that are made again from the model, or left out.
OURS = ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "special_tokens_map.json")
HEADS = {"mlm_head": "ForMaskedLM", "span_head": "ForQuestionAnswering", "sequence": "ForSequenceClassification",
         "token": "ForTokenClassification"}  # fmt: skip

#: The fields of an EncoderConfig that a saved model without files of a checkpoint may set: those of a BERT of any size.
FREE = (
    "vocab_size", "d_model", "n_layers", "n_heads", "d_ffn", "max_positions", "activation", "pad_id", "dropout",
    "attention_dropout", "norm_placement", "final_norm", "n_segments", "norm_eps",
)  # fmt: skip


class _NoLayoutError(Exception):
    """Why a model cannot be written in the layout of a family."""


def save(model: Savable, folder: str | Path, *, dtype: DiskType = "float32", layout: Layout = "auto") -> Path:
    """Write `model` as a folder that `encoder.load` reads, and return the folder. dtype: the numbers on disk.

    layout: "huggingface", which `transformers.AutoModel` and sentence-transformers open; "encoderscope", which holds
    every model; "auto": the first where the model has a family there, else the second, and a line in the log of the
    logger "encoder" says why. Errors are those of `native.save`; EncoderError, too, where "huggingface" cannot be.
    """
    if layout not in ("auto", "huggingface", "encoderscope"):
        raise EncoderError(f"layout={quoted(layout)} is unknown: choose auto, huggingface or encoderscope.")

    def write(model: Savable, beside: Path, kind: torch.dtype) -> None:
        try:
            if layout == "encoderscope":
                native.write_native(model, beside, kind)
            else:
                _write(model, beside, kind)
        except _NoLayoutError as why:
            said = f"{model.name} has no layout of Hugging Face, since {why}"
            if layout == "huggingface":
                raise EncoderError(f"{said}: choose layout='encoderscope'.") from None
            logging.getLogger("encoder").warning("%s: it is saved for encoder.load only.", said)
            for file in sorted(beside.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()
            native.write_native(model, beside, kind)

    return native.save(model, folder, dtype, write)


def _write(model: Savable, folder: Path, dtype: torch.dtype) -> None:
    if isinstance(model, JointEncoder):
        if not isinstance(model.other, PageEncoder) or "config.json" not in model.origin:
            raise _NoLayoutError("it is a pair of encoders")
        _write_pages(model, model.other, folder, dtype)
        return
    files, state = dict(model.origin), dict(model.encoder.state_dict())
    fields = Fields(json.loads(files["config.json"])) if "config.json" in files else _same_forward_pass(model, state)
    unread = fields.get("is_encoder_decoder") and model.decoder is None
    if unread and "EncoderModel" not in str(fields.get("architectures")):
        said = "%s leaves without its decoder, which was never loaded: transformers would draw a new one."
        logging.getLogger("encoder").warning(said, model.name)
    family = family_of(fields)
    classifier = model.classifier
    kind = None if classifier is None else classifier.config.kind
    head = next((end for name, end in HEADS.items() if name in model.heads or name == kind), None)
    if head is not None:
        base, _, end = str((fields.get("architectures") or ["Encoder"])[0]).partition("For")
        if kind is None or KINDS.get(f"For{end}") != kind:  # else it names the head: of images ForImageClassification
            fields["architectures"] = [base.removesuffix("Model") + head]
    if classifier is not None:
        labels = classifier.config.labels
        fields |= {"id2label": dict(enumerate(labels)), "label2id": {one: place for place, one in enumerate(labels)}}
    fields |= {**family.saved, SAVED_BY: True, "dtype": str(dtype).removeprefix("torch.")}
    files = {name: text for name, text in files.items() if name not in OURS and "/" not in name}
    files["config.json"] = json.dumps(fields, indent=2)
    weights = {"": _weights(model, state, family, fields)}
    if isinstance(model, TextEncoder):
        if model.sparse is not None or model.late is not None:
            raise _NoLayoutError("its vectors are those of SPLADE or ColBERT")
        if model.token_dense or model.mix is not None or any(kind_of(step) != "dense" for step in model.dense):
            raise _NoLayoutError("its vectors have steps that are written in our own layout only")
        _tokenizer(model, files, synthetic="config.json" not in model.origin, folder=folder)
        weights |= _steps(model, files)
    elif model.decoder is not None:
        model.decoder.tokenizer.backend.save(str(folder / "tokenizer.json"))
    _write_files(folder, files)
    for place, part in weights.items():
        native.write_weights(part, folder / place / SINGLE, dtype)
    _check(model, folder, dtype)


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _write_pages(model: JointEncoder, page: PageEncoder, folder: Path, dtype: torch.dtype) -> None:
    """Write an encoder of texts and pages as ModernVBERT or ColModernVBERT.

    The pooling of SigLIP's encoder of tiles, which nothing uses, was never loaded: config.json says so.
    """
    fields, text = Fields(json.loads(model.origin["config.json"])), model.text
    family = PAGES[fields["model_type"]]
    outer = "vlm." if family.inside else "model." if text.mlm_head is not None else ""
    whole = fields[family.inside] if family.inside else fields
    whole["vision_config"]["vision_use_head"] = False
    fields |= {SAVED_BY: True, "dtype": str(dtype).removeprefix("torch.")}
    _tokenizer(text, files := dict(model.origin), synthetic=False, folder=folder)
    _write_files(folder, files | {"config.json": json.dumps(fields, indent=2)})
    places = [_whole(outer + family.connector, page.connector.weight)]
    if text.mlm_head is not None and family.text.head is not None:
        places += _of_masked_words(text.mlm_head, family.text.head)
    for dense in page.token_dense:
        ends = dense.state_dict().items()
        places += [_whole(f"{family.projection}.{name.rpartition('.')[2]}", one) for name, one in ends]
    state = written(places, 1)
    for tower, names, prefix in ((text, family.text, "text_model."), (page.vision, family.image, "vision_model.")):
        of_tower = _of_encoder(tower, dict(tower.encoder.state_dict()), names, outer + prefix)
        state |= written(of_tower, tower.config.n_heads)
    native.write_weights(state, folder / SINGLE, dtype)
    _check_pages(model, folder, dtype)


def _check_pages(model: JointEncoder, folder: Path, dtype: torch.dtype) -> None:
    """Open what was written, and compare it. Raises _NoLayoutError where anything differs."""
    again: Any = load_folder(folder, torch.device("cpu"), torch.float32)
    for name, one in (("texts", model.text), ("pages", model.image)):
        if one.config != again.towers[one.takes].config:
            raise _NoLayoutError(f"its encoder of {name} was changed")
    if native.TextFields.of(model.text) != native.TextFields.of(again.text):
        raise _NoLayoutError("what it does with a text was changed")
    found = native.state_of(again)
    for name, value in native.state_of(model).items():
        if not torch.allclose(found[name], value.detach().cpu().to(dtype).float(), rtol=1e-6, atol=1e-7):
            raise _NoLayoutError(f"its family has another {name}")


def _weights(model: Tower, state: State, family: Family, fields: Fields) -> State:
    """The weights under their names in this family. state: those of the encoder."""
    if getattr(model, "vector_head", None) is not None:
        raise _NoLayoutError("it has the end of an encoder of pairs")
    prefix = family.prefixes[0] if model.heads.keys() - {"dense.0"} else family.prefixes[-1]
    places = _of_encoder(model, state, family, prefix)
    if model.decoder is not None:
        places += _of_decoder(model, family, prefix)
    if isinstance(model, TextEncoder) and model.mlm_head is not None and family.head is not None:
        places += _of_masked_words(model.mlm_head, family.head)
    if model.classifier is not None:
        places += _of_classifier(model, model.classifier, family, fields, prefix)
    if isinstance(model, TextEncoder) and model.span_head is not None:
        places += [_whole(f"qa_outputs.{kind}", value) for kind, value in model.span_head.out.state_dict().items()]
    if any(part.plus for _, part, _ in places):
        raise _NoLayoutError("some of its tables were added together when it was loaded")
    return written(places, model.config.n_heads)


def _whole(name: str, value: Tensor) -> Place:
    """A weight that is the same on disk."""
    return name, Part(name), value


def _of_encoder(model: Tower, state: State, family: Family, prefix: str) -> list[Place]:
    places: list[Place] = []
    made = dict(model.encoder.named_buffers())  # gains of 1
    for ours, value in state.items():
        if ours not in made:
            part = name_on_disk(ours, family, model.config)
            if not part.name:  # a bias that the family has not; `_check` finds one that is not zero
                continue
            on_disk = replace(part, scale=prefix + part.scale if part.scale else "")
            places += [(prefix + name, on_disk, one) for name, one in part.split(value, expert_count(model.config))]
    return places


def _of_masked_words(head: MLMHead, names: HeadNames) -> list[Place]:
    modules = {"dense": names.dense, "norm": names.norm}
    whole = {"bias": names.bias[-1], "table": names.table}
    places = []
    for ours, value in head.state_dict().items():
        module, _, kind = ours.partition(".")
        places.append(_whole(f"{modules[module]}.{kind}" if kind else whole[ours], value))
    return places


def _of_classifier(model: Tower, head: Classifier, family: Family, fields: Fields, prefix: str) -> list[Place]:
    kind = head.config.kind
    if kind not in family.classifiers:
        raise _NoLayoutError("its family has no such classification head")
    named = unfilled_head(family.classifiers[kind], kind, fields, model.config)[1]
    state = head.state_dict().items()
    return [_whole(named[ours].replace("{encoder}", prefix), value) for ours, value in state]


def _of_decoder(model: Tower, family: Family, prefix: str) -> list[Place]:
    """The weights of the decoder and its head, one for each name on disk."""
    decoder, found = model.decoder, []
    if family.lm is None:
        raise _NoLayoutError("its family has no decoder")
    if decoder.encoder is not model.encoder and family.decoder is not None:
        names = {name_on_disk(ours, family, model.config).name for ours in model.encoder.state_dict()}
        for ours, value in decoder.encoder.state_dict().items():
            part = name_on_disk(ours, family.decoder, decoder.encoder.config)
            if part.name not in names:  # a table of tokens for both is there already
                found.append((prefix + part.name, part, value))
    for ours, value in decoder.lm_head.state_dict().items():
        name = {"table": family.lm.table, "bias": family.lm.bias}[ours]
        found.append((name, Part(name, unwrap=ours == "bias" and family.decoder is not None), value))
    return found


def _same_forward_pass(model: Tower, state: State) -> Fields:
    """config.json of the family that computes the same; `state` gets what it has besides. For encoders of text."""
    config = model.config
    usual = (
        config.takes_text
        and config.d_head * config.n_heads == config.d_model
        and config == EncoderConfig(**{name: getattr(config, name) for name in FREE})
    )
    post = config.norm_placement == "post" and not config.final_norm
    pre = config.norm_placement == "pre" and config.final_norm
    activation = next((theirs for theirs, ours in ACTIVATIONS.items() if ours == config.activation), None)
    if not isinstance(model, TextEncoder) or not usual or not (pre or post) or config.pooler or activation is None:
        raise _NoLayoutError("no family has its architecture")
    sizes = {
        "vocab_size": config.vocab_size,
        "pad_token_id": config.pad_id,
        "max_position_embeddings": config.max_positions,
    }
    if post and not config.n_segments and config.norm_eps == 1e-12:
        return Fields(
            **sizes,
            model_type="distilbert",
            architectures=["DistilBertModel"],
            dim=config.d_model,
            n_layers=config.n_layers,
            n_heads=config.n_heads,
            hidden_dim=config.d_ffn,
            activation=activation,
        )
    fields = Fields(
        **sizes,
        model_type="bert",
        architectures=["BertModel"],
        hidden_size=config.d_model,
        hidden_act=activation,
        num_hidden_layers=config.n_layers,
        num_attention_heads=config.n_heads,
        intermediate_size=config.d_ffn,
        type_vocab_size=max(1, config.n_segments),
        layer_norm_eps=config.norm_eps,
    )
    if not config.n_segments:  # a table of one row of zeros adds nothing
        state["embedding.segments.weight"] = torch.zeros(1, config.d_model)
    if pre:  # its positions count from the row after that of padding
        rows = torch.zeros(config.pad_id + 1, config.d_model)
        state["embedding.positions.table.weight"] = torch.cat([rows, state["embedding.positions.table.weight"].cpu()])
        fields |= {"model_type": "roberta-prelayernorm", "architectures": ["RobertaPreLayerNormModel"]}
        fields["max_position_embeddings"] += config.pad_id + 1
    return fields


def _tokenizer(model: TextEncoder, files: dict[str, str], *, synthetic: bool, folder: Path) -> None:
    tokenizer = model.tokenizer
    tokenizer.backend.save(str(folder / "tokenizer.json"))
    special = {name: token for name, token in tokenizer.special.items() if isinstance(token, str)}
    files["special_tokens_map.json"] = json.dumps(special, indent=2, ensure_ascii=False)
    if synthetic:
        names = {"pad_token": tokenizer.pad_token, "mask_token": tokenizer.mask_token, "unk_token": tokenizer.unk_token}
        about: dict[str, Any] = {name: token for name, token in {**names, **special}.items() if token is not None}
        about |= {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": ["input_ids", "attention_mask"]}
        files["tokenizer_config.json"] = json.dumps(about | {"model_max_length": model.config.max_tokens}, indent=2)


def _steps(model: TextEncoder, files: dict[str, str]) -> dict[str, State]:
    """The files of sentence-transformers, and the weights of its dense maps by their folders."""
    theirs: dict[str, str] = {ours: mode for mode, ours in MODES.items()}
    ways = parts_of(model.pooling)
    if set(ways) - set(theirs):
        raise _NoLayoutError(f"sentence-transformers has no pooling {model.pooling}")
    mode: Any = theirs[ways[0]] if len(ways) == 1 else [theirs[way] for way in ways]
    pooling = {"embedding_dimension": model.config.d_model, "pooling_mode": mode, "include_prompt": model.pools_prompt}
    steps: list[tuple[str, dict[str, Any] | None]] = [("Transformer", None), ("Pooling", pooling)]
    activations = {ours: name for name, ours in DENSE_ACTIVATION_NAMES.items()}
    weights: dict[str, State] = {}
    for dense in model.dense:
        config: DenseConfig = dense.config  # type: ignore[assignment]  # `_write` refuses the other steps
        weights[f"{len(steps)}_Dense"] = dense.state_dict()
        activation = f"torch.nn.modules.{'linear' if config.activation == 'none' else 'activation'}"
        about = {
            "in_features": config.d_in,
            "out_features": config.d_out,
            "bias": config.bias,
            "activation_function": f"{activation}.{activations[config.activation]}",
        }
        steps.append(("Dense", about | ({"use_residual": True} if config.residual else {})))
    if model.normalise:
        steps.append(("Normalize", None))
    modules = []
    for place, (kind, about_step) in enumerate(steps):
        path = "" if kind == "Transformer" else f"{place}_{kind}"
        modules.append({"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"})
        if about_step is not None:
            files[f"{path}/config.json"] = json.dumps(about_step, indent=2)
    files["modules.json"] = json.dumps(modules, indent=2)
    files["sentence_bert_config.json"] = json.dumps({"max_seq_length": model.max_embed_tokens, "do_lower_case": False})
    about_prompts = {"prompts": dict(model.prompts), "default_prompt_name": model.default_prompt}
    files["config_sentence_transformers.json"] = json.dumps(about_prompts | {"truncate_dim": model.truncate_dim})
    return weights


def _check(model: Tower, folder: Path, dtype: torch.dtype) -> None:
    """Open what was written, and compare it. Raises _NoLayoutError where anything differs."""
    try:
        again: Any = load_folder(folder, torch.device("cpu"), torch.float32)
    except EncoderError as error:
        raise _NoLayoutError(f"what was written cannot be read: {error}") from error
    if type(again) is not type(model):
        raise _NoLayoutError("its family is of another input")
    ours, theirs = (native.fields_of(one) for one in (model, again))
    for found in (ours, theirs):  # None: as many tokens as the model takes
        found["max_embed_tokens"] = found.get("max_embed_tokens") or model.config.max_tokens
    if differing := [name for name in ours if name != "encoder" and ours[name] != theirs.get(name)]:
        raise _NoLayoutError(f"its family has no place for its {', '.join(differing)}")
    if model.config == again.config:
        written = native.state_of(again)
        for name, value in native.state_of(model).items():
            if not torch.allclose(written[name], value.detach().cpu().to(dtype).float(), rtol=1e-6, atol=1e-7):
                raise _NoLayoutError(f"its family has another {name}")
    elif isinstance(model, TextEncoder):
        pair: list[Any] = [model.to("cpu", "float32"), again]
        one, other = (tower.trace_batch(["a b", "c"])[0].output for tower in pair)
        if not torch.allclose(one, other, atol=1e-5 if dtype is torch.float32 else 0.1):
            raise _NoLayoutError("no family computes the same")
    else:
        raise _NoLayoutError("no family has its architecture")
