"""The whole model as one picture: tokens, residual stream, one layer in full, and what the model is for.

Shapes: as in `encoder.explain.whole`.
"""

from __future__ import annotations

import numpy as np

from encoder.explain.output import PoolingKind
from encoder.explain.place import Place
from encoder.explain.whole import Whole, whole
from encoder.export.picture import Picture
from encoder.trace.trace import Trace

#: Tokens that are drawn at once; a longer input has a window of them.
MOST_TOKENS = 48
#: Pixels of a token's row, for few tokens and for many.
ROW = ((16, 26), (30, 19), (MOST_TOKENS, 14))
#: Pixels above and below the rows: names of the parts, small maps of the heads, the legend.
AROUND = 320


def model_picture(
    trace: Trace,
    layer: int = 0,
    head: int = 0,
    query: int | None = None,
    key: int | None = None,
    *,
    pooling: PoolingKind | None = "mean",
    model: str = "",
) -> Picture:
    """The forward pass of `trace` with one layer opened. A notebook shows it.

    Args:
        layer, head: opened in full. query, key: selected tokens, by their positions in the trace.
        pooling: how the tokens become one vector; None for models without one.
        model: its name, for the title.

    Raises EncoderError for a layer or head that the model does not have.
    """
    window = window_around(trace.n_tokens, query)
    found = whole(trace, Place(layer=layer, head=head), window, pooling if trace.config.takes_text else None)
    labels = trace.labels[window]
    pixels = next(size for most, size in ROW if len(labels) <= most)
    return Picture("model_picture", _header(trace, found, labels, pixels, (query, key), model), _arrays(found),
                   AROUND + pixels * len(labels))  # fmt: skip


def window_around(n_tokens: int, query: int | None) -> slice:
    """The tokens that are drawn: all, or MOST_TOKENS of them around the selected one."""
    if n_tokens <= MOST_TOKENS:
        return slice(0, n_tokens)
    start = min(max(0, (query or 0) - MOST_TOKENS // 2), n_tokens - MOST_TOKENS)
    return slice(start, start + MOST_TOKENS)


def _header(
    trace: Trace,
    found: Whole,
    labels: tuple[str, ...],
    pixels: int,
    selected: tuple[int | None, int | None],
    model: str,
) -> dict[str, object]:
    config = trace.config
    query, key = (None if at is None or not 0 <= at - found.first < len(labels) else at - found.first
                  for at in selected)  # fmt: skip
    return {
        "labels": list(labels),
        "first": found.first,
        "count": trace.n_tokens,
        "row": pixels,
        "layers": config.n_layers,
        "heads": config.n_heads,
        "layer": found.place.layer,
        "head": found.place.head,
        "query": query,
        "key": key,
        "norm": config.norm_placement,
        "norms": _norms(trace, found.place.layer),
        "takes": trace.kind,
        "hasClass": False,
        "stages": list(found.stages),
        "width": config.d_model,
        "neuronCount": config.d_ffn,
        "scale": found.scale,
        "pooling": found.pooling,
        "model": model,
        "name": f"{model or 'model'} L{found.place.layer} H{found.place.head}",
        "alt": f"The forward pass of {trace.n_tokens} tokens through {config.n_layers} layers; layer "
        f"{found.place.layer} is open, with head {found.place.head}.",
    }


def _norms(trace: Trace, layer: int) -> list[str]:
    """The parts of the picture that are a LayerNorm: those of the open layer, and the last one."""
    parts = {f"layers.{layer}.attention_norm": "norm-attention", f"layers.{layer}.ffn_norm": "norm-ffn",
             "final_norm": "final"}  # fmt: skip
    return [part for name, part in parts.items() if name in trace.norms]


def _arrays(found: Whole) -> dict[str, np.ndarray]:
    """The maps of all heads as bytes, which only small pictures show; every number that is written out in 32 bits."""
    names = ("tokens", "positions", "stream", "updates", "q", "k", "scores", "weights", "rest", "largest", "total",
             "hidden", "shares", "vector")  # fmt: skip
    arrays = {name: getattr(found, name) for name in names if getattr(found, name) is not None}
    floats = {name: np.asarray(value, dtype=np.float32) for name, value in arrays.items()}
    # JSON and shaders know no masked score but the lowest number of float32, which is finite.
    floats["scores"] = np.maximum(floats["scores"], np.finfo(np.float32).min)
    return floats | {"neurons": found.neurons, "maps": np.round(found.maps.clip(0, 1) * 255).astype(np.uint8)}
