"""Which models the engine in the browser computes: what it lacks is a row of a table, and is refused by a sentence."""

from collections.abc import Callable

from encoder.encoders.image import ImageEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.model.config import EncoderConfig
from encoder.model.steps import kind_of

#: What helps where a model cannot be computed in the browser.
INSTEAD = "publish views of it, whose pages hold their numbers (encoderscope publish VIEW)"
#: Activations of `browser/engine/linear.js`.
ACTIVATIONS = {"relu", "gelu", "gelu_tanh", "quick_gelu", "silu"}
POOLINGS = {"mean", "cls"}

#: What the engine lacks -> whether a config has it.
OF_CONFIG: dict[str, Callable[[EncoderConfig], object]] = {
    "{position} positions": lambda config: config.position not in ("learned", "none", "rotary"),
    "the activation {activation}": lambda config: config.activation not in ACTIVATIONS,
    "words at places of a page": lambda config: config.places,
    "experts": lambda config: config.experts,
    "adapters": lambda config: config.adapter,
    "a convolution in each layer": lambda config: config.conformer,
    "keys of distances": lambda config: config.distance_keys,
    "attention in blocks": lambda config: config.attention_block,
    "causal attention": lambda config: config.causal,
    "cross-attention": lambda config: config.memory_width,
    "scores by DeBERTa's distances": lambda config: config.disentangled,
    "a cap on the scores": lambda config: config.score_cap,
    "attention sinks with weights of their own": lambda config: config.attention_sinks,
    "a gate of the heads' output": lambda config: config.output_gate,
    "scaled token vectors": lambda config: config.embedding_scale != 1 or config.mask_id is not None,
    "rotation by rows and columns": lambda config: config.rotary_grid,
    "a rotation before queries and keys": lambda config: config.rotary_input,
    "biases by rows and columns, or with a gate": lambda config: config.relative_grid or config.relative_gate,
    "a bias by distance in each layer": lambda config: config.relative_per_layer or config.relative_one_sided,
    "keys that heads share": lambda config: config.n_kv_heads != config.n_heads,
    "norms of queries and keys": lambda config: config.qk_norm != "none",
    "RMSNorm": lambda config: config.norm_kind != "layer",
    "layers that share weights": lambda config: config.layer_groups is not None,
    "other norms than two a layer": lambda config: config.output_norms or config.parallel,
    "static word vectors": lambda config: config.n_layers == 0,
    "colour images": lambda config: config.patches is not None and config.patches.channels != 1,
    "special tokens of images besides [CLS]": lambda config: (
        config.patches is not None and {*config.patches.special} - {"cls"} and config.patches.n_tokens
        > config.patches.count + config.patches.cls
    ),
}  # fmt: skip

#: What the engine lacks -> whether a text encoder has it.
OF_TEXT: dict[str, Callable[[TextEncoder], object]] = {
    "sparse vectors": lambda model: model.sparse is not None,
    "late interaction": lambda model: model.late is not None,
    "vectors of words": lambda model: model.pools_words,
    "linear maps before the pooling": lambda model: model.token_dense,
    "a mean over layers": lambda model: model.mix is not None,
    "other weights for queries": lambda model: model.sides,
    "the pooling {pooling}": lambda model: model.pooling not in POOLINGS,
    "this step after the pooling": lambda model: any(not _is_plain(step) for step in model.dense),
    "a decoder": lambda model: model.decoder is not None,
}


def _is_plain(step: object) -> bool:
    """Whether a step after the pooling is a linear map without a residual connection."""
    return kind_of(step) == "dense" and not step.config.residual  # type: ignore[arg-type, attr-defined]


def check(model: TextEncoder | ImageEncoder) -> None:
    """Raise EncoderError, by a sentence, for a model that the engine in the browser does not compute."""
    config = model.config
    for what, has in OF_CONFIG.items():
        if has(config):
            raise refusal(model.name, what.format(position=config.position, activation=config.activation))
    if isinstance(model, TextEncoder):
        for what, has_it in OF_TEXT.items():
            if has_it(model):
                raise refusal(model.name, what.format(pooling=model.pooling))


def refusal(name: str, what: str) -> EncoderError:
    """The error of a model with something that the engine in the browser lacks."""
    return EncoderError(f"{name} has {what}, which the engine in the browser does not compute: {INSTEAD}.")


def predicts(model: TextEncoder) -> bool:
    """Whether the engine computes the model's masked-word head."""
    head = None if model.mlm_head is None else model.mlm_head.config
    usual = head is not None and head.tied and head.decoder_bias and head.activation in ACTIVATIONS
    return usual and model.tokenizer.mask_token is not None
