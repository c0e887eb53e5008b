"""ViT (Dosovitskiy et al. 2021) and DeiT (Touvron et al. 2021): the pre-norm encoder on the patches of an image."""

from __future__ import annotations

import dataclasses

from encoder.load.families.family import ClassifierNames, Family, Fields, Part, both, unsupported, with_defaults
from encoder.model.config import EncoderConfig, Patches


def vit_config(fields: Fields, cls: bool = True) -> EncoderConfig:
    """ViT's config.json, and DeiT's. cls: whether there is a [CLS]."""
    fields.check_is_encoder()
    fields.only("pooler_act", "tanh", "choose a pooler with tanh")
    width = fields.integer("hidden_size")
    fields.only("pooler_output_size", width, "choose a pooler of the model's width")
    image_size, patch_size = square(fields, "image_size", 224), square(fields, "patch_size", 16)
    if not 0 < patch_size <= image_size:
        raise unsupported("patch_size", patch_size, f"choose 1 to {image_size}, the pixels of an image")
    patches = Patches(
        image_size, patch_size, fields.integer("num_channels", 3), fields.get("model_type") == "deit", cls=cls
    )
    return EncoderConfig(
        vocab_size=0,
        d_model=width,
        n_layers=fields.layers(),
        n_heads=fields.integer("num_attention_heads"),
        d_ffn=fields.integer("intermediate_size"),
        max_positions=patches.n_tokens,
        norm_placement="pre",
        embedding_norm=False,
        final_norm=True,
        norm_eps=fields.number("layer_norm_eps", 1e-12),
        qkv_bias=fields.flag("qkv_bias", True),
        activation=fields.activation("hidden_act"),
        dropout=fields.number("hidden_dropout_prob", 0.0),
        attention_dropout=fields.number("attention_probs_dropout_prob", 0.0),
        patches=patches,
    )


def square(fields: Fields, key: str, default: int) -> int:
    """A side in pixels, as one number or two equal ones. Raises LoadError for other shapes."""
    value = fields.get(key, default)
    if isinstance(value, list) and len(value) == 2 and value[0] == value[1]:
        value = value[0]
    if isinstance(value, list):
        raise unsupported(key, value, "choose square images and patches")
    return Fields({key: value}).integer(key)


VIT = Family(
    config=vit_config,
    names={
        "embedding.tokens.cls": "embeddings.cls_token",
        **both("embedding.tokens.projection", "embeddings.patch_embeddings.projection"),
        "embedding.positions.table.weight": Part("embeddings.position_embeddings", unwrap=True),
        **both("layers.{l}.attention_norm", "encoder.layer.{l}.layernorm_before"),
        **both("layers.{l}.attention.w_q", "encoder.layer.{l}.attention.attention.query"),
        **both("layers.{l}.attention.w_k", "encoder.layer.{l}.attention.attention.key"),
        **both("layers.{l}.attention.w_v", "encoder.layer.{l}.attention.attention.value"),
        **both("layers.{l}.attention.w_o", "encoder.layer.{l}.attention.output.dense"),
        **both("layers.{l}.ffn_norm", "encoder.layer.{l}.layernorm_after"),
        **both("layers.{l}.ffn.w_in", "encoder.layer.{l}.intermediate.dense"),
        **both("layers.{l}.ffn.w_out", "encoder.layer.{l}.output.dense"),
        **both("final_norm", "layernorm"),
        **both("pooler", "pooler.dense"),
    },
    prefixes=("vit.", ""),
    classifiers={"sequence": ClassifierNames()},
    dropped={
        r"classifier\.(weight|bias)": "a classification head",
        r"decoder\.0\.(weight|bias)": "a head that reconstructs masked patches",
        r"embeddings\.mask_token": "",
    },
    # transformers 5 has other names in memory, and may write them.
    renamed=(
        (r"((?:vit\.)?)layers\.(\d+)\.(.+)", r"\1encoder.layer.\2.\3"),
        (r"(.*\.layer\.\d+\.attention)\.q_proj\.(.+)", r"\1.attention.query.\2"),
        (r"(.*\.layer\.\d+\.attention)\.k_proj\.(.+)", r"\1.attention.key.\2"),
        (r"(.*\.layer\.\d+\.attention)\.v_proj\.(.+)", r"\1.attention.value.\2"),
        (r"(.*\.layer\.\d+\.attention)\.o_proj\.(.+)", r"\1.output.dense.\2"),
        (r"(.*\.layer\.\d+)\.mlp\.fc1\.(.+)", r"\1.intermediate.dense.\2"),
        (r"(.*\.layer\.\d+)\.mlp\.fc2\.(.+)", r"\1.output.dense.\2"),
    ),
    images=True,
)

#: DeiT: a distillation token next to [CLS], and the same layers. Its head with a teacher is left out.
DEIT = dataclasses.replace(
    VIT,
    names={**VIT.names, "embedding.tokens.distillation": "embeddings.distillation_token"},
    prefixes=("deit.", ""),
    dropped={**VIT.dropped, r"(cls|distillation)_classifier\.(weight|bias)": "a classification head with a teacher"},
    renamed=tuple((pattern.replace("vit", "deit"), written) for pattern, written in VIT.renamed),
)

#: He et al. 2022. The whole image is encoded: nothing is masked, as after its training. Its sines are saved as a table.
VIT_MAE = dataclasses.replace(VIT, dropped={**VIT.dropped, r"decoder\..*": "a head that reconstructs masked patches"})
VIT_MSN = dataclasses.replace(VIT, config=with_defaults(vit_config, layer_norm_eps=1e-6))  # Assran et al. 2022
#: Assran et al. 2023: no [CLS].
IJEPA = dataclasses.replace(
    VIT,
    config=lambda fields: vit_config(fields, cls=False),
    names={
        **both("embedding.tokens.projection", "embeddings.patch_embeddings.projection"),
        **{ours: theirs for ours, theirs in VIT.names.items() if ours != "embedding.tokens.cls"},
    },
    prefixes=("ijepa.", ""),
    renamed=tuple((pattern.replace("vit", "ijepa"), written) for pattern, written in VIT.renamed),
)
