"""Families of transformers that are not opened, by model_type, and the mechanism that each needs and is not here."""

from __future__ import annotations

_EXPERTS = "experts: a router chooses feed-forward layers for each token"
_CONFORMER = "Conformer layers, with a convolution in each"
_STATE = "state-space layers, which have no attention map"
_SPARSE = "attention over some pairs of tokens only, chosen by blocks or hashes"
_BOXES = "positions of words on a page inside attention"
_POOLED = "layers that merge tokens, so that maps of layers have different sizes"

#: model_type -> what is missing. Every key is a family of transformers 5.23; a test checks it.
REFUSED = {
    "bigbird_pegasus": _SPARSE,
    "canine": "characters that are hashed, then merged and split",
    "convbert": "a convolution next to the heads of each layer",
    "convnext": "convolutions without attention",
    "data2vec-audio": "a stack of convolutions for positions",
    "dinov3_convnext": "convolutions without attention",
    "embedding_gemma2_text": "vectors of each token in every layer, and heads of different widths",
    "esmc": "sublayers scaled by depth, and norms with and without a bias in one model",
    "falcon": "several heads of queries in one weight for each shared key",
    "fnet": "Fourier transforms instead of attention",
    "funnel": _POOLED,
    "gemma3n_text": "several residual streams",
    "gemma4_text": "layers that share keys and values, and norms without a gain",
    "gpt_neo": "windows and full attention in config.json's own form",
    "gpt_oss": f"learned sinks, and {_EXPERTS}",
    "gptj": "one norm for parallel sublayers, with neighbours rotating together",
    "granite": "factors of the residual stream",
    "layoutlmv2": _BOXES,
    "layoutlmv3": _BOXES,
    "led": "windows with global tokens",
    "lilt": "a second stream for the layout of a page",
    "longt5": "windows by blocks, and tokens that summarise blocks",
    "luke": "queries that differ for words and entities",
    "mamba": _STATE,
    "mamba2": _STATE,
    "mixtral": _EXPERTS,
    "mobilebert": "layers with a narrower width inside, and several feed-forward layers each",
    "moonshine": "a spectrogram made by tanh convolutions",
    "mpt": "ALiBi in a form of its own, and weights without norms' biases",
    "mra": _SPARSE,
    "nystromformer": "attention by way of a few landmarks",
    "olmo2": "norms after the sublayers only",
    "openai_privacy_filter": f"learned sinks, and {_EXPERTS}",
    "parakeet_encoder": _CONFORMER,
    "perceiver": "attention of a few learned vectors to the input",
    "phi3": "one weight for queries, keys and values of different widths",
    "pvt": _POOLED,
    "qwen2_moe": _EXPERTS,
    "qwen3_moe": _EXPERTS,
    "reformer": _SPARSE,
    "rwkv": "recurrent layers, which have no attention map",
    "segformer": _POOLED,
    "sew": "steps of time that are merged before the layers and split after them",
    "sew-d": "steps of time that are merged before the layers and split after them",
    "siglip2_vision_model": "images of any shape, whose positions are scaled to it",
    "smollm3": "layers with and without rotary positions",
    "squeezebert": "convolutions in groups instead of linear maps",
    "swin": "windows of patches that shift, and layers that merge patches",
    "swinv2": "windows of patches that shift, and layers that merge patches",
    "switch_transformers": _EXPERTS,
    "tapas": "seven kinds of segments for tables",
    "wav2vec2-bert": _CONFORMER,
    "wav2vec2-conformer": _CONFORMER,
    "wavlm": "a bias by distance that the input itself scales",
    "xlnet": "attention to relative positions with two streams",
    "xmod": "adapters of each language",
    "yolos": "tokens of detected objects after the patches",
    "yoso": "attention by sampled hashes",
}
