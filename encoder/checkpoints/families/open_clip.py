"""CLIP as OpenCLIP writes it: open_clip_config.json with its own names of sizes, open_clip_model.safetensors with the
names of OpenAI's first files. The towers are those of `families.clip`."""

from typing import Any

from encoder.checkpoints.families.clip import CLIP_IMAGE, CLIP_TEXT, clip_image_projection, text_vector
from encoder.checkpoints.families.family import VectorNames
from encoder.checkpoints.families.names import QKV, both, layer
from encoder.checkpoints.families.parts import Part
from encoder.checkpoints.families.reader import Fields

KIND, FILE, WEIGHTS = "open_clip", "open_clip_config.json", "open_clip_model.safetensors"
#: What a CLIP may say of its towers; each other key is of another model, such as a ResNet or a text tower of BERT.
VISION_KEYS = {"image_size", "layers", "width", "patch_size", "head_width", "mlp_ratio"}
TEXT_KEYS = {"context_length", "vocab_size", "width", "heads", "layers", "mlp_ratio"}
#: Numbers of Pillow's ways to scale an image.
WAYS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4}


def as_clip(given: Fields) -> Fields:
    """open_clip_config.json with the names of CLIP's config.json. Raises LoadError for another model than CLIP."""
    about = Fields.of(FILE, _object(given, "model_cfg"))
    vision = Fields.of(FILE, _object(about, "vision_cfg"))
    text = Fields.of(FILE, _object(about, "text_cfg"))
    for of_tower, known in ((vision, VISION_KEYS), (text, TEXT_KEYS)):
        for key, value in of_tower.items():
            if key not in known and value not in (None, False):
                raise given.wrong(key, value, "choose a CLIP of OpenCLIP whose towers are its own transformers")
    activation = "quick_gelu" if about.flag("quick_gelu", False) else "gelu"
    width, of_text = vision.integer("width", 768), text.integer("width", 512)
    return Fields(
        {
            "model_type": KIND,
            "projection_dim": about.integer("embed_dim", 512),
            "vision_config": {
                "hidden_size": width,
                "num_hidden_layers": vision.integer("layers", 12),
                "num_attention_heads": max(1, width // max(1, vision.integer("head_width", 64))),
                "intermediate_size": int(width * vision.number("mlp_ratio", 4.0)),
                "image_size": vision.integer("image_size", 224),
                "patch_size": vision.integer("patch_size", 16),
                "hidden_act": activation,
            },
            "text_config": {
                "hidden_size": of_text,
                "num_hidden_layers": text.integer("layers", 12),
                "num_attention_heads": text.integer("heads", 8),
                "intermediate_size": int(of_text * text.number("mlp_ratio", 4.0)),
                "max_position_embeddings": text.integer("context_length", 77),
                "vocab_size": text.integer("vocab_size", 49_408),
                "hidden_act": activation,
                "eos_token_id": 2,  # its vector is that of the largest id, as in CLIP's first files
            },
        }
    )


def preparation(given: Fields, side: int) -> dict[str, Any]:
    """preprocess_cfg as keys of preprocessor_config.json."""
    about = given.get("preprocess_cfg")
    said = about if isinstance(about, dict) else {}
    if said.get("resize_mode", "shortest") != "shortest":
        raise given.wrong("resize_mode", said["resize_mode"], "choose a model that scales the shorter side")
    found = {
        "size": {"shortest_edge": side},
        "crop_size": side,
        "resample": WAYS.get(str(said.get("interpolation", "bicubic")), -1),
    }
    return found | {f"image_{key}": said[key] for key in ("mean", "std") if key in said}


def _object(given: Fields, key: str) -> dict[str, Any]:
    found = given.get(key)
    if not isinstance(found, dict):
        raise given.wrong(key, found, "specify an object")
    return found


LAYER = "transformer.resblocks.{l}"
BLOCK = {
    **{
        f"{ours}.{kind}": Part(f"{LAYER}.attn.in_proj_{kind}", index, 3)
        for index, ours in enumerate(QKV)
        for kind in ("weight", "bias")
    },
    **both("layers.{l}.attention.w_o", f"{LAYER}.attn.out_proj"),
    **layer(LAYER, ffn="mlp.c_fc mlp.c_proj", norms="ln_1 ln_2"),
}
TEXT = CLIP_TEXT.but(
    {
        "embedding.tokens.weight": "token_embedding.weight",
        "embedding.positions.table.weight": "positional_embedding",
        **BLOCK,
        **both("final_norm", "ln_final"),
    },
    prefixes=("",),
    vector=VectorNames(
        text_vector(bias=False, key="projection_dim"), {"linear.weight": Part("text_projection", transpose=True)}
    ),
    dropped={"attn_mask": ""},
)
IMAGE = CLIP_IMAGE.but(
    {
        **both("embedding.tokens.projection", "conv1"),
        "embedding.tokens.cls": Part("class_embedding", wrap=2),
        "embedding.positions.table.weight": "positional_embedding",
        **both("embedding.norm", "ln_pre"),
        **BLOCK,
        **both("final_norm", "ln_post"),
    },
    prefixes=("visual.",),
    vector=VectorNames(clip_image_projection, {"projection.weight": Part("{encoder}proj", transpose=True)}),
    classifiers={},
    dropped={},
)
TEXTS = ("token_embedding.", "positional_embedding", "transformer.", "ln_final.", "text_projection", "attn_mask")
