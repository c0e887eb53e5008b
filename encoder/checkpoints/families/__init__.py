"""The families of encoders that can be loaded, by the model_type of their config.json."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from encoder.checkpoints.families import (
    aimv2,
    bert,
    clip,
    conformer,
    deberta,
    gpt,
    llama,
    modernbert,
    open_clip,
    seq2seq,
    sound,
    timm,
    video,
    vit,
)
from encoder.checkpoints.families.family import ClassifierNames, Family, HeadNames, LMNames, VectorNames
from encoder.checkpoints.families.pages import PAGES, Pages
from encoder.checkpoints.families.parts import Part
from encoder.checkpoints.families.reader import Fields, unsupported
from encoder.checkpoints.measured_parity import REFUSED, instead_of

__all__ = [
    "FAMILIES", "JOINTS", "OPEN_CLIP", "PAGES", "ClassifierNames", "Family", "Fields", "HeadNames", "Joint", "LMNames",
    "Pages", "Part", "VectorNames", "family_of", "in_full", "unsupported",
]  # fmt: skip

#: Names of families in the error for an unknown one.
N_NEAREST = 3
FAMILIES: dict[str, Family] = dict(
    sorted(
        (kind, family)
        for module in (aimv2, bert, clip, conformer, deberta, gpt, llama, modernbert, seq2seq, sound, timm, video, vit)
        for kind, family in module.FAMILIES.items()
    )
)


@dataclass(frozen=True)
class Joint:
    """A family of encoders of images and texts: its towers, and the names of the numbers that compare their vectors.

    scale: on disk it is a logarithm; most: the field of its largest value and that value, None: there are no bounds;
    bias: "" for none; texts, images: how the names of each tower's weights start; prefix: what comes before all names
    in a file with other heads, and dropped: their patterns, as of `Family`.
    """

    text: Family
    image: Family
    scale: str = "logit_scale"
    most: tuple[str, float] | None = None
    bias: str = ""
    texts: tuple[str, ...] = ("text_model.", "text_projection.")
    images: tuple[str, ...] = ("vision_model.", "visual_projection.", "classifier.")
    prefix: str = ""
    dropped: Mapping[str, str] = field(default_factory=dict)


#: By model_type, too. Their towers are FAMILIES.
JOINTS = {
    "aimv2": Joint(aimv2.TEXT, aimv2.PAIRED_IMAGE, most=("max_logit_scale", 100.0)),
    "chinese_clip": Joint(clip.CHINESE_TEXT, clip.CHINESE_IMAGE),
    "clip": Joint(clip.CLIP_TEXT, clip.CLIP_IMAGE),
    "metaclip_2": Joint(clip.CLIP_TEXT, clip.CLIP_IMAGE),
    "owlv2": Joint(clip.OWL_TEXT, clip.OWL2_IMAGE, prefix="owlv2.", dropped=clip.OWL_HEADS),
    "owlvit": Joint(clip.OWL_TEXT, clip.OWL_IMAGE, prefix="owlvit.", dropped=clip.OWL_HEADS),
    "siglip2": Joint(clip.SIGLIP_TEXT, clip.SIGLIP2_IMAGE, bias="logit_bias"),
    "siglip": Joint(clip.SIGLIP_TEXT, clip.SIGLIP_IMAGE, bias="logit_bias"),
}


#: OpenCLIP's, whose files have no model_type.
OPEN_CLIP = Joint(open_clip.TEXT, open_clip.IMAGE, texts=open_clip.TEXTS, images=("visual.",))


def nearest(kind: Any) -> str:
    """The known families whose names are nearest to an unknown one."""
    known = sorted({*FAMILIES, *JOINTS, *PAGES})
    found = difflib.get_close_matches(str(kind), known, n=N_NEAREST, cutoff=0.0)
    return f"it is not a family that is known here, the nearest names are {', '.join(found)}"


def family_of(fields: Fields) -> Family:
    """The family of config.json's model_type. Raises LoadError for an unknown one."""
    kind = fields.get("model_type")
    if isinstance(kind, str) and kind in REFUSED:
        others = ", ".join(instead_of(kind))
        raise unsupported(
            "model_type", kind, f"it needs what is not written here, {REFUSED[kind]}; families that open: {others}"
        )
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise unsupported("model_type", kind, f"{nearest(kind)}; docs/models.md lists all families")
    return in_full(FAMILIES[kind], fields)


def in_full(family: Family, fields: Fields) -> Family:
    """A family with the names that follow from config.json."""
    return family if family.of is None else family.of(fields)
