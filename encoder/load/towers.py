"""The weights of a family, with the checkpoint's tokenizer or preparation of images -> TextEncoder or ImageEncoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from encoder.encoders.image import ImageEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import LoadError
from encoder.inputs.tokenizer import Tokenizer
from encoder.load.checkpoint import LoadedWeights
from encoder.load.families import Family, Fields
from encoder.load.notes import note_on_tokenizer
from encoder.load.pixels import read_preparation
from encoder.load.tokenizer import read_tokenizer


def image_encoder(name: str, folder: Path, family: Family, read: LoadedWeights) -> ImageEncoder:
    """The encoder of a folder whose model accepts images."""
    assert read.encoder.config.patches is not None
    head: Any = read.vector
    return ImageEncoder(
        name=name,
        encoder=read.encoder,
        preparation=read_preparation(folder, read.encoder.config.patches, family.preparation),
        classifier=read.classifier,
        vector_head=head,
        notes=read.notes,
    )


def text_encoder(name: str, folder: Path, fields: Fields, family: Family, read: LoadedWeights) -> TextEncoder:
    """The tower of texts of CLIP or SigLIP. Raises LoadError for a tokenizer that does not end a text as it needs."""
    assert family.pooling is not None
    tokenizer = read_tokenizer(folder, fields["model_type"])
    if family.filled:
        tokenizer = tokenizer.filled_to(read.encoder.config.max_tokens)
    elif read.encoder.config.causal:
        check_end(tokenizer, fields)
    dense: Any = () if read.vector is None else (read.vector,)
    return TextEncoder(
        name=name,
        encoder=read.encoder,
        tokenizer=tokenizer,
        pooling=family.pooling,
        dense=dense,
        notes=(*read.notes, *note_on_tokenizer(folder, tokenizer)),
    )


def check_end(tokenizer: Tokenizer, fields: Fields) -> None:
    """Raise LoadError unless each text ends with the token whose vector CLIP takes.

    transformers takes the first token with eos_token_id or, for the 2 of CLIP's first files, the largest id of a text.
    Where all texts end with that token, it is the last one.
    """
    last = tokenizer.encode("a").ids[-1]
    end = fields.integer("eos_token_id", 49_407)
    if end == 2:
        end = max(tokenizer.backend.get_vocab(with_added_tokens=True).values())
    if last != end:
        raise LoadError(
            f"The tokenizer ends a text with {tokenizer.token(last)!r} (id {last}), and the model takes the vector of "
            f"the token {end}: correct eos_token_id in config.json, or use the checkpoint's own tokenizer."
        )
