"""The whole model as one picture: tokens, residual stream, one layer in full, and what the model is for.

A trace with a decoder's pass has a second river, of the decoder: the same numbers of its trace, and cross-attention.

Shapes: as in `encoder.explain.whole`; H heads, R tokens of a target that are drawn, W tokens of its input that are
drawn, S tokens of the input.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from encoder.drawing.picture import Picture
from encoder.edits import CausalMask
from encoder.explain.output import ChosenPooling, chosen_pooling
from encoder.explain.place import Place
from encoder.explain.source import array
from encoder.explain.whole import Whole, whole
from encoder.model.layers import NORM_NAMES
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace
from encoder.views.model_input import Given, beside

#: Tokens that are drawn at once; a longer input has a window of them.
MOST_TOKENS = 48
#: Pixels of a token's row, for few tokens and for many.
ROW = ((16, 26), (30, 19), (MOST_TOKENS, 14))
#: Pixels above and below the rows: names of the parts, small maps of the heads, the legend.
AROUND = 320
#: The most probable next tokens of a decoder that are named at each place.
MOST_NEXT = 5
#: Classes that are named at the end.
MOST_CLASSES = 5
#: Before the names of a decoder's arrays.
DECODER = "decoder "

Side = Literal["encoder", "decoder"]
Selected = tuple[int | None, int | None]


@dataclass(frozen=True, eq=False)
class OtherEnd:
    """The other tower of a pair: `own` and `other` are unit vectors [E] that are compared; name: of the other input."""

    own: np.ndarray
    other: np.ndarray
    name: str


def model_picture(
    trace: Trace,
    layer: int = 0,
    head: int = 0,
    query: int | None = None,
    key: int | None = None,
    *,
    pooling: ChosenPooling = "own",
    model: str = "",
    first: int | None = None,
    given: Given | None = None,
    classes: Mapping[str, float] | None = None,
    pair: OtherEnd | None = None,
    side: Side = "decoder",
    output: Selected = (None, None),
) -> Picture:
    """The forward pass of `trace` with one layer opened. A notebook shows it.

    layer, head: opened in full. query, key: selected tokens, by their positions in the trace. pooling: how the tokens
    become one vector, by default as the trace's model does it; None for no vector. model: its name, for the title.
    first: the first token of the window of a long input; by default the window is around the query. given: the image
    or the sound, drawn next to the rows (`model_input.beside`). classes: class -> probability, if the model has
    classes. pair: the other tower, if it has two. side: whose layer is opened, where the trace has a decoder's pass;
    output: selected query and key, by their positions in that pass. Raises EncoderError for a layer or head that the
    model does not have.
    """
    window = window_around(trace.n_tokens, query, first)
    place, decoder = Place(layer=layer, head=head), trace.decoder
    if isinstance(decoder, DecoderTrace):
        both = Place(layer, head).clamped(trace.config, 1), Place(layer, head).clamped(decoder.config, 1)
        (decoder if side == "decoder" else trace).place(layer, head)
        place, there = both
    is_text = trace.config.takes_text and pair is None
    found = whole(trace, place, window, chosen_pooling(trace, pooling) if is_text else None)
    labels = trace.labels[window]
    pixels = next(size for most, size in ROW if len(labels) <= most)
    shown = None if query is None or not 0 <= query < trace.n_tokens else query
    whole_input, its_arrays = beside(trace, place, window, shown, given)
    header = _header(trace, found, labels, pixels, (query, key), model, first)
    header |= {"input": whole_input} | _end(classes, pair)
    arrays, height = _arrays(found) | its_arrays | _vectors(pair), AROUND + pixels * len(labels)
    if isinstance(decoder, DecoderTrace):
        second = _of_decoder(decoder, there, output, window, model)
        header |= {"side": side, "decoder": second.header}
        arrays |= {f"{DECODER}{name}": value for name, value in second.arrays.items()}
        height = max(height, second.height)
    return Picture("model_picture", header, arrays, height)


def _of_decoder(trace: DecoderTrace, place: Place, selected: Selected, of_input: slice, model: str) -> Picture:
    """The second river, with what crosses to it from the tokens `of_input` of the first one."""
    plain = model_picture(trace, place.layer, place.head, *selected, pooling=None, model=model)
    start = int(plain.header["first"])  # type: ignore[call-overload]
    window = slice(start, start + len(plain.header["labels"]))  # type: ignore[arg-type]
    crossing, arrays = _crossing(trace, place, window, of_input)
    return replace(plain, header={**plain.header, **crossing}, arrays={**plain.arrays, **arrays})


def _crossing(
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


def window_around(n_tokens: int, query: int | None, first: int | None = None) -> slice:
    """The tokens that are drawn: all, or MOST_TOKENS of them from `first` on, or around the selected one."""
    if n_tokens <= MOST_TOKENS:
        return slice(0, n_tokens)
    wanted = (query or 0) - MOST_TOKENS // 2 if first is None else first
    start = min(max(0, wanted), n_tokens - MOST_TOKENS)
    return slice(start, start + MOST_TOKENS)


def _end(classes: Mapping[str, float] | None, pair: OtherEnd | None) -> dict[str, object]:
    """What the model is for, with its numbers: the likeliest classes, and the cosine of two towers."""
    ranked = sorted((classes or {}).items(), key=lambda one: -one[1])[:MOST_CLASSES]
    cosine = None if pair is None else float(pair.own @ pair.other)
    return {
        "classes": [[str(name), float(share)] for name, share in ranked],
        "pair": None if pair is None else {"name": pair.name, "cosine": cosine},
    }


def _vectors(pair: OtherEnd | None) -> dict[str, np.ndarray]:
    if pair is None:
        return {}
    return {"vector": np.asarray(pair.own, dtype=np.float32), "other": np.asarray(pair.other, dtype=np.float32)}


def _header(
    trace: Trace,
    found: Whole,
    labels: tuple[str, ...],
    pixels: int,
    selected: tuple[int | None, int | None],
    model: str,
    first: int | None,
) -> dict[str, object]:
    """Values of `headers.ModelHeader`."""
    config = trace.config
    query, key = (
        None if at is None or not 0 <= at - found.first < len(labels) else at - found.first for at in selected
    )
    return {
        "labels": list(labels),
        "first": found.first,
        "count": trace.n_tokens,
        "asked": first,
        "row": pixels,
        "layers": config.n_layers,
        "heads": config.n_heads,
        "layer": found.place.layer,
        "head": found.place.head,
        "query": query,
        "key": key,
        "special": _special(trace, labels, found.first),
        "sublayers": list(config.sublayers),
        "norm": config.norm_placement,
        "norms": _norms(trace, found.place.layer),
        "normName": NORM_NAMES[config.norm_kind],
        "takes": trace.kind,
        "sees": _sees(trace, found.place.layer),
        "stages": list(found.stages),
        "width": config.d_model,
        "neuronCount": config.of_layer(found.place.layer).d_ffn,
        "scale": found.scale,
        "pooling": found.pooling,
        "model": model,
        "name": f"{model or 'model'} L{found.place.layer} H{found.place.head}",
        "alt": f"The forward pass of {trace.n_tokens} tokens through {config.n_layers} layers; layer "
        f"{found.place.layer} is open, with head {found.place.head}.",
    }


def _special(trace: Trace, labels: tuple[str, ...], first: int) -> list[str]:
    """The tokens among `labels` that the tokenizer added to the text, each once."""
    added = () if trace.source is None else trace.source.special[first : first + len(labels)]
    return list(dict.fromkeys(label for label, one in zip(labels, added, strict=False) if one))


def _sees(trace: Trace, layer: int) -> str:
    """Which keys a query of the layer is compared with: "all", "earlier" and its own, or "near" ones."""
    causal = trace.config.causal or any(isinstance(edit, CausalMask) for edit in trace.edits)
    return (
        "earlier"
        if causal
        else "near"
        if trace.config.attention_block or trace.config.window_of_layer(layer) is not None
        else "all"
    )


def _norms(trace: Trace, layer: int) -> list[str]:
    """The parts of the picture that are a norm: those of the open layer, and the last one."""
    parts = {f"layers.{layer}.{part}_norm": f"norm-{part}" for part in trace.config.sublayers}
    parts |= {f"layers.{layer}.end_norm": "norm-end", "final_norm": "final"}
    return [part for name, part in parts.items() if name in trace.norms]


def _arrays(found: Whole) -> dict[str, np.ndarray]:
    """The maps of all heads as bytes, which only small pictures show; every number that is written out in 32 bits."""
    names = (
        "tokens",
        "positions",
        "stream",
        "updates",
        "q",
        "k",
        "scores",
        "weights",
        "rest",
        "largest",
        "total",
        "hidden",
        "shares",
        "vector",
    )
    arrays = {name: getattr(found, name) for name in names if getattr(found, name) is not None}
    floats = {name: np.asarray(value, dtype=np.float32) for name, value in arrays.items()}
    # JSON and shaders know no masked score but the lowest number of float32, which is finite.
    floats["scores"] = np.maximum(floats["scores"], np.finfo(np.float32).min)
    return floats | {"neurons": found.neurons, "maps": np.round(found.maps.clip(0, 1) * 255).astype(np.uint8)}
