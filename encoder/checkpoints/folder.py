"""A checkpoint folder -> an encoder. Its layout: ours, Hugging Face's or sentence-transformers'."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from encoder.checkpoints.checkpoint import read_checkpoint
from encoder.checkpoints.families import FAMILIES, JOINTS, PAGES, Fields, family_of
from encoder.checkpoints.families.timm import as_vit, is_timm
from encoder.checkpoints.generation import with_writer
from encoder.checkpoints.gliner import is_gliner, load_gliner
from encoder.checkpoints.joint import image_encoder, is_open_clip, load_joint, load_open_clip, text_encoder
from encoder.checkpoints.lora import has_adapter, refuse_alone, with_adapter
from encoder.checkpoints.maps import load_maps
from encoder.checkpoints.native import is_native
from encoder.checkpoints.native_read import load_native
from encoder.checkpoints.notes import note_on_letters, note_on_streams, notes_on_pairs
from encoder.checkpoints.pages import load_pages
from encoder.checkpoints.pixels import read_preparation
from encoder.checkpoints.sentence import TEXT, TOKEN, EmbeddingSteps, read_steps
from encoder.checkpoints.sentence_settings import TransformerSettings
from encoder.checkpoints.sentence_steps import read_mix, read_static, read_step
from encoder.checkpoints.sounds import read_sound_preparation
from encoder.checkpoints.tokenizer import ReadTokenizer, check_tags, read_tokenizer
from encoder.checkpoints.trial import try_tokenizer
from encoder.checkpoints.weights import INDEX, PICKLES, WeightFiles, fill
from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder
from encoder.encoders.joint import JointEncoder
from encoder.encoders.maps import MapsEncoder
from encoder.encoders.text import TextEncoder
from encoder.encoders.video import VideoEncoder
from encoder.errors import LoadError
from encoder.inputs.json_file import JSON_BYTES, read_json
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.embed import is_sine_halves
from encoder.model.encoder import Encoder, unfilled
from encoder.model.mlm import MLMHead
from encoder.model.pooling import Dense, DenseConfig

Loaded = TextEncoder | ImageEncoder | VideoEncoder | AudioEncoder | JointEncoder | MapsEncoder


def load_folder(
    folder: Path,
    device: torch.device,
    dtype: torch.dtype,
    *,
    trial: bool = False,
    weights: Callable[[Path], WeightFiles] = WeightFiles,
) -> Loaded:
    """Read a checkpoint. trial: try its tokenizer first; weights: opens those of a folder.

    Raises LoadError, which names what is wrong.
    """
    if folder.is_file():
        if (maps := load_maps(folder)) is not None:
            return maps
        raise LoadError(
            f"{folder.name} is a file: specify the folder that holds config.json and model.safetensors, or a file of "
            "attention maps (docs/python.md)."
            f"{pickle_word(folder)}"
        )
    if is_native(folder):
        if trial:
            try_tokenizer(folder)
        return load_native(folder, device, dtype)
    found: Loaded = dataclasses.replace(_load_checkpoint(folder, device, dtype, trial, weights), **_origin(folder))
    return found


def _origin(folder: Path) -> dict[str, Any]:
    """The small files of a checkpoint by name, those of its modules, too, as `NamedEncoder.origin`; of a pair without
    one layout, or of a folder in parts, none."""
    known = [path for names in ("*.json", "*.jinja", "[0-9]*_*/config.json") for path in folder.glob(names)]
    kept = [path for path in known if path.is_file() and path.name not in ("tokenizer.json", INDEX)]
    kept = [path for path in kept if path.stat().st_size < JSON_BYTES]
    files = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in kept}
    fields = json.loads(files.get("config.json", "{}"))
    return {"origin": files} if fields.get("model_type") in {**FAMILIES, **PAGES} else {}


def _load_checkpoint(
    folder: Path, device: torch.device, dtype: torch.dtype, trial: bool, weights: Callable[[Path], WeightFiles]
) -> Any:
    if is_gliner(folder):
        if trial:
            try_tokenizer(folder)
        return load_gliner(folder, weights, device, dtype)
    if has_adapter(folder) and not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        refuse_alone(folder)
    steps, name = read_steps(folder), folder.resolve().name
    made: list[tuple[EmbeddingSteps, Any]] = []

    def load(one: EmbeddingSteps) -> Any:
        """The encoder of some steps. Sides with the same first module share its weights."""
        same = next((model for before, model in made if before.folder == one.folder), None)
        made.append((one, _load_steps(name, one, device, dtype, trial, weights, same)))
        return made[-1][1]

    found = load(steps)
    sides = {side: found if one == replace(steps, sides={}) else load(one) for side, one in steps.sides.items()}
    return replace(found, sides=sides) if sides else found


def _load_steps(
    name: str,
    steps: EmbeddingSteps,
    device: torch.device,
    dtype: torch.dtype,
    trial: bool,
    weights: Callable[[Path], WeightFiles],
    same: TextEncoder | None,
) -> Any:
    """The encoder of one side. same: one with the same first module, if there is one."""
    of_steps: dict[str, Any] = {}
    for part, level in (("dense", TEXT), ("token_dense", TOKEN)):
        modules = getattr(steps, part)
        of_steps[part] = tuple(read_step(one, weights, device, dtype, level, steps.most) for one in modules)
    if steps.first != "Transformer":
        if trial:
            try_tokenizer(steps.folder)
        return _static(name, steps, of_steps, read_static(steps.folder, weights, device, dtype))
    if has_adapter(steps.folder) and not (steps.folder / "config.json").is_file():
        refuse_alone(steps.folder)
    said = steps.transformer
    if is_open_clip(steps.folder):
        if trial:
            try_tokenizer(steps.folder)
        return load_open_clip(name, steps.folder, device, dtype)
    fields = Fields({**read_json(steps.folder / "config.json"), **said.fields})
    fields = as_vit(fields) if is_timm(fields) else fields
    if steps.score is not None:
        fields["sentence_transformers"] = {"activation_fn": steps.score}
    if steps.mix is not None and fields.get("output_hidden_states") is True:  # else it changes nothing there, too
        of_steps["mix"] = read_mix(steps.mix, weights, device, dtype)
    if same is not None:
        unset = {"mix": None, "sparse": None, "late": None, "pools_words": False}
        of_part = vector_of(said, same.encoder, same.mlm_head, of_steps | dict(steps.settings))
        return replace(same, **unset | of_part, notes=steps.notes)
    joint = JOINTS.get(str(fields.get("model_type")))
    if joint is not None:
        if trial:
            try_tokenizer(steps.folder)
        return load_joint(name, steps.folder, weights(steps.folder), fields, joint, device, dtype)
    pages = PAGES.get(str(fields.get("model_type")))
    if pages is not None:
        if trial:
            try_tokenizer(steps.folder)
        return load_pages(name, steps, weights(steps.folder), fields, pages, device, dtype)
    if said.part == "late":
        raise LoadError(
            "This checkpoint is not supported because of sentence_bert_config.json's transformer_task='retrieval', "
            f"which only models of pages have ({', '.join(name for name, one in PAGES.items() if one.projection)}): "
            "remove transformer_task, modality_config and module_output_name."
        )
    family = family_of(fields)
    writes = not family.sounds or (steps.folder / "tokenizer.json").is_file()
    if trial and not family.images and writes:
        try_tokenizer(steps.folder)
    files, adapted = with_adapter(steps.folder, weights(steps.folder).without(steps.apart))
    read = read_checkpoint(files, fields, family, device, dtype, writes, said.layer)
    if family.images:
        return noted(image_encoder(name, steps.folder, family, read), adapted)
    if family.pooling is not None:
        return noted(text_encoder(name, steps.folder, fields, family, read), adapted)
    if family.sounds:
        preparation = read_sound_preparation(steps.folder, read.encoder.config, family.preparation)
        notes = (*adapted, *read.notes, *notes_on_positions(read.encoder), *note_on_letters(read.encoder))
        heard = AudioEncoder(name, read.encoder, preparation, classifier=read.classifier, notes=notes)
        return with_writer(
            heard, steps.folder, fields, read, lambda: Tokenizer.from_file(steps.folder / "tokenizer.json")
        )
    splits = read_tokenizer(steps.folder, fields, said.tokenizer)
    check_tags(splits.tokenizer, read.encoder.config.places)
    tokenizer = splits.tokenizer.lower_cased() if said.lower_case else splits.tokenizer
    tokenizer = tokenizer.keeping(steps.markers) if steps.markers else tokenizer
    settings = vector_of(said, read.encoder, read.mlm_head, of_steps | dict(steps.settings))
    found = TextEncoder(
        name=name,
        encoder=read.encoder,
        tokenizer=tokenizer if said.special else tokenizer.without_ends(),
        mlm_head=read.mlm_head,
        classifier=read.classifier,
        span_head=read.span_head,
        page_preparation=None if (page := read.encoder.config.page) is None else read_preparation(steps.folder, page),
        **settings,
        notes=(
            *adapted,
            *read.notes,
            *steps.notes,
            *splits.notes,
            *note_on_padding(splits, read.encoder),
            *notes_on_pairs(steps.folder, read.encoder, read.classifier),
            *note_on_streams(read.encoder),
        ),
    )
    return with_writer(found, steps.folder, fields, read, lambda: found.tokenizer)


def _static(name: str, steps: EmbeddingSteps, of_steps: Mapping[str, Any], encoder: Encoder) -> TextEncoder:
    """An encoder without layers. StaticEmbedding uses tokenizer.json as it is, SparseStaticEmbedding its class."""
    if steps.first == "StaticEmbedding":
        splits = ReadTokenizer(Tokenizer.from_file(steps.folder / "tokenizer.json"))
    else:
        splits = read_tokenizer(steps.folder, {})
    tokenizer = splits.tokenizer.without_ends()
    return TextEncoder(name, encoder, tokenizer, **of_steps, **steps.settings, notes=(*steps.notes, *splits.notes))


def vector_of(
    said: TransformerSettings, encoder: Encoder, mlm_head: MLMHead | None, settings: dict[str, Any]
) -> dict[str, Any]:
    """The settings of the vector, with what the Transformer module gives to the pooling: a map that comes first, words.

    Raises LoadError for a part that the checkpoint does not have.
    """
    if settings.get("sparse") is not None and said.layer is not None:
        raise LoadError(
            "This SPLADE model's vectors are of words, and modality_config in sentence_bert_config.json names a hidden "
            "state: remove modality_config."
        )
    if said.part == "words" and settings.get("sparse") is None:
        if mlm_head is None:
            raise LoadError(
                "This checkpoint's vectors are of words (fill-mask), and it has no masked-word head: "
                "sentence-transformers would make one of random numbers. Remove transformer_task from "
                "sentence_bert_config.json, or choose the checkpoint with its head."
            )
        return settings | {"pools_words": True}
    if said.part != "pooler":
        return settings
    if encoder.pooler is None:
        raise LoadError("This checkpoint's vector is its pooler's (pooler_output), and it has no pooler.")
    d_model = encoder.config.d_model
    with unfilled():
        dense = Dense(DenseConfig(d_model, d_model, bias=True, activation="tanh"))
    fill(dense, {"linear.weight": encoder.pooler.weight.detach(), "linear.bias": encoder.pooler.bias.detach()})
    return settings | {"pooling": "cls", "dense": (dense.eval(), *settings["dense"])}


def noted(found: Any, notes: tuple[str, ...]) -> Any:
    """The same encoder with these sentences before its own."""
    return dataclasses.replace(found, notes=(*notes, *found.notes))


def note_on_padding(splits: ReadTokenizer, encoder: Encoder) -> tuple[str, ...]:
    """A sentence where the place of the padding changes the positions of a text, and so its vectors."""
    if not splits.pads_left or encoder.embedding.positions.table is None:
        return ()
    return (
        "tokenizer_config.json has padding_side='left': in a batch, transformers then counts the positions of padding, "
        "too, and its vectors depend on the other texts. Here they are those of each text by itself.",
    )


def notes_on_positions(encoder: Encoder) -> tuple[str, ...]:
    """A sentence where the table of positions has the values of sines and cosines, as Whisper's has."""
    table = encoder.embedding.positions.table
    if encoder.config.convolutions is None or table is None:
        return ()
    if not is_sine_halves(table.weight.detach()):
        return ()
    return ("Its table of positions was not learned: it has sines, then cosines, of different frequencies.",)


def pickle_word(path: Path) -> str:
    """A second sentence, for the path of a pickle."""
    if any(path.match(pattern) for pattern in PICKLES):
        return " A pickle can run code when it is opened, so this program reads only safetensors."
    return ""
