"""Many edited runs of one input as one batch, in which each row has edits of its own.

A row starts at the first layer that its edits reach: the layers below are those of the unedited run, computed once. So
a batch grows from layer to layer. Attention stays fused; where the scores of a row are edited, its z is computed again
from its q, k and v, for the edited query only where there is only one.

Shapes: n rows, T tokens, D d_model, H heads, K width of a head.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from encoder.edits import Edit, apply_edits, check_edits, edits_at
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError
from encoder.model import attend
from encoder.model.attend import AttentionContext
from encoder.model.config import EncoderConfig
from encoder.model.device import explain_out_of_memory
from encoder.model.encoder import Encoder
from encoder.model.hooks import LAYER_POINTS, visiting
from encoder.trace.trace import Trace

Variant = tuple[Edit, ...]
#: The points of either attention that are computed again where they are edited.
COMPUTED = ("scores", "pattern")
#: Outside the layers: what all rows have in common.
APART = (
    "embedding.position", "embedding.tokens", "embedding.segments", "embedding.places", "embedding_norm.input",
    "memory",
)  # fmt: skip
#: (hook point, layer) -> rows of the batch that are edited there.
Rows = dict[tuple[str, int | None], list[int]]
#: A batch has about this many tokens, so that a long text needs little memory and a chunk takes about a second.
TOKENS_AT_ONCE = 4096


def run_variants(
    model: NamedEncoder, plain: Trace, variants: Sequence[Variant], tokens_at_once: int = TOKENS_AT_ONCE
) -> Iterator[tuple[list[int], Tensor]]:
    """Runs of the input of `plain`, one for each variant: (indices of variants, outputs [n, T, D]), chunk by chunk.

    plain: the unedited trace, without padding. Close the generator to stop early. Raises EncoderError for edits that do
    not fit, and for edits before the first layer's input (the hook points of the embedding's parts and positions).
    """
    if plain.edits or plain.n_real != plain.n_tokens:
        raise EncoderError("Effects need the trace of one input, without edits and without padding.")
    for variant in variants:
        n_memory = 0 if plain.memory is None else plain.memory.vectors.shape[1]
        check_edits(variant, model.config, plain.n_tokens, n_memory)
    variants = [tuple(edit.resolve(model._run_source) for edit in variant) for variant in variants]
    n_layers = model.config.n_layers
    starts = [min((_start(edit, model.config) for edit in one), default=n_layers) for one in variants]
    order = sorted(range(len(variants)), key=lambda index: starts[index])
    n_rows = max(1, tokens_at_once // plain.n_tokens)
    for first in range(0, len(order), n_rows):
        some = order[first : first + n_rows]
        yield some, _run(model.encoder, plain, [variants[index] for index in some], [starts[index] for index in some])


def _start(edit: Edit, config: EncoderConfig) -> int:
    """The first layer whose input or inside the edit changes; L: what follows the last layer."""
    if edit.at("embedding", None):
        return 0
    if any(edit.at(point, None) for point in APART):
        raise EncoderError(f"{type(edit).__name__} changes what all rows share: trace it as a run of its own.")
    for layer in range(config.n_layers):
        for point in LAYER_POINTS:
            if edit.at(point, layer):
                return layer + 1 if point == config.after_layer else layer
    return config.n_layers


@torch.no_grad()
def _run(encoder: Encoder, plain: Trace, variants: list[Variant], starts: list[int]) -> Tensor:
    """Outputs [n, T, D] of variants that are sorted by their first layers."""
    n_layers, n_tokens = encoder.config.n_layers, plain.n_tokens
    stream, width = plain.whole_streams, encoder.config.d_model
    contexts = encoder.attention_contexts(stream[0].unsqueeze(0), None, plain.memory, places=plain.places)
    visitor = RowVisitor(contexts, variants, encoder.config)
    x = stream[0].new_empty(0, *stream[0].shape)
    with explain_out_of_memory(encoder.device, len(variants) * n_tokens), visiting(visitor):
        for layer in range(starts[0], n_layers + 1):
            n_new = starts.count(layer)
            if n_new:
                new = stream[layer].expand(n_new, -1, -1)
                point, of_layer = ("embedding", None) if layer == 0 else (encoder.config.after_layer, layer - 1)
                changed = visitor.changed(point, of_layer, new[..., :width], offset=len(x))
                if changed.shape != new.shape:  # a stream of boxes follows that of the text
                    changed = torch.cat((changed, new[..., width:]), dim=-1)
                x = torch.cat((x, changed))
            if layer < n_layers:
                x = encoder.block(layer)(x, contexts[layer])
        return encoder.finish(x)


def _edited_rows(variants: Sequence[Variant], n_layers: int) -> Rows:
    """Which rows are edited where."""
    places: list[tuple[str, int | None]] = [(point, layer) for layer in range(n_layers) for point in LAYER_POINTS]
    places += [("embedding", None), ("final_norm.input", None), ("output", None)]
    found = {place: [row for row, edits in enumerate(variants) if edits_at(edits, *place)] for place in places}
    return {place: rows for place, rows in found.items() if rows}


class RowVisitor:
    """Edits each row of a batch by its own edits. contexts: of every layer; variants: the edits of each row."""

    def __init__(
        self, contexts: Sequence[AttentionContext], variants: Sequence[Variant], config: EncoderConfig
    ) -> None:
        self._contexts, self._variants = contexts, variants
        self._beside_scale = None if config.beside is None else config.beside.score_scale
        self._rows = _edited_rows(variants, len(contexts))
        self._qkv: dict[str, Tensor] = {}

    def needs_scores(self, layer: int) -> bool:
        """Never: `visit` computes the z of edited rows again."""
        return False

    def visit(self, name: str, layer: int | None, value: Tensor) -> Tensor:
        """The value [n, ...] with the edits of its rows."""
        before = "cross." if name.startswith("cross.") else ""
        which = name.removeprefix(before)
        explicit = layer is not None and any((before + point, layer) in self._rows for point in COMPUTED)
        if explicit and layer is not None and which == "z":
            value = self._attention(layer, value, before)
        value = self.changed(name, layer, value)
        if explicit and which in ("q", "k", "v", "gate", "bias_gate", "beside.q", "beside.k"):
            self._qkv[which] = value
        return value

    def changed(self, name: str, layer: int | None, value: Tensor, offset: int = 0) -> Tensor:
        """`value` with the edits of its rows; its first row is row `offset` of the batch."""
        rows = [row for row in self._rows.get((name, layer), ()) if offset <= row < offset + len(value)]
        if rows:
            value = value.clone(memory_format=torch.contiguous_format)
            for row in rows:
                own = value[row - offset : row - offset + 1]
                own.copy_(apply_edits(self._variants[row], name, layer, own))
        return value

    def _attention(self, layer: int, z: Tensor, before: str) -> Tensor:
        """z [n, H, T, K], with the rows computed again whose scores or weights are edited. before: of their points."""
        z = z.clone()
        own, heads = self._contexts[layer], range(z.shape[1])
        context = own.cross if before and own.cross is not None else own
        points = [before + point for point in COMPUTED]
        for row in sorted({row for point in points for row in self._rows.get((point, layer), ())}):
            edits = self._variants[row]
            named = {getattr(edit, "query", None) for point in points for edit in edits_at(edits, point, layer)}
            query = named.pop() if len(named) == 1 else None
            queries = slice(None) if query is None else slice(query, query + 1)
            tokens = range(z.shape[-2])[queries]
            q, k, v = (self._qkv[name][row : row + 1] for name in "qkv")
            factor = self._qkv.get("bias_gate")
            gated = context if factor is None else replace(context, bias_gate=factor[row : row + 1])
            if self._beside_scale is not None:
                of_boxes = [self._qkv[f"beside.{name}"][row : row + 1] for name in "qk"]
                gated = gated.with_beside(of_boxes[0], of_boxes[1], self._beside_scale)
            scores = gated.scores(q[:, :, queries], k, queries)
            scores = apply_edits(edits, before + "scores", layer, scores, heads, tokens)
            pattern = apply_edits(edits, before + "pattern", layer, context.pattern(scores), heads, tokens)
            mixed = attend.mix(pattern, v)
            gate = None if before else self._qkv.get("gate")
            z[row : row + 1, :, queries] = mixed if gate is None else mixed * gate[row : row + 1, :, queries]
        return z
