"""Commands about heads: `trace` (attention weights), `measure` (measures and types), `align` (known pairs)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from encoder.cli import inputs
from encoder.cli.command import FORMATS, Command, CommandError, Result, numbers, option
from encoder.measure.head_definitions import HEAD_MEASURES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from encoder.encoders.named import NamedEncoder
    from encoder.export import HeadView
    from encoder.export.still import Still
    from encoder.trace.trace import Trace

#: Heads that are printed without --out.
PRINTED = 10
#: Cells along the side of a still map of one head.
SIDE = 64
#: An option of one view -> that view.
OF_VIEW = {"overlay": "lines", "minimum_weight": "lines", "direction": "text"}
PAIR = option("--pair", metavar="TEXT", help="a second sentence for each text, for segment B")


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
    if options.is_former:  # one head, the first by default
        options.layer, options.head = options.layer or 0, options.head or 0
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

    def tables() -> Iterator[pd.DataFrame]:
        for view in views():
            yield _placed(view.frame(), view, item.number)

    def strongest() -> pd.DataFrame:
        import pandas as pd

        return pd.concat([_placed(view.strongest().head(1), view) for view in views()], ignore_index=True)

    only = next(views()) if len(layers) * len(heads) == 1 else None
    name = f"{len(layers) * len(heads)} heads" if only is None else only.name
    return Result(
        tables, lambda: _arrays(trace, list(layers), list(heads)), lambda: _map(trace, name, only),
        lambda: _page(model, trace, only, options), f"{name} of {model.name}, {trace.n_tokens:,} tokens",
        item.facts(**({} if only is None else only.facts())),
        strongest if only is None else only.strongest,
    )  # fmt: skip


def _view(trace: Trace, layer: int, head: int, given: argparse.Namespace) -> HeadView:
    """The view of a head that the options ask for."""
    from encoder import export

    options = export.Options(special=given.special, padding=given.padding)
    if given.view == "lines":
        heads = list(dict.fromkeys([(layer, head), *(given.overlay or ())]))
        return export.lines(trace, heads, threshold=given.minimum_weight or 0.0, queries=given.select, options=options)
    if given.view == "text":
        return export.text(
            trace, layer, head, direction=given.direction or "to", selected=given.select, options=options
        )
    return export.map(trace, layer, head, queries=given.select, options=options)


def _placed(table: pd.DataFrame, view: HeadView, number: int | None = None) -> pd.DataFrame:
    """A view's table with layer and head before it, and the number of the input."""
    for place, name in zip(view.heads[0], ("layer", "head"), strict=True):
        if name not in table:
            table.insert(("layer", "head").index(name), name, place)
    if number is not None:
        table.insert(0, "text", number)
    return table


def _arrays(trace: Trace, layers: list[int], heads: list[int]) -> dict[str, np.ndarray]:
    """attention [l, h, T, T], q, k, v [l, h, T, K], residual [n, T, D] with its n names, output [T, D]."""
    import numpy as np
    import torch

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
    from encoder.export import still
    from encoder.measure import aggregate

    if only is None:
        return still.grid(name, aggregate.to_uint8(trace.thumbnails(SIDE)))
    layer, head = only.heads[0]
    assert layer is not None
    assert head is not None
    weights = trace.pooled_attention(layer, head).cpu().numpy()
    labels = trace.labels if len(weights) == trace.n_tokens else [""] * len(weights)
    return still.matrix(name, weights, labels, labels)


def _page(model: NamedEncoder, trace: Trace, only: HeadView | None, options: argparse.Namespace) -> str:
    """The report of one head, or the whole model, whose layers and heads all open."""
    from encoder.export import report, saved

    if only is None:
        return saved.page(trace, options.layer or 0, options.head or 0, model=model.name)
    return report.page(model, inputs.origin(options), only)


def measured(item: inputs.Input) -> Result:
    """Every measure of every head, and its types."""
    from encoder.export import still
    from encoder.measure import head_types
    from encoder.measure.heads import head_measures

    options, chosen = item.options, item.options.measure
    found = head_measures(item.trace, queries=options.queries, strong=options.strong)
    table = found.table()
    types = [" ".join(one.head_type.name for one in head) for layer in head_types.find(found) for head in layer]
    table.insert(0, "text", item.number)
    table.insert(3, "types", types)
    shown = table.sort_values(chosen, ascending=False, kind="stable")[["layer", "head", chosen, "types"]]
    return Result(
        lambda: [table], lambda: dict(found.values), lambda: still.of_heads(chosen, found[chosen]),
        name=f"{len(table)} heads of {item.model.name}", shown=lambda: shown.head(2 * PRINTED),
        facts=item.facts(queries=options.queries, strong=options.strong),
    )  # fmt: skip


