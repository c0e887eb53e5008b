"""A checkpoint of an encoder of texts and pages (ModernVBERT, ColModernVBERT) -> JointEncoder.

config.json has the sizes of both towers, preprocessor_config.json or processor_config.json how a page becomes tiles,
and processor_config.json the words around it.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from encoder.checkpoints.checkpoint import read_checkpoint
from encoder.checkpoints.families import Fields
from encoder.checkpoints.families.pages import OUTER, Pages
from encoder.checkpoints.joint import image_encoder
from encoder.checkpoints.pixels import FILE, JOINT_FILE, read_fields, read_preparation
from encoder.checkpoints.sentence import EmbeddingSteps
from encoder.checkpoints.tokenizer import read_tokenizer
from encoder.checkpoints.weights import WeightFiles, fill
from encoder.encoders.image import ImageEncoder
from encoder.encoders.joint import JointEncoder
from encoder.encoders.page import AROUND, IMAGE, PageEncoder, PagePreparation
from encoder.encoders.text import TextEncoder
from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import read_json
from encoder.model.config import Patches
from encoder.model.encoder import Encoder, unfilled
from encoder.model.pooling import Dense, DenseConfig, LateConfig

#: The words around a page where the files have none, as in ColPali's family.
PROMPT = f"<|begin_of_text|>User:{IMAGE}Describe the image.<end_of_utterance>\nAssistant:"
#: Idefics3's longest side of a page and side of a tile.
LONGEST, TILE = 4 * 364, 364
COMPARED = "Its vectors of texts and pages are means of tokens, which it was not trained to compare."
#: What sentence-transformers 6.2 makes of ColModernVBERT.
AS_THERE = (
    "Texts are encoded as in sentence-transformers, without the {end} tokens that transformers puts after a query: "
    "remove modules.json for those of transformers. Pages are encoded as in transformers: sentence-transformers 6.2 "
    "encodes no page with this model."
)


def load_pages(
    name: str,
    steps: EmbeddingSteps,
    files: WeightFiles,
    fields: Fields,
    family: Pages,
    device: torch.device,
    dtype: torch.dtype,
) -> JointEncoder:
    """Read a checkpoint of both towers and of what joins them. Raises LoadError, which names what is wrong."""
    folder = steps.folder
    whole = _object(fields, family.inside) if family.inside else fields
    of_tiles = files.starting_with(tuple(f"{outer}vision_model." for outer in OUTER))
    of_joins = tuple(f"{outer}{family.connector}" for outer in OUTER)
    ends = tuple(f"{family.projection}.{kind}" for kind in ("weight", "bias")) if family.projection else ()
    own = Fields({**_object(whole, "text_config"), "tie_word_embeddings": fields.get("tie_word_embeddings", False)})
    read = read_checkpoint(files.without((*of_tiles, *of_joins, *ends)), own, family.text, device, dtype)
    seen = read_checkpoint(of_tiles, _object(whole, "vision_config"), family.image, device, dtype)
    patches = seen.encoder.config.patches
    assert patches is not None, "the family of the tiles accepts images"
    vision = image_encoder(name, folder, family.image, seen)
    splits = read_tokenizer(folder, fields)
    said = read_json(folder / JOINT_FILE) if (folder / JOINT_FILE).is_file() else {}
    merged = _merged(whole, patches)
    connector = nn.Linear(seen.encoder.config.d_model * merged**2, read.encoder.config.embedding_width, bias=False)
    _fill(connector, files, {"weight": next((one for one in of_joins if one in files), of_joins[-1])}, device, dtype)
    dense: tuple[Dense, ...] = ()
    if family.projection:
        width = fields.integer("embedding_dim", 128)
        dense = (Dense(DenseConfig(read.encoder.config.d_model, width, bias=True, activation="none")),)
        _fill(dense[0], files, {f"linear.{end.rpartition('.')[2]}": end for end in ends}, device, dtype)
    late = LateConfig(attends=True, skips_documents=False, suffix=family.query_end) if family.projection else None
    of_texts, notes = _of_texts(steps, late, _words(said, "query_prefix", ""))
    text = TextEncoder(
        name,
        read.encoder,
        splits.tokenizer,
        mlm_head=read.mlm_head,
        token_dense=dense,
        notes=(*read.notes, *splits.notes, *notes),
        **of_texts,
    )
    _check_tokens(text, whole, said, (patches.side // merged) ** 2)
    page = PageEncoder(
        name=name,
        encoder=_over_vectors(read.encoder),
        preparation=_preparation(folder, vision, patches),
        vision=vision,
        connector=connector,
        words=read.encoder.embedding.tokens,  # type: ignore[arg-type]  # a text's
        tokenizer=splits.tokenizer,
        prompt=_words(said, "visual_prompt_prefix", PROMPT),
        merged=merged,
        late=late,
        token_dense=dense,
        notes=seen.notes,
    )
    if late is not None:
        return JointEncoder(name, text, page, compares="MaxSim")
    return JointEncoder(name, text, page, notes=(COMPARED,))


def _of_texts(steps: EmbeddingSteps, late: LateConfig | None, prefix: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The settings of the encoder of texts, and notes. late, prefix: those of transformers' processor.

    Raises LoadError for modules after the model's own map, and for those of a model without one.
    """
    if late is None:
        if steps.settings:
            raise LoadError(
                "modules.json says how vectors of texts are made, and this model is read with the mean of its tokens, "
                "as without that file: remove modules.json for the mean."
            )
        return {}, ()
    if steps.transformer.part != "late":
        return {"late": late, "prompts": {"query": prefix}}, ()
    if steps.dense or steps.token_dense or steps.mix is not None or "late" not in steps.settings:
        raise LoadError(
            "This checkpoint's vectors are those of its own map (transformer_task='retrieval'), and modules.json has "
            "other modules than Transformer and MultiVectorMask: remove modules.json for the vectors of transformers."
        )
    ours: LateConfig = steps.settings["late"]
    if ours.n_query and not ours.attends:
        raise LoadError(
            "sentence_bert_config.json fills queries with tokens that none attends to (query_expansion without "
            "attend), and this model makes zeros of them: set attend to true, or remove query_expansion."
        )
    note = AS_THERE.format(end=late.suffix.partition(">")[0] + ">")
    return dict(steps.settings) | {"late": replace(ours, normalise=True)}, (note,)


