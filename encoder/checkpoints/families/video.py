"""Encoders of videos with ViT's block, whose tokens are tubelets: VideoMAE (Tong et al. 2022), and V-JEPA 2 (Assran et
al. 2025), whose heads rotate by time step, row and column."""

from collections.abc import Callable
from typing import Any

from encoder.checkpoints.families.family import ClassifierNames, Family
from encoder.checkpoints.families.names import both, layer
from encoder.checkpoints.families.reader import SIGNAL, Fields, Key, unsupported
from encoder.checkpoints.families.vit import BLOCK, LAYER, square
from encoder.model.config import Patches


def tubelets(image: str, channels: str, frames: str, usual: Patches) -> Callable[[Fields], dict[str, Any]]:
    """A reader of the tubelets. image, channels, frames: names of these sizes in config.json; usual: without them."""

    def read(fields: Fields) -> dict[str, Any]:
        side, patch = square(fields, image, usual.image_size), square(fields, "patch_size", usual.patch_size)
        if not 0 < patch <= side:
            raise unsupported("patch_size", patch, f"choose 1 to {side}, the pixels of a frame")
        tubelet = fields.integer("tubelet_size", usual.tubelet, 1, 1_000)
        found = Patches(
            side, patch, fields.integer(channels, usual.channels), cls=False, tubelet=tubelet,
            frames=fields.integer(frames, usual.frames, tubelet, 100_000),
        )  # fmt: skip
        return {"patches": found, "max_positions": found.n_tokens}

    return read


#: The classes of the mean of all tokens, after a norm; else those of the first token.
MEAN = {"sequence": ClassifierNames(norm="fc_norm", options=lambda fields: {"pooling": "mean"})}
FIRST = {"sequence": ClassifierNames()}
#: Its sines are not saved. Older files have the biases of q and v under names of their own.
VIDEOMAE: Family = Family(
    config=SIGNAL.but(
        tubelets("image_size", "num_channels", "num_frames", Patches(224, 16, cls=False, frames=16, tubelet=2)),
        position="sinusoidal",
        qkv_bias=Key("qv_bias", True),
        key_bias=False,
        final_norm=lambda fields: not fields.flag("use_mean_pooling", True),
    ).renaming(qkv_bias="qv_bias"),
    names={
        **both("embedding.tokens.projection", "embeddings.patch_embeddings.projection"),
        **BLOCK,
        **both("final_norm", "layernorm"),
    },
    prefixes=("videomae.", ""),
    dropped={
        r"classifier\.(weight|bias)|fc_norm\.(weight|bias)": "a classification head",
        r"(decoder|encoder_to_decoder)\..*|mask_token": "a decoder that reconstructs masked tubelets",
        r"(embeddings\.)?position_embeddings": "",
    },
    renamed=(
        (r"(.*\.attention\.attention)\.q_bias", r"\1.query.bias"),
        (r"(.*\.attention\.attention)\.v_bias", r"\1.value.bias"),
    ),
    images=True,
    preparation={"size": {"shortest_edge": 224}, "do_center_crop": True, "crop_size": {"height": 224, "width": 224}},
    of=lambda fields: VIDEOMAE.but(classifiers=MEAN if fields.flag("use_mean_pooling", True) else FIRST),
)


def thirds(fields: Fields) -> dict[str, Any]:
    """The numbers of a head that rotate: as many pairs for time, rows and columns, which leave a rest."""
    width, heads = fields.integer("hidden_size", 1024, 1), fields.integer("num_attention_heads", 16, 1)
    third = width // heads // 3 // 2 * 2
    if not third:
        raise unsupported("num_attention_heads", heads, "choose heads of six numbers or more, which rotate")
    return {"rotary_width": 3 * third, "d_ffn": int(width * fields.number("mlp_ratio", 4.0))}


#: The predictor of masked tubelets and the attentive pooler of its classes are left out.
VJEPA2 = Family(
    config=SIGNAL.but(
        tubelets("crop_size", "in_chans", "frames_per_clip", Patches(256, 16, cls=False, frames=64, tubelet=2)),
        thirds,
        position="rotary",
        rotary_grid=True,
        rotary_interleaved=True,
        norm_eps=Key("layer_norm_eps", 1e-6),
        d_ffn=1,
        dropout=0.0,
        qkv_bias=Key("qkv_bias", True),
    ).taking(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16),
    names={
        **both("embedding.tokens.projection", "encoder.embeddings.patch_embeddings.proj"),
        **layer(
            LAYER, "attention.query attention.key attention.value attention.proj", "mlp.fc1 mlp.fc2", "norm1 norm2"
        ),
        **both("final_norm", "encoder.layernorm"),
    },
    prefixes=("vjepa2.", ""),
    dropped={
        r"predictor\..*": "a predictor of masked tubelets",
        r"(pooler|classifier)\..*": "a classification head with layers of its own (an attentive pooler)",
    },
    images=True,
    preparation={
        "enlarged": (256, 224), "do_center_crop": True, "crop_size": 256, "image_mean": [0.485, 0.456, 0.406],
        "image_std": [0.229, 0.224, 0.225],
    },
)  # fmt: skip

FAMILIES = {"videomae": VIDEOMAE, "vjepa2": VJEPA2}
