"""What is taken away from the pages beside Heads and Compare: each page calls its own function once, at its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder import figures, report, report_tables
from encoder.figures.difference import attention_difference
from encoder.figures.gradients import last_layer_gradients
from encoder.figures.report import Section
from encoder.measure import align
from encoder.measure.deletion import Deletion
from encoder.measure.qk_space import QKSpace
from encoder.report import EXACT_TOKENS
from pages.shared import cached, compare
from pages.shared.deletion import AMONG, SCOPES
from pages.shared.frame import current_view
from pages.shared.take_away import arguments, take_away
from pages.shared.view import View

if TYPE_CHECKING:
    from encoder.steps import Normalised
    from encoder.train import gradients


def _title(view: View, what: str) -> str:
    return f"{what} of {view.loaded.name}"


def _place(view: View) -> dict[str, object]:
    return {"Layer": view.layer, "Head": view.head}


def take_vectors(view: View) -> None:
    """Queries, keys, values of the head."""
    layer, head = view.layer, view.head

    def drawn() -> Mapping[str, go.Figure]:
        trace = view.trace
        rows = slice(0, EXACT_TOKENS)
        parts = zip(("Queries", "Keys", "Values"), "qkv", trace.layer_qkv(layer), strict=True)
        return {
            title: figures.vectors_heatmap(part[head, rows].float().cpu(), trace.labels, kind)
            for title, kind, part in parts
        }

    take_away(
        view,
        _title(view, f"q, k, v in L{layer} H{head}"),
        lambda: report_tables.vectors_frame(view.trace, layer, head),
        figures=drawn,
        lines=f"q, k, v = (part[{head}] for part in trace.layer_qkv({layer}))",
        settings=_place(view),
    )


def take_plane(view: View, space: QKSpace, shown: Mapping[str, go.Figure]) -> None:
    """Queries and keys as points of the plane. shown: the page's picture."""
    layer, head = view.layer, view.head

    def frame() -> pd.DataFrame:
        labels = np.array(view.trace.labels, dtype=object)
        n_real = len(space.queries)
        return pd.DataFrame(
            {
                "position": np.arange(n_real),
                "token": labels[:n_real],
                **{f"query_{axis}": space.queries[:, at] for at, axis in enumerate("xy")},
                **{f"key_{axis}": space.keys[:, at] for at, axis in enumerate("xy")},
                "strongest_key": space.strongest,
                "strongest_token": labels[space.strongest],
                "weight": space.weights,
            }
        )

    take_away(
        view,
        _title(view, f"Queries and keys of L{layer} H{head} in one plane"),
        frame,
        figures=shown,
        lines="from encoder.measure import qk_space\n"
        f"space = qk_space.qk_space(trace, {layer}, {head})\n"
        "space.queries, space.keys",
        settings=_place(view),
    )


def take_norms(view: View, name: str, token: int, step: Normalised, shown: Mapping[str, go.Figure]) -> None:
    """Mean and standard deviation of every token at every norm; in the report one token at one norm, too.

    step: the token's way through the norm `name`; shown: the page's pictures.
    """
    label = figures.norm_label(name)

    def sections() -> list[Section]:
        parts = [Section(heading, figure=figure) for heading, figure in shown.items()]
        components = figures.token_steps(step.input, step.normalised, step.gain, step.bias, step.output, step.mean)
        parts.append(Section(f"Token {token} at {label}, component by component", table=components))
        return [*parts, Section("Every token at every norm", table=report_tables.norms_frame(view.trace))]

    take_away(
        view,
        _title(view, "LayerNorm"),
        lambda: report_tables.norms_frame(view.trace),
        sections=sections,
        settings={"Norm": label, "Token": f"{token}, {view.trace.labels[token]}"},
        lines="means = {name: norm.mean for name, norm in trace.norms.items()}\n"
        "stds = {name: norm.std for name, norm in trace.norms.items()}",
    )


def take_positions(view: View) -> None:
    """The encoding of the positions of the sentence."""
    config, layer = view.trace.config, view.layer
    lines = "position = trace.position"
    if view.trace.position is None and config.position == "rotary":
        lines = (
            f"from encoder.measure import positions\ncos, sin = positions.turns(trace.config, {layer}, trace.n_tokens)"
        )
    take_away(
        view,
        _title(view, "Positions"),
        lambda: report_tables.positions_frame(view.trace, layer),
        figures=lambda: _encoding(view),
        lines=lines,
        settings={"Positions": config.position},
    )


def _encoding(view: View) -> Mapping[str, go.Figure]:
    added = view.trace.position
    if added is None:
        return {}
    return {"What is added to each token": figures.position_heatmap(np.asarray(added[:EXACT_TOKENS].float().cpu()))}