def _object(fields: Fields, key: str) -> Fields:
    found = fields.get(key)
    if not isinstance(found, dict):
        raise LoadError(f"config.json has {key}={quoted(found)}: specify an object with the fields of this part.")
    return Fields(found)


def _merged(fields: Fields, patches: Patches) -> int:
    merged = fields.integer("pixel_shuffle_factor", 4)
    if merged < 1 or patches.side % merged:
        raise LoadError(
            f"config.json has pixel_shuffle_factor={merged}, and a tile has {patches.side} patches along a side: "
            "choose a number that divides it."
        )
    return merged


def _words(said: dict[str, Any], key: str, usual: str) -> str:
    """Words around a page or before a query; as there, an empty text means the usual one."""
    found = said.get(key) or usual
    if not isinstance(found, str) or (key == "visual_prompt_prefix" and found.count(IMAGE) != 1):
        raise LoadError(f"{JOINT_FILE} has {key}={quoted(found)}: specify a text, with {IMAGE} once in that of a page.")
    return found


def _check_tokens(text: TextEncoder, fields: Fields, said: dict[str, Any], n_tokens: int) -> None:
    """Raise LoadError where tokenizer, processor and config.json do not mean the same tokens of a page."""
    vocabulary = text.tokenizer.backend
    for token in (IMAGE, AROUND):
        number = vocabulary.token_to_id(token)
        if number is None or number >= text.config.vocab_size:
            raise LoadError(f"The tokenizer has no token {token} that the model knows: copy the checkpoint's own.")
    number = fields.integer("image_token_id", 50_407)
    if vocabulary.token_to_id(IMAGE) != number:
        raise LoadError(
            f"config.json has image_token_id={number}, and {IMAGE} is {vocabulary.token_to_id(IMAGE)} in the "
            "tokenizer: correct it."
        )
    count = said.get("image_seq_len", n_tokens)
    if count != n_tokens:
        raise LoadError(
            f"{JOINT_FILE} has image_seq_len={quoted(count)}, and a tile has {n_tokens} tokens by config.json: correct "
            "it."
        )


def _preparation(folder: Path, vision: ImageEncoder, patches: Patches) -> PagePreparation:
    """How pages become tiles. Raises LoadError for tiles of another size than the model's."""
    usual = {"size": {"longest_edge": LONGEST}, "max_image_size": {"longest_edge": TILE}, "resample": 1}
    of_tiles, fields = read_preparation(folder, patches, usual), {**usual, **read_fields(folder)}
    tile = fields["max_image_size"]
    if tile != {"longest_edge": patches.image_size}:
        raise LoadError(
            f"{FILE} has max_image_size={quoted(tile)}, and the model's tiles have {patches.image_size} pixels along a "
            "side: correct it."
        )
    longest = None
    if fields.get("do_resize", True):
        size = fields["size"]
        longest = size.get("longest_edge") if isinstance(size, dict) else None
        if not isinstance(longest, int) or longest < 1:
            raise LoadError(f"{FILE} has size={quoted(size)}: specify the longest_edge of a page in pixels.")
    splits = fields.get("do_image_splitting", True) is not False
    return PagePreparation(
        of_tiles.mean, of_tiles.std, of_tiles.interpolation, tile=patches.image_size, longest=longest, splits=splits
    )


def _over_vectors(encoder: Encoder) -> Encoder:
    """The layers of an encoder of texts over vectors of tokens: the same weights without the table of words."""
    with unfilled():
        found = Encoder(encoder.config.replace(vectors=True))
    found.load_state_dict(
        {name: one for name, one in encoder.state_dict(keep_vars=True).items() if name != "embedding.tokens.weight"},
        assign=True,
    )
    return found.eval()


def _fill(
    module: nn.Module, files: WeightFiles, names: dict[str, str], device: torch.device, dtype: torch.dtype
) -> None:
    """Fill a module. names: our parameter -> its name on disk. Raises LoadError where one does not fit."""
    state = module.state_dict()
    for ours, name in names.items():
        if name not in files:
            raise LoadError(f"The checkpoint lacks the weight {name}: download it again.")
        if files.shape(name) != tuple(state[ours].shape):
            raise LoadError(
                f"The weight {name} has the shape {files.shape(name)}, but config.json makes it "
                f"{tuple(state[ours].shape)}: use the config.json of these weights."
            )
    fill(
        module,
        {ours: files.read(name).to(device=device, dtype=dtype, copy=not files.shares) for ours, name in names.items()},
    )
    module.eval()
