"""Tiny random checkpoints of ModernVBERT and ColModernVBERT, written by transformers, with a tokenizer and processor.

A tile has 24 pixels, 6 patches and 3 tokens along a side, so that a swapped axis or factor shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from torch import nn

from tests.load.reference import IMAGES, SIZES, randomised

TILE, MERGED, LONGEST = 24, 2, 70
WORDS = [
    "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "User", ":", "Describe", "the", "image", ".", "Assistant", "Ċ", "ĊĊ",
    *(f"w{index}" for index in range(40)),
]  # fmt: skip
ADDED = [
    "<image>", "<fake_token_around_image>", "<end_of_utterance>", "<global-img>",
    *(f"<row_{row}_col_{column}>" for row in range(1, 4) for column in range(1, 4)),
]  # fmt: skip
VOCABULARY = [*WORDS, *ADDED]
TEXT = {
    **SIZES,
    "vocab_size": len(VOCABULARY),
    "max_position_embeddings": 700,
    "num_hidden_layers": 4,
    "local_attention": 30,
    "pad_token_id": 3,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "cls_token_id": 1,
    "sep_token_id": 2,
}
VISION = {
    **IMAGES,
    "image_size": TILE,
    "patch_size": 4,
    "hidden_size": 24,
    "num_attention_heads": 3,
    "intermediate_size": 30,
    "num_hidden_layers": 2,
}
QUERIES = ["w1 w17 w5", "w30", "w2 w3 w4 w5 w6 w7 w8"]
#: (height, width): tiles in one row, in three rows and two columns, and one tile only.
PAGES = [(40, 90), (99, 61), (20, 20)]


def config_of(kind: str, **more: Any) -> Any:
    """transformers' config of "ModernVBert" or "ColModernVBert"."""
    import transformers

    own = {
        "text_config": {"model_type": "modernbert", **TEXT},
        "vision_config": {"model_type": "siglip_vision_model", **VISION},
        "pixel_shuffle_factor": MERGED,
        "image_token_id": VOCABULARY.index("<image>"),
    }
    if kind == "ModernVBert":
        return transformers.ModernVBertConfig(**own, **more)
    return transformers.ColModernVBertConfig(vlm_config={"model_type": "modernvbert", **own}, embedding_dim=17, **more)


def model_of(kind: str, head: str = "", seed: int = 0) -> nn.Module:
    """The reference with random weights, eager attention, in eval mode."""
    import transformers

    head = head or ("Model" if kind == "ModernVBert" else "ForRetrieval")
    made = getattr(transformers, f"{kind}{head}")._from_config(config_of(kind), attn_implementation="eager")
    return randomised(made, seed)


def write(model: nn.Module, folder: Path, **processor: Any) -> Path:
    """save_pretrained of the model and of its processor. processor: fields of the image processor."""
    model.save_pretrained(folder)
    processor_of(folder, **processor).save_pretrained(folder)
    return folder


def processor_of(folder: Path, **fields: Any) -> Any:
    """ColModernVBertProcessor, with a tokenizer whose words are their own ids."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import ColModernVBertProcessor, PreTrainedTokenizerFast
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    backend = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\n+|[:.]|\w+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.add_special_tokens(ADDED)
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]",
        mask_token="[MASK]", model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip
    usual = {"size": {"longest_edge": LONGEST}, "max_image_size": {"longest_edge": TILE}}
    images = Idefics3ImageProcessorPil(**usual | fields)
    side = TILE // VISION["patch_size"] // MERGED
    return ColModernVBertProcessor(images, tokenizer, image_seq_len=side**2)


def page(height: int, width: int, seed: int = 0) -> Image.Image:
    """A page of random colours."""
    colours = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(colours)
