"""CLIP (Radford et al. 2021) and SigLIP (Zhai et al. 2023): a tower of texts and one of images, both pre-norm.

CLIP's text tower is causal and ends with a projection; SigLIP's texts are filled up with padding that takes part, and
a learned query pools its images. Each tower is a family of its own, which a checkpoint may hold by itself.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from torch import nn

from encoder.errors import LoadError
from encoder.load.families.family import ClassifierNames, Family, Fields, Part, VectorNames, both
from encoder.load.families.vit import square
from encoder.model.config import EncoderConfig, Patches
from encoder.model.pooling import Dense, DenseConfig
from encoder.model.vector_head import VectorHead, VectorHeadConfig

#: What config.json of a tower leaves out, by its model_type: the defaults of transformers' configurations.
DEFAULTS: dict[str, dict[str, Any]] = {
    "clip_text_model": {"hidden_size": 512, "intermediate_size": 2048, "num_attention_heads": 8, "vocab_size": 49_408,
                        "max_position_embeddings": 77, "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5},
    "clip_vision_model": {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "patch_size": 32,
                          "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5},
    "siglip_text_model": {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12,
                          "vocab_size": 32_000, "max_position_embeddings": 64, "hidden_act": "gelu_pytorch_tanh",
                          "layer_norm_eps": 1e-6},
    "siglip_vision_model": {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "patch_size": 16,
                            "hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6},
}  # fmt: skip


def filled(fields: Fields) -> Fields:
    """A tower's fields with the defaults of its kind."""
    return Fields({"num_hidden_layers": 12, **DEFAULTS[fields["model_type"]], **fields})


def tower_fields(fields: Fields) -> dict[str, Any]:
    """The fields of EncoderConfig that both towers share."""
    fields.check_is_encoder()
    return {
        "d_model": fields.integer("hidden_size"),
        "n_layers": fields.layers(),
        "n_heads": fields.integer("num_attention_heads"),
        "d_ffn": fields.integer("intermediate_size"),
        "norm_placement": "pre",
        "final_norm": True,
        "norm_eps": fields.number("layer_norm_eps", 1e-5),
        "activation": fields.activation("hidden_act"),
        "attention_dropout": fields.number("attention_dropout", 0.0),
    }


def text_config(fields: Fields) -> EncoderConfig:
    """A text tower's config.json."""
    fields = filled(fields)
    return EncoderConfig(
        **tower_fields(fields),
        vocab_size=fields.integer("vocab_size"),
        max_positions=fields.integer("max_position_embeddings"),
        embedding_norm=False,
        causal=fields["model_type"] == "clip_text_model",
        pad_id=fields.pad_id(default=1),
    )


def image_config(fields: Fields) -> EncoderConfig:
    """A vision tower's config.json."""
    fields, clip = filled(fields), fields["model_type"] == "clip_vision_model"
    patches = Patches(
        square(fields, "image_size", 224), square(fields, "patch_size", 16), fields.integer("num_channels", 3),
        cls=clip, bias=not clip,
    )  # fmt: skip
    return EncoderConfig(
        **tower_fields(fields),
        vocab_size=0,
        max_positions=patches.n_tokens,
        embedding_norm=clip,
        patches=patches,
    )


def clip_text_projection(fields: Fields, config: EncoderConfig) -> nn.Module:
    """CLIP's projection of a text's last token."""
    width = fields.integer("projection_dim", 512)
    return Dense(DenseConfig(config.d_model, width, bias=False, activation="none"))


def clip_image_projection(fields: Fields, config: EncoderConfig) -> nn.Module:
    """CLIP's projection of [CLS]."""
    return VectorHead(config.d_model, VectorHeadConfig("cls", fields.integer("projection_dim", 512)))


def siglip_text_head(fields: Fields, config: EncoderConfig) -> nn.Module:
    """SigLIP's linear map of the last of the 64 tokens."""
    width = config.d_model if fields.get("projection_size") is None else fields.integer("projection_size")
    return Dense(DenseConfig(config.d_model, width, activation="none"))


def siglip_image_head(fields: Fields, config: EncoderConfig) -> nn.Module:
    """SigLIP's attention pooling."""
    if not fields.flag("vision_use_head", True):
        raise LoadError("config.json has vision_use_head=false, and the weights have such a head: correct it.")
    head = VectorHeadConfig(
        "attention",
        n_heads=config.n_heads,
        d_ffn=config.d_ffn,
        activation=config.activation,
        norm_eps=config.norm_eps,
    )
    return VectorHead(config.d_model, head)


LAYERS = {
    **both("layers.{l}.attention_norm", "encoder.layers.{l}.layer_norm1"),
    **both("layers.{l}.attention.w_q", "encoder.layers.{l}.self_attn.q_proj"),
    **both("layers.{l}.attention.w_k", "encoder.layers.{l}.self_attn.k_proj"),
    **both("layers.{l}.attention.w_v", "encoder.layers.{l}.self_attn.v_proj"),
    **both("layers.{l}.attention.w_o", "encoder.layers.{l}.self_attn.out_proj"),
    **both("layers.{l}.ffn_norm", "encoder.layers.{l}.layer_norm2"),
    **both("layers.{l}.ffn.w_in", "encoder.layers.{l}.mlp.fc1"),
    **both("layers.{l}.ffn.w_out", "encoder.layers.{l}.mlp.fc2"),
}

CLIP_TEXT = Family(
    config=text_config,
    names={
        "embedding.tokens.weight": "embeddings.token_embedding.weight",
        "embedding.positions.table.weight": "embeddings.position_embedding.weight",
        **LAYERS,
        **both("final_norm", "final_layer_norm"),
    },
    prefixes=("text_model.", ""),
    vector=VectorNames(clip_text_projection, {"linear.weight": "text_projection.weight"}),
    pooling="last",
    dropped={r"embeddings\.position_ids": ""},
)

CLIP_IMAGE = Family(
    config=image_config,
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
        "resample": 3, "size": {"shortest_edge": 224}, "crop_size": 224, "do_center_crop": True,
        "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711],
    },
)  # fmt: skip

SIGLIP_TEXT = dataclasses.replace(
    CLIP_TEXT,
    vector=VectorNames(
        siglip_text_head, {"linear.weight": "{encoder}head.weight", "linear.bias": "{encoder}head.bias"}
    ),
    filled=True,
)

_HEAD = "{encoder}head"
SIGLIP_IMAGE = dataclasses.replace(
    CLIP_IMAGE,
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
