"""Encoders of images with ViT's block (Dosovitskiy et al. 2021): pre-norm, on patches.

Layer scale multiplies what a sublayer adds, component by component; here it is part of the sublayer's last linear map.
"""

from collections.abc import Callable
from typing import Any

from encoder.checkpoints.families.family import ClassifierNames, Family
from encoder.checkpoints.families.names import IN_GATE, blocks, both, layer, scaled
from encoder.checkpoints.families.parts import Part
from encoder.checkpoints.families.reader import SIGNAL, Fields, Key, Reader, unsupported
from encoder.model.config import Patches


def square(fields: Fields, key: str, default: int) -> int:
    """A side in pixels, as one number or two equal ones. Raises LoadError for other shapes."""
    value = fields.get(key, default)
    if isinstance(value, list) and len(value) == 2 and value[0] == value[1]:
        value = value[0]
    if isinstance(value, list):
        raise unsupported(key, value, "choose square images and patches")
    return Fields({key: value}).integer(key)


def grid(
    patch_size: int = 16, image_size: int = 224, registers: int | None = None, **more: Any
) -> Callable[[Fields], dict[str, Any]]:
    """A reader of the patches. patch_size, image_size, registers: where config.json has none, None: there are no
    registers."""

    def read(fields: Fields) -> dict[str, Any]:
        image, patch = square(fields, "image_size", image_size), square(fields, "patch_size", patch_size)
        if not 0 < patch <= image:
            raise unsupported("patch_size", patch, f"choose 1 to {image}, the pixels of an image")
        extra = 0 if registers is None else fields.integer("num_register_tokens", registers)
        found = Patches(image, patch, fields.integer("num_channels", 3), registers=extra, **more)
        return {"patches": found, "max_positions": found.n_tokens}

    return read


def vit_config(*several: Callable[[Fields], dict[str, Any]], **values: Any) -> Reader:
    """ViT's config.json, with what differs."""
    return SIGNAL.but(*several, **{"qkv_bias": Key("qkv_bias", True), **values}).refusing(
        pooler_act=("tanh", "choose a pooler with tanh"),
        pooler_output_size=(lambda fields: fields.integer("hidden_size"), "choose a pooler of the model's width"),
    )


