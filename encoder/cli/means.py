"""`measure` and `ablate` with --mean: means over all texts with their intervals, in place of each text by itself."""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from encoder import causal, corpus
from encoder.cli import inputs, progress
from encoder.cli.command import CommandError, Result
from encoder.cli.corpus import source_of
from encoder.cli.effects import outcome_of
from encoder.corpus.totals import caution
from encoder.drawing import still
from encoder.encoders.text import TextEncoder
from encoder.measure.head_definitions import BY_NAME
from encoder.measure.head_measures import head_measures
from encoder.trace.tokens import Queries


def measures(model: TextEncoder, text: str, queries: Queries, strong: float) -> np.ndarray:
    """[M, L, H]: every measure of every head."""
    return np.stack(list(head_measures(model.trace(text), queries=queries, strong=strong).values.values()))


def effects(model: TextEncoder, text: str, outcome: str, what: str) -> Tensor:
    """[L, H]: of each head off; or [S, L]: of each sublayer."""
    effect = causal.ablate_each_head if what == "heads" else causal.leave_out_each_sublayer
    return effect(model, text, outcome_of(outcome))


def over_texts(options: argparse.Namespace) -> Iterator[Result]:
    """The means of the command's numbers, and with --by those of groups."""
    if options.pair or options.file or (options.workers and options.norm != "trained"):
        raise CommandError("--mean runs single texts: leave --pair, --file, and --norm next to --workers, out.")
    model, shown = inputs.text_model(options), progress.Shown()
    axes: dict[str, Sequence[object]] = {name: range(getattr(model.config, f"n_{name}s")) for name in ("layer", "head")}
    function: partial[Any]
    chosen: int | slice
    if options.command.name == "measure":
        function = partial(measures, queries=options.queries, strong=options.strong)
        axes, chosen = {"measure": list(BY_NAME), **axes}, list(BY_NAME).index(options.measure)
    else:
        function, chosen = partial(effects, outcome=options.outcome, what=options.what), slice(None)
        axes = axes if options.what == "heads" else {"sublayer": model.config.sublayers, "layer": axes["layer"]}
    found = corpus.over(
        model,
        source_of(options),
        function,
        options.keep,
        name=f"{function.func.__name__} {function.keywords}",
        cluster=corpus.Cluster(options.model, options.workers) if options.workers else None,
        progress=lambda now: shown(now.done, now.n_texts, now.before),
    )
    inputs.say_n_cut(found.n_cut, len(found.values))
    groups = {("", ""): found} | {(by, group): some for by in options.label for group, some in found.by(by).items()}
    table = pd.concat(
        [some.to_pandas(**axes).assign(texts=len(some.values), label=by, value=of) for (by, of), some in groups.items()]
    ).drop(columns=[] if options.label else ["label", "value"])
    if "outcome" in function.keywords:  # a CSV file has no place for it but a column
        table["outcome"] = options.outcome
    printed = table[table["measure"] == options.measure] if "measure" in axes else table
    mean = found.mean[chosen]
    rows = model.config.sublayers if "sublayer" in axes else [f"L{layer}" for layer in axes["layer"]]
    interval = ". ".join(filter(None, ("low and high: 95% interval of the mean", caution(len(found.values)))))
    yield Result(
        lambda: [table],
        lambda: {"mean": found.mean, "low": found.low, "high": found.high, "values": found.values},
        lambda: still.matrix("mean", mean, rows, list(map(str, range(mean.shape[1]))), signed=bool(mean.min() < 0)),
        name=f"means over {len(found.values):,} texts, by {model.name}",
        facts={"Model": model.name} | {name.capitalize(): value for name, value in function.keywords.items()},
        shown=lambda: printed.sort_values("mean", key=abs, ascending=False, kind="stable").head(20),
        said=f"{len(found.values):,} texts, {len(found.failed):,} left out; {interval}",
    )
