"""The families of encoders that can be loaded, by the model_type of their config.json."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from encoder.load.families.albert import ALBERT
from encoder.load.families.ast import AST
from encoder.load.families.beit import BEIT, DATA2VEC_VISION
from encoder.load.families.bert import BERT, ELECTRA, ROBERTA, ROBERTA_PRELAYERNORM
from encoder.load.families.bert_like import (
    BIG_BIRD,
    BROS,
    DATA2VEC_TEXT,
    ERNIE,
    ERNIE_TASKS,
    ESM,
    GTE,
    JINA_V3,
    LAYOUTLM,
    LONGFORMER,
    MEGATRON,
    NOMIC,
    REMBERT,
    ROFORMER,
    SPLINTER,
    XLM_ROBERTA_XL,
)  # fmt: skip
from encoder.load.families.clip import CLIP_IMAGE, CLIP_TEXT, SIGLIP_IMAGE, SIGLIP_TEXT
from encoder.load.families.deberta import DEBERTA, DEBERTA_V2
from encoder.load.families.dinov2 import DINOV2, DINOV2_SWIGLU
from encoder.load.families.dinov3 import DINOV3, DINOV3_GATED
from encoder.load.families.distilbert import DISTILBERT
from encoder.load.families.family import ClassifierNames, Family, Fields, HeadNames, Part, VectorNames, unsupported
from encoder.load.families.llama import (
    BLOOM,
    EUROBERT,
    GEMMA,
    GEMMA2,
    GEMMA3,
    GPT2,
    LLAMA,
    MINISTRAL,
    MISTRAL,
    NEOX,
    OPT,
    PHI,
    QWEN2,
    QWEN3,
    STARCODER2,
    ULTRABERT,
)  # fmt: skip
from encoder.load.families.modernbert import MODERNBERT, MODERNBERT_DECODER
from encoder.load.families.mpnet import MPNET
from encoder.load.families.seq2seq import (
    BART,
    M2M100,
    MARIAN,
    MBART,
    PEGASUS,
    T5,
    T5_GATED,
    T5GEMMA,
    UMT5,
    UMT5_GATED,
    feed_forward_of,
)  # fmt: skip
from encoder.load.families.vit import DEIT, IJEPA, VIT, VIT_MAE, VIT_MSN
from encoder.load.families.wav2vec2 import WAV2VEC2
from encoder.load.families.whisper import WHISPER
from encoder.load.families.xlm import XLM
from encoder.load.missing_mechanisms import REFUSED

__all__ = [
    "FAMILIES", "JOINTS", "ClassifierNames", "Family", "Fields", "HeadNames", "Joint", "Part", "VectorNames",
    "family_of", "unsupported",
]  # fmt: skip

FAMILIES: dict[str, Family] = {
    "albert": ALBERT,
    "audio-spectrogram-transformer": AST,
    "bart": BART,
    "beit": BEIT,
    "bert": BERT,
    "big_bird": BIG_BIRD,
    "bloom": BLOOM,
    "bros": BROS,
    "camembert": ROBERTA,
    "clip_text_model": CLIP_TEXT,
    "clip_vision_model": CLIP_IMAGE,
    "data2vec-text": DATA2VEC_TEXT,
    "data2vec-vision": DATA2VEC_VISION,
    "deberta": DEBERTA,
    "deberta-v2": DEBERTA_V2,
    "deit": DEIT,
    "dinov2": DINOV2,
    "dinov2_with_registers": DINOV2,
    "dinov3_vit": DINOV3,
    "distilbert": DISTILBERT,
    "electra": ELECTRA,
    "ernie": ERNIE,
    "esm": ESM,
    "eurobert": EUROBERT,
    "flaubert": XLM,
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3_text": GEMMA3,
    "gpt2": GPT2,
    "gpt_neox": NEOX,
    "gte": GTE,
    "hubert": WAV2VEC2,
    "ijepa": IJEPA,
    "jina_embeddings_v3": JINA_V3,
    "layoutlm": LAYOUTLM,
    "llama": LLAMA,
    "longformer": LONGFORMER,
    "m2m_100": M2M100,
    "marian": MARIAN,
    "mbart": MBART,
    "megatron-bert": MEGATRON,
    "ministral": MINISTRAL,
    "mistral": MISTRAL,
    "modernbert": MODERNBERT,
    "modernbert-decoder": MODERNBERT_DECODER,
    "mpnet": MPNET,
    "mt5": T5,
    "nomic_bert": NOMIC,
    "opt": OPT,
    "pegasus": PEGASUS,
    "phi": PHI,
    "qwen2": QWEN2,
    "qwen3": QWEN3,
    "rembert": REMBERT,
    "roberta": ROBERTA,
    "roberta-prelayernorm": ROBERTA_PRELAYERNORM,
    "roformer": ROFORMER,
    "siglip_text_model": SIGLIP_TEXT,
    "siglip_vision_model": SIGLIP_IMAGE,
    "splinter": SPLINTER,
    "starcoder2": STARCODER2,
    "t5": T5,
    "t5gemma": T5GEMMA,
    "ultrabert": ULTRABERT,
    "umt5": UMT5,
    "unispeech": WAV2VEC2,
    "unispeech-sat": WAV2VEC2,
    "vit": VIT,
    "vit_mae": VIT_MAE,
    "vit_msn": VIT_MSN,
    "wav2vec2": WAV2VEC2,
    "whisper": WHISPER,
    "xlm": XLM,
    "xlm-roberta": ROBERTA,
    "xlm-roberta-xl": XLM_ROBERTA_XL,
}


def _gated(fields: Fields) -> bool:
    """Whether T5's feed-forward layer has a gate."""
    return str(fields.get("feed_forward_proj", feed_forward_of(fields))).startswith("gated-")


#: (family, what config.json must say, the family with other names on disk).
VARIANTS: tuple[tuple[Family, Callable[[Fields], bool], Family], ...] = (
    (DINOV2, lambda fields: fields.flag("use_swiglu_ffn", False), DINOV2_SWIGLU),
    (DINOV3, lambda fields: fields.flag("use_gated_mlp", False), DINOV3_GATED),
    (ERNIE, lambda fields: fields.flag("use_task_id", False), ERNIE_TASKS),
    (T5, _gated, T5_GATED),
    (UMT5, _gated, UMT5_GATED),
)


@dataclass(frozen=True)
class Joint:
    """A family of encoders of images and texts: its towers, and the names of the numbers that compare their vectors.

    scale: on disk it is a logarithm; bias: "" for none.
    """

    text: Family
    image: Family
    scale: str = "logit_scale"
    bias: str = ""


#: By model_type, too. Their towers are FAMILIES.
JOINTS = {"clip": Joint(CLIP_TEXT, CLIP_IMAGE), "siglip": Joint(SIGLIP_TEXT, SIGLIP_IMAGE, bias="logit_bias")}


def family_of(fields: Fields) -> Family:
    """The family of config.json's model_type. Raises LoadError for an unknown one."""
    kind = fields.get("model_type")
    if isinstance(kind, str) and kind in REFUSED:
        raise unsupported("model_type", kind, f"it needs what is not written here, {REFUSED[kind]}")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise unsupported("model_type", kind, f"choose one of the families {', '.join(sorted({*FAMILIES, *JOINTS}))}")
    family = FAMILIES[kind]
    for plain, differs, other in VARIANTS:
        if family is plain and differs(fields):
            return other
    return family
