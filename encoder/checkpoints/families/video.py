"""Encoders of videos with ViT's block: VideoMAE (Tong et al. 2022), whose tokens are tubelets."""

from collections.abc import Callable
from typing import Any

from encoder.checkpoints.families.family import ClassifierNames, Family
from encoder.checkpoints.families.names import both, layer
from encoder.checkpoints.families.reader import SIGNAL, Fields, Key, unsupported
from encoder.checkpoints.families.vit import square
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


LAYER = "encoder.layer.{l}"
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
        **layer(
            LAYER,
            "attention.attention.query attention.attention.key attention.attention.value attention.output.dense",
            "intermediate.dense output.dense",
            "layernorm_before layernorm_after",
        ),
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
FAMILIES = {"videomae": VIDEOMAE}