LAYER = "encoder.layer.{l}"
#: transformers 5 has other names in memory, and may write them.
RENAMED = (
    (r"(.*\.layer\.\d+\.attention)\.q_proj\.(.+)", r"\1.attention.query.\2"),
    (r"(.*\.layer\.\d+\.attention)\.k_proj\.(.+)", r"\1.attention.key.\2"),
    (r"(.*\.layer\.\d+\.attention)\.v_proj\.(.+)", r"\1.attention.value.\2"),
    (r"(.*\.layer\.\d+\.attention)\.o_proj\.(.+)", r"\1.output.dense.\2"),
)
#: The weights of a layer, as transformers has saved them.
BLOCK = layer(
    LAYER,
    "attention.attention.query attention.attention.key attention.attention.value attention.output.dense",
    "intermediate.dense output.dense",
    "layernorm_before layernorm_after",
)
VIT = Family(
    config=vit_config(grid()),
    names={
        **both("embedding.tokens.projection", "embeddings.patch_embeddings.projection"),
        "embedding.tokens.cls": "embeddings.cls_token",
        "embedding.positions.table.weight": Part("embeddings.position_embeddings", unwrap=True),
        **BLOCK,
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
    renamed=(
        (r"((?:\w+\.)?)layers\.(\d+)\.(.+)", r"\1encoder.layer.\2.\3"),
        *RENAMED,
        (r"(.*\.layer\.\d+)\.mlp\.fc1\.(.+)", r"\1.intermediate.dense.\2"),
        (r"(.*\.layer\.\d+)\.mlp\.fc2\.(.+)", r"\1.output.dense.\2"),
    ),
    images=True,
)

#: Touvron et al. 2021: a distillation token next to [CLS]. Its head with a teacher is left out.
DEIT = VIT.but(
    {"embedding.tokens.distillation": "embeddings.distillation_token"},
    config=vit_config(grid(distillation=True)),
    prefixes=("deit.", ""),
    dropped={**VIT.dropped, r"(cls|distillation)_classifier\.(weight|bias)": "a classification head with a teacher"},
)
#: Assran et al. 2023: no [CLS].
IJEPA = VIT.but(config=vit_config(grid(cls=False)), prefixes=("ijepa.", ""))


def bias_of_grid(fields: Fields) -> dict[str, Any]:
    """BEiT's bias by rows and columns, of each layer or of all. With mean pooling its last norm belongs to the pooling,
    which is left out."""
    own, shared = (fields.flag(f"use_{kind}relative_position_bias", False) for kind in ("", "shared_"))
    if own and shared:
        raise unsupported(
            "use_shared_relative_position_bias", shared, "choose a model with one table of biases a layer"
        )
    if fields.number("layer_scale_init_value", 0.1) <= 0:
        raise unsupported("layer_scale_init_value", fields["layer_scale_init_value"], "choose a model with layer scale")
    return {
        "position": "learned" if fields.flag("use_absolute_position_embeddings", False) else "none",
        "final_norm": not fields.flag("use_mean_pooling", True),
        "relative_grid": own or shared,
        "relative_per_layer": own,
    }


TABLE = "relative_position_bias.relative_position_bias_table"
#: Bao et al. 2022.
BEIT = VIT.but(
    {
        **scaled("layers.{l}.attention.w_o", f"{LAYER}.attention.output.dense", f"{LAYER}.lambda_1"),
        **scaled("layers.{l}.ffn.w_out", f"{LAYER}.output.dense", f"{LAYER}.lambda_2"),
        "layers.{l}.attention.relative_bias.weight": f"{LAYER}.attention.attention.{TABLE}",
        "relative_bias.weight": f"encoder.{TABLE}",
    },
    config=vit_config(grid(), bias_of_grid, key_bias=False),
    prefixes=("beit.", ""),
    classifiers={},
    dropped={
        r"(classifier|lm_head)\.(weight|bias)": "a head",
        r"(pooler\.)?layernorm\.(weight|bias)": "the norm of the pooled vector",
        r"embeddings\.mask_token|.*relative_position_index": "",
    },
    renamed=VIT.renamed[1:],
)

#: Oquab et al. 2023, also with registers (Darcet et al. 2024).
DINOV2_CONFIG = vit_config(
    d_ffn=lambda fields: int(fields.integer("hidden_size") * fields.number("mlp_ratio", 4)),
    norm_eps=Key("layer_norm_eps", 1e-6),
)


def swiglu(fields: Fields) -> dict[str, Any]:
    """DINOv2's gate: two thirds of the width, rounded up to a multiple of 8."""
    hidden = int(fields.integer("hidden_size") * fields.number("mlp_ratio", 4))
    return {"gated": True, "activation": "silu", "d_ffn": (int(hidden * 2 / 3) + 7) // 8 * 8}


SCALES = [f"{LAYER}.layer_scale{part}.lambda1" for part in (1, 2)]
DINOV2 = VIT.but(
    {
        "embedding.tokens.registers": "embeddings.register_tokens",
        **layer(LAYER, ffn="mlp.fc1 mlp.fc2", norms="norm1 norm2"),
        **scaled("layers.{l}.attention.w_o", f"{LAYER}.attention.output.dense", SCALES[0]),
        **scaled("layers.{l}.ffn.w_out", f"{LAYER}.mlp.fc2", SCALES[1]),
    },
    config=DINOV2_CONFIG.but(grid(14)),
    prefixes=("dinov2.", "dinov2_with_registers.", ""),
    classifiers={},
    dropped={r"classifier\.(weight|bias)": "a classification head", r"embeddings\.mask_token": ""},
    renamed=RENAMED,
)


def with_gate(family: Family) -> Family:
    """DINOv2 with either feed-forward layer. With SwiGLU, the map to the activation and the gate are one weight."""
    gated = family.but(
        {
            **blocks(IN_GATE, f"{LAYER}.mlp.weights_in"),
            **scaled("layers.{l}.ffn.w_out", f"{LAYER}.mlp.weights_out", SCALES[1]),
        },
        config=family.config.but(swiglu),
    )
    return family.but(of=lambda fields: gated if fields.flag("use_swiglu_ffn", False) else family)


def dinov3_fields(fields: Fields) -> dict[str, Any]:
    """Rotary positions by row and column, and which maps have a bias."""
    biased, base = fields.flag("query_bias", True), fields.number("rope_theta", 100.0)
    fields.only("value_bias", biased, "choose a model whose queries and values both have a bias, or none")
    if base <= 0:
        raise unsupported("rope_theta", base, "choose a number above 0")
    return {"position": "rotary", "rotary_base": base, "rotary_grid": True, "qkv_bias": biased}


V3 = "layer.{l}"
#: Simeoni et al. 2025: ViT with registers, layer scale, and rotary positions by row and column.
DINOV3 = Family(
    config=SIGNAL.but(
        grid(registers=0), dinov3_fields, norm_eps=Key("layer_norm_eps", 1e-5), gated=Key("use_gated_mlp", False),
        attention_bias=Key("proj_bias", True), key_bias=Key("key_bias", False), ffn_bias=Key("mlp_bias", True),
        dropout=0.0, attention_dropout=Key("attention_dropout", 0.0),
    ).refusing(apply_layernorm=(True, "choose a model with a norm at its end")),
    names={
        "embedding.tokens.cls": "embeddings.cls_token",
        "embedding.tokens.registers": "embeddings.register_tokens",
        **both("embedding.tokens.projection", "embeddings.patch_embeddings"),
        **layer(
            V3, "attention.q_proj attention.k_proj attention.v_proj", "mlp.up_proj mlp.down_proj", "norm1 norm2"
        ),
        **scaled("layers.{l}.attention.w_o", f"{V3}.attention.o_proj", f"{V3}.layer_scale1.lambda1"),
        **scaled("layers.{l}.ffn.w_out", f"{V3}.mlp.down_proj", f"{V3}.layer_scale2.lambda1"),
        **both("final_norm", "norm"),
    },
    prefixes=("dinov3_vit.", "model.", ""),
    dropped={r"embeddings\.(mask_token|register_tokens)": ""},  # without registers the file has a table of none
    images=True,
)  # fmt: skip
DINOV3_GATED = DINOV3.but({**both(IN_GATE[0], f"{V3}.mlp.gate_proj"), **both(IN_GATE[1], f"{V3}.mlp.up_proj")})


def detection(fields: Fields) -> dict[str, Any]:
    """YOLOS accepts images of any size, for which it scales its tables of positions. Here they are square, of the
    shorter side of the images that the tables were made for."""
    size, patch = fields.get("image_size", [512, 864]), max(1, fields.integer("patch_size", 16))
    if not isinstance(size, list) or len(size) != 2:
        raise unsupported("image_size", size, "specify height and width")
    height, width = (Fields({"image_size": one}).integer("image_size") for one in size)
    n_tokens, table = fields.integer("num_detection_tokens", 100), (height // patch, width // patch)
    return grid(detection=n_tokens, table=table)(Fields({**fields, "image_size": min(height, width)}))


#: Fang et al. 2021: ViT with detection tokens, whose outputs say where an object is. They come after the patches there,
#: and before them here; no token's output depends on that order.
YOLOS = VIT.but(
    {"embedding.tokens.detection": "embeddings.detection_tokens", "layer_positions": "encoder.mid_position_embeddings"},
    config=vit_config(detection, layer_positions=Key("use_mid_position_embeddings", True)),
    classifiers={},
    dropped={r"(class_labels_classifier|bbox_predictor)\..*": "heads that name and place objects"},
    renamed=(*VIT.renamed, (r"(.*encoder)\.interpolation\.(mid_position_embeddings)", r"\1.\2")),
)

FAMILIES = {
    "beit": BEIT,
    # Baevski et al. 2022.
    "data2vec-vision": BEIT.but(prefixes=("data2vec_vision.", "")),
    "deit": DEIT,
    "dinov2": with_gate(DINOV2),
    "dinov2_with_registers": with_gate(DINOV2.but(config=DINOV2_CONFIG.but(grid(registers=4)))),
    "dinov3_vit": DINOV3.but(of=lambda fields: DINOV3_GATED if fields.flag("use_gated_mlp", False) else DINOV3),
    "ijepa": IJEPA,
    "vit": VIT,
    "yolos": YOLOS,
    # He et al. 2022. The whole image is encoded: nothing is masked, as after its training. Its sines are saved as a
    # table.
    "vit_mae": VIT.but(dropped={**VIT.dropped, r"decoder\..*": "a head that reconstructs masked patches"}),
    "vit_msn": VIT.but(config=VIT.config.taking(layer_norm_eps=1e-6)),  # Assran et al. 2022
}
