"""AIMv2 (Fini et al. 2024): towers of Llama's norms and gated layers, and a learned query that pools its images.

The vectors of patches have a norm before positions are added. Models of the native resolution add sines of rows and
columns, which are not saved; here their images are squares of image_size.
"""

from typing import Any

from torch import nn

from encoder.checkpoints.families.clip import CLIP_IMAGE, CLIP_TEXT, IMAGE_CONFIG, TEXT_CONFIG
from encoder.checkpoints.families.family import Family, VectorNames
from encoder.checkpoints.families.names import both, layer
from encoder.checkpoints.families.reader import Fields, Key, unsupported
from encoder.checkpoints.families.vit import grid
from encoder.model.config import EncoderConfig
from encoder.model.sines import sines_of_grid
from encoder.model.vector_head import VectorHead, VectorHeadConfig

BLOCK: dict[str, Any] = {
    "norm_kind": "rms",
    "norm_bias": False,
    "norm_eps": Key("rms_norm_eps", 1e-5),
    "gated": True,
    "activation": Key("hidden_act", "silu"),
    "attention_bias": Key("qkv_bias", False),
    "ffn_bias": Key("mlp_bias", False),
}
NAMES = {
    **layer(
        "encoder.layers.{l}",
        "attention.q_proj attention.k_proj attention.v_proj attention.out_proj",
        "ffn.gate_proj ffn.up_proj ffn.down_proj",
        "rms_norm1 rms_norm2",
    ),
    **both("final_norm", "rms_norm"),
}
TEXT = CLIP_TEXT.but(
    NAMES,
    config=TEXT_CONFIG.but(causal=True, **BLOCK).taking(
        vocab_size=49_408, max_position_embeddings=77, hidden_size=768, intermediate_size=2048, num_attention_heads=6
    ),
    end="exact",
)


def head_of(fields: Fields, config: EncoderConfig, d_out: int | None = None) -> nn.Module:
    """The pooling of an image, by a query without a map of its own and without a feed-forward layer."""
    if not fields.flag("use_head", True):
        raise unsupported("use_head", False, "its weights have such a head; set it to true")
    bias = fields.flag("qkv_bias", False)
    head = VectorHeadConfig("attention", d_out, n_heads=config.n_heads, query_map=False, bias=bias, d_ffn=0)
    return VectorHead(config.d_model, head)


def vector_of(fields: Fields, projected: bool) -> VectorNames:
    """The learned query and its maps; projected: then the map to the width of the texts' vectors."""
    head = "{encoder}head"
    names = {"attention.probe": f"{head}.cls_token", **both("attention.w_o", f"{head}.output_proj")}
    for one in "kv":
        names[f"attention.w_{one}.weight"] = f"{head}.{one}_proj.weight"
        if fields.flag("qkv_bias", False):
            names[f"attention.w_{one}.bias"] = f"{head}.{one}_proj.bias"
    if not projected:
        return VectorNames(head_of, names)
    names["projection.weight"] = "visual_projection.weight"
    return VectorNames(lambda own, config: head_of(own, config, own.integer("projection_dim", 512)), names)


def image_of(fields: Fields, projected: bool = False) -> Family:
    """The tower of images with the parts that config.json names."""
    native = fields.flag("is_native", False)
    if native and fields.integer("hidden_size", 1024) % 4:
        raise unsupported("hidden_size", fields["hidden_size"], "choose a multiple of 4, whose sines fit")
    sines = sines_of_grid if native else None
    return IMAGE.but(vector=vector_of(fields, projected), sines=sines)


IMAGE = CLIP_IMAGE.but(
    {
        "embedding.tokens.norm.weight": "embeddings.rms_norm.weight",
        **both("embedding.tokens.projection", "embeddings.patch_embed"),
        **NAMES,
    },
    config=IMAGE_CONFIG.but(grid(14, cls=False, norm=True), **BLOCK).taking(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=24, num_attention_heads=8
    ),
    classifiers={},
    dropped={},
    of=image_of,
)
#: Of a checkpoint of both towers.
PAIRED_IMAGE = IMAGE.but(of=lambda fields: image_of(fields, projected=True))

FAMILIES = {"aimv2_text_model": TEXT, "aimv2_vision_model": IMAGE}
