"""CLIP (Radford et al. 2021) and SigLIP (Zhai et al. 2023): a tower of texts and one of images, both pre-norm.

CLIP's text tower is causal and ends with a projection; SigLIP's texts are filled up with padding that takes part, and
a learned query pools its images. Each tower is a family of its own, which a checkpoint may hold by itself.
"""

import math
from collections.abc import Callable
from typing import Any

from torch import nn

from encoder.checkpoints.families.bert import BERT, BERT_CONFIG
from encoder.checkpoints.families.family import ClassifierNames, Family, VectorNames
from encoder.checkpoints.families.names import both, layer
from encoder.checkpoints.families.parts import Part
from encoder.checkpoints.families.reader import PRE, STANDARD, Fields, Key, unsupported
from encoder.checkpoints.families.vit import grid
from encoder.errors import LoadError
from encoder.model.config import EncoderConfig
from encoder.model.pooling import Dense, DenseConfig
from encoder.model.vector_head import VectorHead, VectorHeadConfig

USUAL = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
#: Mean and std of the pixels that CLIP was trained on.
CLIP_COLOURS = {
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
}
CLIP_USUAL = {"hidden_act": "quick_gelu", "layer_norm_eps": 1e-5}
SIGLIP_USUAL = {"hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6}
TOWER = STANDARD.but(dropout=0.0, attention_dropout=Key("attention_dropout", 0.0), **PRE)
TEXT_CONFIG = TOWER.but(pad_id=Key("pad_token_id", 1)).taking(**USUAL)
IMAGE_CONFIG = TOWER.but(vocab_size=0, max_positions=1, pad_id=0).taking(**USUAL)


def text_vector(bias: bool, key: str) -> Callable[[Fields, EncoderConfig], nn.Module]:
    """The linear map of a text's last token, to the width in this field, or else to the tower's."""
    return lambda fields, config: Dense(
        DenseConfig(config.d_model, fields.unless_null(key, config.d_model), bias=bias, activation="none")
    )


def clip_image_projection(fields: Fields, config: EncoderConfig) -> nn.Module:
    """CLIP's projection of [CLS]."""
    return VectorHead(config.d_model, VectorHeadConfig("cls", fields.integer("projection_dim", 512)))


def siglip_image_head(fields: Fields, config: EncoderConfig) -> nn.Module:
    """SigLIP's attention pooling."""
    if not fields.flag("vision_use_head", True):
        raise LoadError("config.json has vision_use_head=false, and the weights have such a head: correct it.")
    head = VectorHeadConfig(
        "attention", n_heads=config.n_heads, d_ffn=config.d_ffn, activation=config.activation, norm_eps=config.norm_eps
    )
    return VectorHead(config.d_model, head)


LAYERS = layer(
    "encoder.layers.{l}",
    "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj",
    "mlp.fc1 mlp.fc2",
    "layer_norm1 layer_norm2",
)

CLIP_TEXT = Family(
    config=TEXT_CONFIG.but(causal=True).taking(
        **CLIP_USUAL,
        vocab_size=49_408,
        max_position_embeddings=77,
        hidden_size=512,
        intermediate_size=2048,
        num_attention_heads=8,
    ),
    names={
        "embedding.tokens.weight": "embeddings.token_embedding.weight",
        "embedding.positions.table.weight": "embeddings.position_embedding.weight",
        **LAYERS,
        **both("final_norm", "final_layer_norm"),
    },
    prefixes=("text_model.", ""),
    vector=VectorNames(text_vector(bias=False, key="projection_dim"), {"linear.weight": "text_projection.weight"}),
    pooling="last",
    dropped={r"embeddings\.position_ids": ""},
)

CLIP_IMAGE = Family(
    config=IMAGE_CONFIG.but(grid(32, bias=False), embedding_norm=True).taking(**CLIP_USUAL),
    names={
        **both("embedding.tokens.projection", "embeddings.patch_embedding"),
        "embedding.tokens.cls": Part("embeddings.class_embedding", wrap=2),
        "embedding.positions.table.weight": "embeddings.position_embedding.weight",
        **both("embedding.norm", "pre_layrnorm"),  # spelled so on disk
        **LAYERS,
        **both("final_norm", "post_layernorm"),
    },
    prefixes=("vision_model.", ""),
    vector=VectorNames(clip_image_projection, {"projection.weight": "visual_projection.weight"}),
    # The head uses the last layer's output before the final norm.
    classifiers={
        "sequence": ClassifierNames(options=lambda fields: {"pooling": "after_first", "before_norm": True})
    },
    dropped={r"embeddings\.position_ids": "", r"classifier\.(weight|bias)": "a classification head"},
    images=True,
    preparation={
        "resample": 3, "size": {"shortest_edge": 224}, "crop_size": 224, "do_center_crop": True, **CLIP_COLOURS,
    },
)  # fmt: skip

SIGLIP_TEXT = CLIP_TEXT.but(
    config=TEXT_CONFIG.taking(**SIGLIP_USUAL, vocab_size=32_000, max_position_embeddings=64),
    vector=VectorNames(text_vector(bias=True, key="projection_size"), both("linear", "{encoder}head")),
    filled=True,
)

_HEAD = "{encoder}head"
SIGLIP_IMAGE = CLIP_IMAGE.but(
    config=IMAGE_CONFIG.but(grid(16, cls=False, bias=True)).taking(**SIGLIP_USUAL),
    vector=VectorNames(
        siglip_image_head,
        {
            "attention.probe": f"{_HEAD}.probe",
            **{f"attention.{ours}.{kind}": Part(f"{_HEAD}.attention.in_proj_{kind}", index, 3)
               for index, ours in enumerate(("w_q", "w_k", "w_v")) for kind in ("weight", "bias")},
            **both("attention.w_o", f"{_HEAD}.attention.out_proj"),
            **both("attention.norm", f"{_HEAD}.layernorm"),
            **both("attention.w_in", f"{_HEAD}.mlp.fc1"),
            **both("attention.w_out", f"{_HEAD}.mlp.fc2"),
        },
    ),
    classifiers={"sequence": ClassifierNames(options=lambda fields: {"pooling": "mean"})},
    preparation={"resample": 3},
)  # fmt: skip


def square_of_patches(fields: Fields) -> dict[str, Any]:
    """SigLIP 2's table of positions belongs to a square of patches, to which every image is scaled here."""
    count = fields.integer("num_patches", 256)
    side = math.isqrt(max(0, count))
    if side < 1 or side**2 != count:
        raise unsupported("num_patches", count, "choose a square number of patches")
    fields.only("num_channels", 3, "choose a model of three channels")
    patch = fields.integer("patch_size", 16)
    return grid(16, cls=False)(Fields({"image_size": side * patch, "patch_size": patch}))


#: Tschannen et al. 2025, with patches of any shape (NaFlex): here of its square.
SIGLIP2_IMAGE = SIGLIP_IMAGE.but(
    {"embedding.tokens.projection.weight": Part("embeddings.patch_embedding.weight", channels=3)},
    config=IMAGE_CONFIG.but(square_of_patches).taking(**SIGLIP_USUAL),
    preparation={},
)

#: Yang et al. 2022: BERT in the place of CLIP's texts, with the vector of [CLS].
CHINESE_TEXT = BERT.but(
    config=BERT_CONFIG.taking(**USUAL, vocab_size=30_522, max_position_embeddings=512),
    prefixes=("text_model.", ""),
    vector=VectorNames(text_vector(bias=False, key="projection_dim"), {"linear.weight": "text_projection.weight"}),
    pooling="cls",
    head=None,
    classifiers={},
)
CHINESE_IMAGE = CLIP_IMAGE.but(classifiers={})

#: OWL-ViT and OWLv2 (Minderer et al. 2022, 2023): CLIP, from whose patches heads find objects. A text ends with the
#: token of the largest id.
OWL_TEXT = CLIP_TEXT.but(config=CLIP_TEXT.config.taking(max_position_embeddings=16, pad_token_id=0), end="largest")
OWL_IMAGE = CLIP_IMAGE.but(
    both("embedding.norm", "pre_layernorm"),
    config=IMAGE_CONFIG.but(grid(32, 768, bias=False), embedding_norm=True).taking(**CLIP_USUAL),
    classifiers={},
    dropped={r"embeddings\.position_ids": ""},
    preparation={"resample": 3, **CLIP_COLOURS},
)
OWL2_IMAGE = OWL_IMAGE.but(
    config=IMAGE_CONFIG.but(grid(16, 768, bias=False), embedding_norm=True).taking(**CLIP_USUAL),
    preparation={"resample": 2, "do_pad": True, "smooths": True, **CLIP_COLOURS},
)
OWL_HEADS = {
    r"(class|box|objectness)_head\..*|layer_norm\.(weight|bias)": "heads that name and place objects",
    "box_bias": "",
}

#: MetaCLIP 2 (Chuang et al. 2025) is CLIP with another tokenizer and more words.
FAMILIES = {
    "chinese_clip_text_model": CHINESE_TEXT,
    "chinese_clip_vision_model": CHINESE_IMAGE,
    "clip_text_model": CLIP_TEXT,
    "clip_vision_model": CLIP_IMAGE,
    "metaclip_2_text_model": CLIP_TEXT,
    "metaclip_2_vision_model": CLIP_IMAGE,
    "owlv2_text_model": OWL_TEXT,
    "owlv2_vision_model": OWL2_IMAGE,
    "owlvit_text_model": OWL_TEXT,
    "owlvit_vision_model": OWL_IMAGE,
    "siglip2_text_model": SIGLIP_TEXT,
    "siglip2_vision_model": SIGLIP2_IMAGE,
    "siglip_text_model": SIGLIP_TEXT,
    "siglip_vision_model": SIGLIP_IMAGE,
}
