"""Encoders of texts that read pages: ModernVBERT (Teiletche et al. 2025), a ModernBERT with the tiles of a SigLIP.

Each tower is a family of its own; `Pages` says what joins them.
"""

from dataclasses import dataclass

from encoder.checkpoints.families.clip import SIGLIP_IMAGE
from encoder.checkpoints.families.family import Family, HeadNames
from encoder.checkpoints.families.modernbert import MODERNBERT, modernbert_head

#: What stands before the names of both towers: alone, with a head, and under ColModernVBERT's projection.
OUTER = ("model.", "vlm.", "")


@dataclass(frozen=True)
class Pages:
    """A family of encoders of texts and pages: its towers, and what joins them.

    inside: the field of config.json that has the fields of both towers, "" for the file itself; connector: the map from
    merged patches to vectors of words; projection: what makes ColBERT's vectors, "" for none; query_end: what follows a
    query there.
    """

    text: Family
    image: Family
    inside: str = ""
    connector: str = "connector.modality_projection.weight"
    projection: str = ""
    query_end: str = ""


TEXT = MODERNBERT.but(
    prefixes=tuple(f"{outer}text_model." for outer in OUTER),
    head=HeadNames(
        config=modernbert_head,
        dense="projection_head.dense",
        norm="projection_head.norm",
        bias=("lm_head.bias",),
        table="lm_head.weight",
    ),
    classifiers={},
)
IMAGE = SIGLIP_IMAGE.but(
    prefixes=tuple(f"{outer}vision_model.{inner}" for outer in OUTER for inner in ("vision_model.", "")),
    vector=None,
    classifiers={},
    dropped={**SIGLIP_IMAGE.dropped, r"head\..*": "the pooling of its encoder of tiles"},
)
MODERNVBERT = Pages(TEXT, IMAGE)

#: By model_type.
PAGES = {
    "modernvbert": MODERNVBERT,
    "colmodernvbert": Pages(
        TEXT, IMAGE, inside="vlm_config", projection="embedding_proj_layer", query_end="<end_of_utterance>" * 10
    ),
}
