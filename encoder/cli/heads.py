"""Commands about heads: `trace` (attention weights), `measure` (measures and types), `align` (known pairs); and
`norms`, about the residual stream between them."""

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch

from encoder import export
from encoder.cli import inputs
from encoder.cli.command import CommandError, Result
from encoder.documents.tables import norms_frame, stream_frame
from encoder.drawing import still
from encoder.drawing.still import Still
from encoder.encoders.named import NamedEncoder
from encoder.export import HeadView, report, saved
from encoder.measure import head_types
from encoder.measure.head_alignment import read_pairs, score_heads
from encoder.measure.head_measures import head_measures
from encoder.measure.norms import statistics
from encoder.trace.trace import Trace
from encoder.views import stills

#: Heads that are printed without --out.
PRINTED = 10
#: An option of one view -> that view.
OF_VIEW = {"overlay": "lines", "minimum_weight": "lines", "direction": "text"}


def traced(item: inputs.Input) -> Result:
    """The attention weights of all heads, of a layer, or of one head."""
    options, model = item.options, item.model
    if options.padding and options.pad_to is None:
        raise CommandError("--padding needs --pad-to N: specify that length too, or leave --padding out.")
    for name, view in OF_VIEW.items():
        if getattr(options, name) is not None and options.view != view:
            raise CommandError(
                f"--{name.replace('_', '-')} belongs to --view {view}: leave it out, or choose that view."
            )
    trace = item.trace if options.padding else item.trace.unpadded
    config = trace.config
    layers = range(config.n_layers) if options.layer is None else [options.layer]
    heads = range(config.n_heads) if options.head is None else [options.head]
    if any(token >= trace.n_tokens for token in options.select):
        raise CommandError(f"--select: the tokens of this input are 0 to {trace.n_tokens - 1}.")
    if options.overlay and len(layers) * len(heads) > 1:
        raise CommandError("--overlay adds heads to one head: choose it with --layer and --head.")

    def views() -> Iterator[HeadView]:
        return (_view(trace, layer, head, options) for layer in layers for head in heads)

    def strongest() -> pd.DataFrame:
        return pd.concat([_placed(view.strongest().head(1), view) for view in views()], ignore_index=True)

    only = next(views()) if len(layers) * len(heads) == 1 else None
    name = f"{len(layers) * len(heads)} heads" if only is None else only.name
    return Result(
        lambda: (_placed(view.frame(), view) for view in views()),
        lambda: _arrays(trace, list(layers), list(heads)),
        lambda: _map(trace, name, only),
        lambda: _page(model, trace, only, options),
        f"{name} of {model.name}, {trace.n_tokens:,} tokens",
        item.facts(**({} if only is None else only.facts())),
        strongest if only is None else only.strongest,
    )


def _view(trace: Trace, layer: int, head: int, given: argparse.Namespace) -> HeadView:
    """The view of a head that the options ask for."""
    options = export.Options(special=given.special, padding=given.padding)
    if given.view == "lines":
        heads = list(dict.fromkeys([(layer, head), *(given.overlay or ())]))
        return export.lines(trace, heads, threshold=given.minimum_weight or 0.0, queries=given.select, options=options)
    if given.view == "text":
        return export.text(
            trace, layer, head, direction=given.direction or "to", selected=given.select, options=options
        )
    return export.map(trace, layer, head, queries=given.select, options=options)


def _placed(table: pd.DataFrame, view: HeadView) -> pd.DataFrame:
    """A view's table with layer and head before it."""
    for place, name in zip(view.heads[0], ("layer", "head"), strict=True):
        if name not in table:
            table.insert(("layer", "head").index(name), name, place)
    return table


def _arrays(trace: Trace, layers: list[int], heads: list[int]) -> dict[str, np.ndarray]:
    """attention [l, h, T, T], q, k, v [l, h, T, K], residual [n, T, D] with its n names, output [T, D]."""
    found = {"attention": torch.stack([trace.layer_attention(layer)[heads] for layer in layers])}
    names: list[str] = []
    if trace.config.takes_text or trace.layout is not None:
        for at, name in enumerate("qkv"):
            found[name] = torch.stack([trace.layer_qkv(layer)[at][heads] for layer in layers])
        names = list(trace.residual)
        found |= {"residual": torch.stack(list(trace.residual.values())), "output": trace.output}
    arrays = {name: tensor.float().cpu().numpy() for name, tensor in found.items()}
    return arrays | {"residual_names": np.array(names), "tokens": np.array(trace.labels)}


def _map(trace: Trace, name: str, only: HeadView | None) -> Still:
    """The map of one head, or the small maps of all."""
    if only is None:
        return stills.of_all_heads(trace, name)
    layer, head = only.heads[0]
    assert layer is not None
    assert head is not None
    return stills.of_head(trace, layer, head, name)


def _page(model: NamedEncoder, trace: Trace, only: HeadView | None, options: argparse.Namespace) -> str:
    """The report of one head, or the whole model, whose layers and heads all open."""
    if only is None:
        return saved.page(trace, options.layer or 0, options.head or 0, model=model.name)
    return report.page(model, inputs.spec(options), only)


def measured(item: inputs.Input) -> Result:
    """Every measure of every head, and its types."""
    options, chosen = item.options, item.options.measure
    found = head_measures(item.trace, queries=options.queries, strong=options.strong)
    table = found.table()
    types = [" ".join(one.head_type.name for one in head) for layer in head_types.find(found) for head in layer]
    table.insert(2, "types", types)
    shown = table.sort_values(chosen, ascending=False, kind="stable")[["layer", "head", chosen, "types"]]
    return Result(
        lambda: [table],
        lambda: dict(found.values),
        lambda: still.of_heads(chosen, found[chosen]),
        name=f"{len(table)} heads of {item.model.name}",
        shown=lambda: shown.head(2 * PRINTED),
        facts=item.facts(queries=options.queries, strong=options.strong),
    )


def aligned(item: inputs.Input) -> Result:
    """How well each head finds known pairs of tokens."""
    found = score_heads(item.trace, read_pairs(item.options.pairs, item.trace))
    table, (distance, precision) = found.frame(), found.offset
    said = f"{len(found.pairs)} pairs; baselines, precision: random pairs {found.chance:.3f}, "
    said += f"the token at distance {distance:+d} "
    return Result(
        lambda: [table],
        lambda: {"precision": found.precision, "recall": found.recall},
        lambda: still.of_heads("precision", found.precision),
        name=f"{len(table)} heads of {item.model.name}",
        facts=item.facts(chance=found.chance, offset=distance, offset_precision=precision),
        shown=lambda: table.head(PRINTED),
        said=f"{said}precision {precision:.3f}",
    )


def normalised(item: inputs.Input) -> Result:
    """Each token at each norm, or the residual stream layer by layer."""
    trace, of_tokens = item.trace, item.options.what == "norms"
    table = norms_frame(trace) if of_tokens else stream_frame({item.model.name: trace}).drop(columns="model")
    found = statistics(trace)
    return Result(
        lambda: [table],
        lambda: {"before": np.stack(found.before), "after": np.stack(found.after), "norms": np.array(found.names)},
        lambda: still.matrix("standard deviation before the norm", found.before[1], found.names, trace.labels),
        name=f"{len(found.names)} norms of {item.model.name}, {trace.n_tokens:,} tokens",
        facts=item.facts(),
        shown=lambda: table.head(PRINTED) if of_tokens else table,
    )
