"""Commands about what a part of the model causes or holds: `ablate`, `patch`, `probe`."""

import argparse
from collections.abc import Iterator

import numpy as np

from encoder import causal
from encoder.causal import Outcome
from encoder.cli import inputs, progress
from encoder.cli.command import CommandError, Result, near
from encoder.documents.tables import cells_of
from encoder.drawing import still
from encoder.probe import bundled, iter_by_layer, iter_extract, read_task
from encoder.probe.features import View

#: Effects that are printed without --out.
PRINTED = 10


def outcome_of(text: str) -> Outcome | str:
    """An outcome as the command line has it. Raises CommandError for an unknown one."""
    kind, _, value = text.partition(":")
    if kind in ("sentence", *causal.registered()) and not value:
        return kind
    if kind == "similarity" and value:
        return causal.Similarity(value)
    if kind == "token" and value.isascii() and value.isdigit():
        return causal.TokenVector(int(value))
    if kind == "class" and value:
        return causal.ClassProbability(value)
    if kind == "target" and value:
        return causal.TargetProbability(value)
    if kind == "word" and value:
        word, _, other = value.partition(",")
        return causal.MaskedWord(word.strip(), other.strip() or None)
    raise CommandError(
        f"--outcome {text[:60]!r}: write sentence, similarity:TEXT, token:N, word:WORD, word:WORD,OTHER, class:LABEL "
        "or target:TEXT"
        f"{near(kind, ['sentence', 'similarity', 'token', 'word', 'class', 'target', *causal.registered()])}."
    )


def ablated(item: inputs.Input) -> Result:
    """The effect of each head, or each sublayer, off by itself."""
    model, trace, outcome = item.model, item.trace, outcome_of(item.options.outcome)
    if item.options.what == "heads":
        found = progress.last(causal.iter_each_head(model, trace, outcome), "runs").values.numpy()
        table = cells_of("layer", "head", numbers={"effect": found})
        picture = still.of_heads("effect", found, signed=True)
    else:
        parts, found = model.config.sublayers, causal.leave_out_each_sublayer(model, trace, outcome).numpy()
        table = cells_of({"sublayer": np.array(parts, dtype=object)}, "layer", numbers={"effect": found})
        picture = still.matrix("effect", found, parts, [f"L{at}" for at in range(found.shape[1])], signed=True)
    order = table["effect"].abs().sort_values(ascending=False, kind="stable").index
    return Result(
        lambda: [table],
        lambda: {"effects": found},
        lambda: picture,
        name=f"{len(table)} effects of {model.name}",
        facts=item.facts(outcome=item.options.outcome),
        shown=lambda: table.loc[order].head(PRINTED),
    )


def patch(options: argparse.Namespace) -> Iterator[Result]:
    """The effect of each vector of a clean run in a corrupted one."""
    both = list(inputs.traces(options, causal.patch_request(options.where)))
    if len(both) != 2:
        raise CommandError(
            f"patch compares two inputs, and there are {len(both)}: specify the clean one, then the other."
        )
    clean, corrupted = both
    model, outcome = corrupted.model, outcome_of(options.outcome)
    if outcome == causal.SentenceVector.code or isinstance(outcome, causal.SentenceVector):
        outcome = causal.Similarity(clean.trace)  # as on the page Interventions: the run that vectors come from
    steps = causal.iter_patch(model, clean.trace, corrupted.trace, outcome, options.where)
    found = progress.last(steps, "runs").values.numpy()
    before, after = causal.both_outcomes(model, clean.trace, corrupted.trace, outcome)
    places = np.arange(found.shape[1])
    of_place = (
        {"head": places}
        if options.where == "head"
        else {
            "position": places,
            "token": np.array(corrupted.trace.labels, dtype=object),
            "clean_token": np.array(clean.trace.labels, dtype=object),
        }
    )
    table = cells_of("layer", of_place, numbers={"effect": found})
    labels = [str(place) for place in places] if options.where == "head" else corrupted.trace.labels
    largest = table.sort_values("effect", key=abs, ascending=False, kind="stable")
    yield Result(
        lambda: [table],
        lambda: {"effects": found, "outcomes": np.array([before, after])},
        lambda: still.matrix("effect", found, [f"L{layer}" for layer in range(len(found))], labels, signed=True),
        name=f"{len(table)} effects of {model.name}",
        shown=lambda: largest.head(PRINTED),
        facts={"Model": model.name, "Outcome": options.outcome, "Corrupted": before, "Clean": after},
        said=f"outcome: {before:.4f} corrupted, {after:.4f} clean",
    )


def probe(options: argparse.Namespace) -> Iterator[Result]:
    """The accuracy of a linear probe on each layer, next to that on a control task."""
    if options.text or options.column:
        raise CommandError("probe needs a label for each text: specify a file of both with --texts.")
    model = inputs.text_model(options)
    if options.texts is None:
        task = bundled(options.task)
    else:
        given, name = (inputs.standard_input(), "input.csv") if options.texts == "-" else (options.texts, "")
        read = read_task(given, name, most=None)
        inputs.say_left_out(read.problems, read.n_left_out)
        task = read.task
    view: View = options.view or ("mean" if task.spans is None else "token")
    features = progress.shares(iter_extract(model, task))
    found = progress.shares(iter_by_layer(features, task, view, seed=options.seed))
    inputs.say_n_cut(found.n_cut, len(task))
    table = found.table()
    layers = [*map(str, table["layer"][:-1]), "output"]
    numbers = table[["accuracy", "control"]].to_numpy().T
    yield Result(
        lambda: [table],
        lambda: {str(name): table[name].to_numpy() for name in table},
        lambda: still.matrix(task.title, numbers, ["accuracy", "control"], layers),
        name=f"probes of {len(table)} layers of {model.name}",
        facts={"Model": model.name, "Task": task.title, "Texts": len(task), "View": view, "Majority": task.majority},
        said=f"{task.title}: {len(task):,} texts; always the most frequent label: {task.majority:.3f}",
        shown=lambda: table,
    )
