"""The families of encoders that can be loaded, by the model_type of their config.json."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.load.families.albert import ALBERT
from encoder.load.families.ast import AST
from encoder.load.families.bert import BERT, ELECTRA, ROBERTA, ROBERTA_PRELAYERNORM
from encoder.load.families.clip import CLIP_IMAGE, CLIP_TEXT, SIGLIP_IMAGE, SIGLIP_TEXT
from encoder.load.families.dinov2 import DINOV2, DINOV2_SWIGLU
from encoder.load.families.distilbert import DISTILBERT
from encoder.load.families.family import ClassifierNames, Family, Fields, HeadNames, Part, VectorNames, unsupported
from encoder.load.families.llama import EUROBERT, GEMMA, GEMMA2, GEMMA3, GPT2, LLAMA, MISTRAL, QWEN2, QWEN3
from encoder.load.families.modernbert import MODERNBERT
from encoder.load.families.mpnet import MPNET
from encoder.load.families.vit import DEIT, VIT
from encoder.load.families.wav2vec2 import WAV2VEC2
from encoder.load.families.whisper import WHISPER

__all__ = [
    "FAMILIES", "JOINTS", "ClassifierNames", "Family", "Fields", "HeadNames", "Joint", "Part", "VectorNames",
    "family_of", "unsupported",
]  # fmt: skip

FAMILIES: dict[str, Family] = {
    "albert": ALBERT,
    "audio-spectrogram-transformer": AST,
    "bert": BERT,
    "camembert": ROBERTA,
    "clip_text_model": CLIP_TEXT,
    "clip_vision_model": CLIP_IMAGE,
    "deit": DEIT,
    "dinov2": DINOV2,
    "dinov2_with_registers": DINOV2,
    "distilbert": DISTILBERT,
    "electra": ELECTRA,
    "eurobert": EUROBERT,
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA3,
    "gpt2": GPT2,
    "hubert": WAV2VEC2,
    "llama": LLAMA,
    "mistral": MISTRAL,
    "modernbert": MODERNBERT,
    "mpnet": MPNET,
    "qwen2": QWEN2,
    "qwen3": QWEN3,
    "roberta": ROBERTA,
    "roberta-prelayernorm": ROBERTA_PRELAYERNORM,
    "siglip_text_model": SIGLIP_TEXT,
    "siglip_vision_model": SIGLIP_IMAGE,
    "vit": VIT,
    "wav2vec2": WAV2VEC2,
    "whisper": WHISPER,
    "xlm-roberta": ROBERTA,
}


@dataclass(frozen=True)
class Joint:
    """A family of encoders of images and texts: its towers, and the names of the numbers that compare their vectors.

    scale: on disk it is a logarithm; bias: "" for none.
    """

    text: Family
    image: Family
    scale: str = "logit_scale"
    bias: str = ""


#: By model_type, too. Their towers alone are FAMILIES.
JOINTS = {"clip": Joint(CLIP_TEXT, CLIP_IMAGE), "siglip": Joint(SIGLIP_TEXT, SIGLIP_IMAGE, bias="logit_bias")}


def family_of(fields: Fields) -> Family:
    """The family of config.json's model_type. Raises LoadError for an unknown one."""
    kind = fields.get("model_type")
    if kind == "beit":  # only the bias by distance in one dimension is written here
        raise unsupported(
            "model_type", kind, "its layers add a bias for each row and column between patches; choose ViT or DINOv2"
        )
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise unsupported("model_type", kind, f"choose one of the families {', '.join(sorted({*FAMILIES, *JOINTS}))}")
    family = FAMILIES[kind]
    return DINOV2_SWIGLU if family is DINOV2 and fields.flag("use_swiglu_ffn", False) else family