def aligned(item: inputs.Input) -> Result:
    """How well each head finds known pairs of tokens."""
    from encoder.export import still
    from encoder.measure.head_alignment import read_pairs, score_heads

    found = score_heads(item.trace, read_pairs(item.options.pairs, item.trace))
    table, (distance, precision) = found.frame(), found.offset
    table.insert(0, "text", item.number)
    said = f"{len(found.pairs)} pairs; at random: precision {found.chance:.3f}; always {distance:+d} tokens away: "
    return Result(
        lambda: [table], lambda: {"precision": found.precision, "recall": found.recall},
        lambda: still.of_heads("precision", found.precision), name=f"{len(table)} heads of {item.model.name}",
        facts=item.facts(chance=found.chance, offset=distance, offset_precision=precision),
        shown=lambda: table.drop(columns="text").head(PRINTED), said=f"{said}precision {precision:.3f}",
    )  # fmt: skip


def _heads(text: str) -> list[tuple[int, int]]:
    if not re.fullmatch(r" *\d+\.\d+ *(, *\d+\.\d+ *)*", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r}: specify layer.head with commas between them, like 0.2,1.8")
    pairs = (part.split(".") for part in text.split(","))
    return list(dict.fromkeys((int(layer), int(head)) for layer, head in pairs))


def share(text: str) -> float:
    """The type of an option that is a weight."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a weight: specify a number from 0 to 1")
    return value


COMMANDS = (
    Command(
        "trace", "the attention weights of all heads, or of one",
        'trace minilm --text "The cat sat on the mat" --layer 2 --head 3 --out head.html',
        inputs.for_each(traced), takes="inputs", formats=FORMATS,
        about="The attention weights of all heads, or of one. A page (.html) of all heads is the whole model at work; "
        "of one head, its report. Arrays (.npz) also hold q, k, v and the residual stream.",
        options=(
            PAIR,
            option("--pad-to", type=int, metavar="N", help="pad each text to N tokens, as in a batch"),
            option("--padding", action="store_true", help="show the rows and columns of padding"),
            option("--layer", type=int, metavar="N", help="one layer, from 0 (default: all)"),
            option("--head", type=int, metavar="N", help="one head, from 0 (default: all)"),
            option("--special", choices=("show", "zero", "renormalise"), help="special tokens such as [CLS]: shown, "
                   "set to 0, or left out with rows scaled to sum to 1"),
            option("--view", choices=("map", "lines", "text"), help="a map, lines between tokens, or the shaded text"),
            option("--select", "--hold", dest="select", type=numbers, default=(), metavar="N,N",
                   help="positions of the selected tokens, from 0; their weights are summed"),
            option("--overlay", type=_heads, metavar="L.H,L.H", help="lines: more heads, as layer.head"),
            option("--minimum-weight", "--least", dest="minimum_weight", type=share, metavar="W",
                   help="lines: draw no weight below W (default: 0)"),
            option("--direction", choices=("to", "from"), default=None,
                   help="text: shade what the selected tokens attend to, or what attends to them (default: to)"),
        ),
    ),
    Command(
        "measure", "every measure and the types of all heads", 'measure minilm --text "The cat sat on the mat" --json',
        inputs.for_each(measured), takes="inputs", formats=FORMATS, options=(
            PAIR,
            option("--measure", choices=tuple(one.name for one in HEAD_MEASURES), default="relative_entropy",
                   metavar="NAME", help="the measure that is printed and drawn; a table has all"),
            option("--queries", choices=("all", "content"), help="the rows that count: all, or without special tokens"),
            option("--strong", type=share, default=0.1, metavar="W", help="a weight above W is strong"),
        ),
    ),
    Command(
        "align", "score all heads against pairs of tokens that you know",
        'align minilm --text "The animal didn\'t cross the street because it was too tired." --pairs pairs.csv',
        inputs.for_each(aligned), takes="inputs", formats=FORMATS,
        about="Score all heads against an alignment: a CSV file with a query and a key in each row, as token numbers "
        "from 0 or as tokens that occur once. A head predicts the key with its largest weight.",
        options=(option("--pairs", type=Path, required=True, metavar="FILE", help="the CSV file of pairs"),),
    ),
)  # fmt: skip
