"""Folders of GLiNER: an encoder of texts and a head that scores spans of words for labels in words.

gliner_config.json has the head's sizes, and the encoder's config.json under encoder_config; model.safetensors has the
weights of both. Read as the package gliner 0.2 reads a model of one encoder with span_mode markerV0.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from encoder.checkpoints.checkpoint import read_checkpoint
from encoder.checkpoints.families import Fields, family_of
from encoder.checkpoints.tokenizer import read_tokenizer
from encoder.checkpoints.weights import WeightFiles, fill_strictly
from encoder.encoders.text import TextEncoder
from encoder.errors import ConfigError, LoadError, quoted
from encoder.inputs.json_file import read_json
from encoder.inputs.label_prompt import LabelPrompt
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.encoder import unfilled
from encoder.model.entity_head import EntityHead, EntityHeadConfig

FILE = "gliner_config.json"
#: What the encoder's weights begin with.
ENCODER = "token_rep_layer.bert_layer.model."
#: The modules of the head, by what their weights begin with.
MODULES = {
    "token_rep_layer.projection.": "projection",
    "rnn.lstm.": "rnn",
    "span_rep_layer.span_rep_layer.project_start.": "start",
    "span_rep_layer.span_rep_layer.project_end.": "end",
    "span_rep_layer.span_rep_layer.out_project.": "span",
    "prompt_rep_layer.": "label",
}
ANOTHER = "choose a GLiNER of one encoder with span_mode markerV0"
#: Key -> the value without which another model would open, and what to do.
ONLY: dict[str, tuple[Any, str]] = {
    "span_mode": ("markerV0", f"its spans have other vectors; {ANOTHER}"),
    "labels_encoder": (None, f"its labels have an encoder of their own; {ANOTHER}"),
    "labels_decoder": (None, f"a decoder writes its labels; {ANOTHER}"),
    "relations_layer": (None, f"it has a head for relations; {ANOTHER}"),
    "span_encoder_config": (None, f"more layers follow its encoder; {ANOTHER}"),
    "fuse_layers": (False, f"its words are sums over layers; {ANOTHER}"),
    "post_fusion_schema": ("", f"its words and labels attend to each other once more; {ANOTHER}"),
    "subtoken_pooling": ("first", "a word's vector is that of its first token here; choose first"),
    "words_splitter_type": ("whitespace", "words are split by spaces and signs here; choose whitespace"),
    "precomputed_prompts_mode": (False, f"its labels are fixed; {ANOTHER}"),
}
#: The largest max_len.
MOST_WORDS = 1_000_000
#: The longest text where neither encoder nor tokenizer has a limit.
MOST_TOKENS = 4_096
SAVE_AGAIN = (
    "open it with gliner, model = GLiNER.from_pretrained(name), and write it by "
    "model.save_pretrained(folder, safe_serialization=True)"
)


def is_gliner(folder: Path) -> bool:
    """Whether GLiNER wrote the folder."""
    return (folder / FILE).is_file()


def load_gliner(
    folder: Path, weights: Callable[[Path], WeightFiles], device: torch.device, dtype: torch.dtype
) -> TextEncoder:
    """The encoder with its head. Raises LoadError for a kind of GLiNER that is not read, and for files that differ."""
    fields = Fields.of(FILE, read_json(folder / FILE))
    for key, (value, why) in ONLY.items():
        fields.only(key, value, why)
    if str(fields.get("model_type")).startswith("gliner_streaming"):
        raise fields.wrong("model_type", fields["model_type"], f"its encoder is a decoder; {ANOTHER}")
    own = fields.get("encoder_config")
    if not isinstance(own, dict):
        raise LoadError(f"{folder.name} has no encoder_config in {FILE}, so its encoder is not known: {SAVE_AGAIN}.")
    about = Fields({"model_type": "deberta-v2", **own, "architectures": None})
    family = family_of(about)
    if not (folder / "tokenizer_config.json").is_file():
        raise LoadError(
            f"{folder.name} has no tokenizer, and gliner downloads that of {quoted(fields.get('model_name'))}: "
            f"{SAVE_AGAIN}."
        )
    about = _of_any_length(about, folder)
    files = weights(folder)  # last, since what is missing comes with safetensors
    read = read_checkpoint(files.beneath(ENCODER), about, family, device, dtype, writes=False)
    config = read.encoder.config
    if not config.takes_text or config.causal:
        raise fields.wrong("encoder_config.model_type", about["model_type"], "choose a GLiNER over an encoder of texts")
    tokenizer, notes = _tokenizer(folder, fields, config.vocab_size)
    head, parts = _head(fields, config.d_model)
    fill_strictly(parts, files.starting_with(tuple(MODULES)), device, dtype)
    head.eval()
    return TextEncoder(
        name=folder.resolve().name,
        encoder=read.encoder,
        tokenizer=tokenizer,
        entity_head=head,
        notes=(*read.notes, *notes, *_left_out(files)),
    )


def _of_any_length(about: Fields, folder: Path) -> Fields:
    """The encoder's config.json for texts as long as gliner's tokenizer leaves them.

    DeBERTa without a table of positions has no longest text: max_position_embeddings is its farthest distance only.
    """
    if about["model_type"] != "deberta-v2" or about.flag("position_biased_input", True):
        return about
    farthest = about.integer("max_relative_positions", -1)
    farthest = about.integer("max_position_embeddings") if farthest < 1 else farthest
    said = read_json(folder / "tokenizer_config.json").get("model_max_length")
    longest = said if isinstance(said, int) and 1 <= said <= MOST_TOKENS else MOST_TOKENS
    return Fields({**about, "max_relative_positions": farthest, "max_position_embeddings": longest})


def _tokenizer(folder: Path, fields: Fields, n_tokens: int) -> tuple[Tokenizer, tuple[str, ...]]:
    """The tokenizer, which splits texts as gliner does. Raises LoadError where it lacks the marker of labels."""
    try:
        prompt = LabelPrompt(
            fields.get("ent_token", "<<ENT>>"),
            fields.get("sep_token", "<<SEP>>"),
            fields.integer("max_len", 384, 1, MOST_WORDS),
        )
    except ConfigError as error:
        raise LoadError(f"{FILE} has no labels. {error}") from error
    splits = read_tokenizer(folder, {})
    index, known = fields.integer("class_token_index", -1), splits.tokenizer.backend.token_to_id(prompt.marker)
    if known is None or known != index or known >= n_tokens:
        raise LoadError(
            f"{FILE} has class_token_index={index}, and {quoted(prompt.marker)} is {known} in the tokenizer of "
            f"{folder.name}: {SAVE_AGAIN}."
        )
    return splits.tokenizer.word_by_word(prompt), splits.notes


def _head(fields: Fields, d_model: int) -> tuple[EntityHead, dict[str, nn.Module]]:
    """The unfilled head, and its modules by what their weights begin with. Raises LoadError for wrong sizes."""
    try:
        config = EntityHeadConfig(
            width=fields.integer("hidden_size", 512),
            max_width=fields.integer("max_width", 12),
            marker_id=fields.integer("class_token_index"),
            reads_marker=fields.flag("embed_ent_token", True),
            n_rnn_layers=max(0, fields.integer("num_rnn_layers", 1)),
        )
    except ConfigError as error:
        raise LoadError(f"{FILE} describes no head. {error}") from error
    with unfilled():
        head = EntityHead(d_model, config)
    parts = {start: getattr(head, name) for start, name in MODULES.items()}
    return head, {start: part for start, part in parts.items() if part is not None}


def _left_out(files: WeightFiles) -> tuple[str, ...]:
    """A sentence about weights that belong to neither encoder nor head, which gliner leaves out, too."""
    others = [name for name in files if not name.startswith((ENCODER, *MODULES))]
    return (
        (f"Left out: {len(others)} weights that {FILE} gives no place ({others[0]} …), as in gliner.",)
        if others
        else ()
    )
