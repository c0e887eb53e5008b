"""The families of encoders that can be loaded, by the model_type of their config.json."""

from __future__ import annotations

from encoder.load.families.albert import ALBERT
from encoder.load.families.ast import AST
from encoder.load.families.bert import BERT, ELECTRA, ROBERTA, ROBERTA_PRELAYERNORM
from encoder.load.families.dinov2 import DINOV2, DINOV2_SWIGLU
from encoder.load.families.distilbert import DISTILBERT
from encoder.load.families.family import ClassifierNames, Family, Fields, HeadNames, Part, unsupported
from encoder.load.families.modernbert import MODERNBERT
from encoder.load.families.mpnet import MPNET
from encoder.load.families.vit import DEIT, VIT
from encoder.load.families.wav2vec2 import WAV2VEC2
from encoder.load.families.whisper import WHISPER

__all__ = ["FAMILIES", "ClassifierNames", "Family", "Fields", "HeadNames", "Part", "family_of", "unsupported"]

FAMILIES: dict[str, Family] = {
    "albert": ALBERT,
    "audio-spectrogram-transformer": AST,
    "bert": BERT,
    "camembert": ROBERTA,
    "deit": DEIT,
    "dinov2": DINOV2,
    "dinov2_with_registers": DINOV2,
    "distilbert": DISTILBERT,
    "electra": ELECTRA,
    "hubert": WAV2VEC2,
    "modernbert": MODERNBERT,
    "mpnet": MPNET,
    "roberta": ROBERTA,
    "roberta-prelayernorm": ROBERTA_PRELAYERNORM,
    "vit": VIT,
    "wav2vec2": WAV2VEC2,
    "whisper": WHISPER,
    "xlm-roberta": ROBERTA,
}


def family_of(fields: Fields) -> Family:
    """The family of config.json's model_type. Raises LoadError for an unknown one."""
    kind = fields.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise unsupported("model_type", kind, f"choose one of the families {', '.join(FAMILIES)}")
    family = FAMILIES[kind]
    return DINOV2_SWIGLU if family is DINOV2 and fields.flag("use_swiglu_ffn", False) else family
