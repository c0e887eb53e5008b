"""What the second river of the model's picture has besides: cross-attention to the first one, and the next tokens.

Shapes: H heads, R tokens of the target that are drawn, W tokens of the input that are drawn, S tokens of the input.
"""

import numpy as np

from encoder.explain.place import Place
from encoder.explain.source import array
from encoder.trace.decoder import DecoderTrace

#: The most probable next tokens that are named at each place.
MOST_NEXT = 5


def crossing_of(
    trace: DecoderTrace, place: Place, window: slice, of_input: slice
) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Values of the header, and arrays, for the tokens `window` of the target and `of_input` of the input.

    `cross` [R, W], float32: cross-attention of the open head; `crossMaps` [H, R, W], bytes: of every head of the layer.
    `strongest`: of each token the position, the name and the weight of the largest of all S weights. `outputs`: the
    token that follows each one, and its probability; `next`: the most probable tokens there.
    """
    maps = array(trace.layer_cross_attention(place.layer)[:, window])  # [H, R, S]
    own = maps[place.head]
    best = own.argmax(axis=-1)
    header: dict[str, object] = {
        "isDecoder": True,
        "starts": max(0, trace.n_prompt - window.start),
        "inputLabels": list(trace.memory_labels[of_input]),
        "inputFirst": of_input.start,
        "inputCount": len(trace.memory_labels),
        "strongest": [[int(at), trace.memory_labels[at], float(own[row, at])] for row, at in enumerate(best)],
        "outputs": [],
        "next": [],
    }
    if trace.model is not None and trace.next_ids:
        header |= _next_tokens(trace, window)
    shown = maps[:, :, of_input]
    return header, {
        "cross": np.ascontiguousarray(own[:, of_input], dtype=np.float32),
        "crossMaps": np.round(shown.clip(0, 1) * 255).astype(np.uint8),
    }


def _next_tokens(trace: DecoderTrace, window: slice) -> dict[str, object]:
    """The tokens that follow, and the most probable ones, each with its probability."""
    shares = trace.next_logits(window).softmax(dim=-1)  # [R, V]
    most, ids = shares.topk(min(MOST_NEXT, shares.shape[-1]))
    following, label = trace.next_ids[window], trace.model.labels
    return {
        "outputs": [[label([one])[0], float(row[one])] for one, row in zip(following, shares, strict=True)],
        "next": [
            [[label([one])[0], share] for one, share in zip(row, values, strict=True)]
            for row, values in zip(ids.tolist(), most.tolist(), strict=True)
        ],
    }