def take_moved(view: View, shown: Mapping[str, go.Figure]) -> None:
    """Each weight of the head beside what it moves. shown: the page's pictures."""
    layer, head = view.layer, view.head
    take_away(
        view,
        _title(view, f"What L{layer} H{head} moves"),
        lambda: report_tables.moved_frame(view.trace, layer, head),
        figures=shown,
        lines=f"from encoder.measure import norm_weighted\nmoved = norm_weighted.norm_weighted(trace, {layer}, {head})",
        settings=_place(view),
    )


def take_rollout(view: View, shown: Mapping[str, go.Figure]) -> None:
    """The rollout up to the layer. shown: the page's pictures."""
    long, query = view.trace.n_tokens > EXACT_TOKENS, view.i or 0
    rows = f", slice({query}, {query + 1})" if long else ""
    take_away(
        view,
        _title(view, f"Rollout up to layer {view.layer}"),
        lambda: report_tables.rollout_frame(view.trace, view.layer, query),
        figures=shown,
        lines=f"from encoder.measure import rollout\nshares = rollout.rollout(trace, {view.layer}{rows})",
        settings={"Layer": view.layer},
    )


def take_deletion(view: View, found: Deletion, shown: go.Figure, scope: str, among: str, seeds: Sequence[int]) -> None:
    """The deletion test: each k with the change that it makes. shown: the page's picture."""
    layer, head = view.layer, view.head
    options = f'seeds=range({len(seeds)}), scope="{scope}", candidates="{among}"'
    take_away(
        view,
        _title(view, f"Deletion test of L{layer} H{head}"),
        lambda: pd.DataFrame(
            {
                "k": found.counts,
                "most_attended": found.by_attention,
                "move_most": found.by_moved,
                **{f"random_{seed}": row for seed, row in zip(seeds, found.random, strict=True)},
            }
        ),
        figures={"Change of the embedding, 1 − cosine": shown},
        lines="from encoder.measure import deletion\n"
        f"found = deletion.deletion_test(model, trace, {layer}, {head}, {options})",
        settings={**_place(view), "Hidden": SCOPES[scope], "Among": AMONG[among]},
    )


def take_guesses(view: View, k: int) -> None:
    """The k words that the model expects at each blank."""

    def frame() -> pd.DataFrame:
        found = view.loaded.predict_masked(view.trace, k)
        rows = [
            (entry.position, rank, token, share)
            for entry in found
            for rank, (token, share) in enumerate(zip(entry.tokens, entry.probabilities, strict=True), start=1)
        ]
        return pd.DataFrame(rows, columns=["position", "rank", "token", "probability"])

    take_away(view, _title(view, "Words for the blanks"), frame, lines=f"guesses = model.predict_masked(trace, {k})")


def take_placements(view: View, keys: Mapping[str, cached.ModelKey]) -> None:
    """The head in both norm placements. keys: placement -> the encoder with it; A is post-norm, B pre-norm."""
    first, second = (
        compare.Side(name, keys[placement], view.text, view.pair, view.layer, view.head)
        for name, placement in (("A", "post"), ("B", "pre"))
    )
    sides = compare.Sides("models", first, second)

    def frame() -> pd.DataFrame:
        names = align.step_labels(first.trace, second.trace, sides.alignment)
        return report.comparison_frame(sides.compared("show"), names[0], names[1])

    def drawn() -> Mapping[str, go.Figure]:
        found, block = sides.compared("show"), {"block": sides.compared("show").block}
        labels = align.step_labels(first.trace, second.trace, sides.alignment)[2]
        return {
            "Post-norm": figures.attention_heatmap(found.first, labels, colours=view.colours, **block),
            "Pre-norm": figures.attention_heatmap(found.second, labels, colours=view.colours, **block),
            "Pre-norm − post-norm": attention_difference(
                found.difference, labels, names=("post-norm", "pre-norm"), **block
            ),
        }

    take_away(
        dataclasses.replace(view, model=keys["post"]),
        f"L{view.layer} H{view.head} in post-norm and pre-norm",
        frame,
        figures=drawn,
        lines=compare.python_lines(sides, "show"),
        settings={"A": f"post-norm, {first.model_name}", "B": f"pre-norm, {second.model_name}", **_place(view)},
    )


def take_gradients(table: pd.DataFrame, setting: gradients.Setting, depths: Sequence[int], seeds: range) -> None:
    """Gradient norms at initialisation. table: as `gradients.to_frame` gives it; the rest: what was measured."""
    program = (
        "from encoder.train import gradients\n"
        f"found = gradients.measure_all({list(depths)}, {seeds!r}, gradients.Setting({arguments(setting)}))\n"
        "table = gradients.to_frame(found)\n"
    )
    take_away(
        current_view(),
        "Gradients at initialisation",
        lambda: table,
        figures=lambda: {"The last layer's gradient over depth": last_layer_gradients(table, {})},
        program=program,
        settings={"Width": setting.d_model, "Heads": setting.n_heads, "Depths": list(depths), "Seeds": len(seeds)},
    )
