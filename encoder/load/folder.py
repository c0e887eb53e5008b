"""A checkpoint folder -> TextEncoder or ImageEncoder: our own, Hugging Face's, or sentence-transformers around one."""

from __future__ import annotations

from pathlib import Path

import torch

from encoder.errors import LoadError
from encoder.image_encoder import ImageEncoder
from encoder.load.checkpoint import Read, read_checkpoint
from encoder.load.families import family_of
from encoder.load.native import is_native, load_native
from encoder.load.pixels import read_preparation
from encoder.load.sentence import read_dense, read_recipe
from encoder.load.tokenizer import read_tokenizer
from encoder.load.weights import PICKLES, WeightFiles, read_json
from encoder.text_encoder import TextEncoder


def load_folder(folder: Path, device: torch.device, dtype: torch.dtype) -> TextEncoder | ImageEncoder:
    """Read a checkpoint. Raises LoadError in one sentence that names the file, field or key that stands in the way."""
    if folder.is_file():
        raise LoadError(
            f"{folder.name} is a file: give the folder that holds config.json and model.safetensors."
            f"{pickle_word(folder)}"
        )
    if is_native(folder):
        return load_native(folder, device, dtype)
    recipe = read_recipe(folder)
    fields = read_json(recipe.folder / "config.json")
    family = family_of(fields)
    read = read_checkpoint(WeightFiles(recipe.folder), fields, family, device, dtype)
    name = folder.resolve().name
    if family.images:
        return image_encoder(name, recipe.folder, read)
    tokenizer = read_tokenizer(recipe.folder, fields["model_type"])
    return TextEncoder(
        name=name,
        encoder=read.encoder,
        tokenizer=tokenizer.lower_cased() if recipe.lower_case else tokenizer,
        pooling=recipe.pooling,
        dense=tuple(read_dense(place, device, dtype) for place in recipe.dense),
        normalise=recipe.normalise,
        max_embed_tokens=recipe.max_tokens,
        mlm_head=read.mlm_head,
        notes=(*read.notes, *recipe.notes),
    )


def image_encoder(name: str, folder: Path, read: Read) -> ImageEncoder:
    """The encoder of a folder whose model reads pixels."""
    assert read.encoder.config.patches is not None
    preparation = read_preparation(folder, read.encoder.config.patches.channels)
    return ImageEncoder(name=name, encoder=read.encoder, preparation=preparation, notes=read.notes)


def pickle_word(path: Path) -> str:
    """A sentence more, where somebody gives a pickle."""
    if any(path.match(pattern) for pattern in PICKLES):
        return " A pickle can run code when it is opened, so none is read here; only safetensors are."
    return ""
