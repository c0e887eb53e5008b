"""What can be exported from the page “Beyond attention weights”."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.export import tables
from encoder.export.tables import EXACT_TOKENS
from encoder.measure.deletion import Deletion
from encoder.measure.qk_space import QKSpace
from encoder.similarity import ClassAttribution
from pages.beyond_weights.class_choice import ChosenClass
from pages.beyond_weights.deletion import CANDIDATES, SCOPES, SEEDS
from pages.beyond_weights.params import Params
from pages.core.export import export_panel, place, title
from pages.core.view import View


def export_norm_weighted(view: View, shown: Mapping[str, go.Figure]) -> None:
    """Each weight of the head and its norm-weighted attention. shown: the page's figures."""
    layer, head = view.layer, view.head
    export_panel(
        view,
        title(view, f"Norm-weighted attention of L{layer} H{head}"),
        lambda: tables.norm_weighted_frame(view.trace, layer, head),
        figures=shown,
        lines="from encoder.measure import norm_weighted\n"
        f"weighted = norm_weighted.norm_weighted(trace, {layer}, {head})",
        settings=place(view),
    )


def export_rollout(view: View, shown: Mapping[str, go.Figure]) -> None:
    """The rollout up to the layer. shown: the page's figures."""
    long, query = view.trace.n_tokens > EXACT_TOKENS, view.i or 0
    rows = f", slice({query}, {query + 1})" if long else ""
    export_panel(
        view,
        title(view, f"Attention rollout up to layer {view.layer}"),
        lambda: tables.rollout_frame(view.trace, view.layer, query),
        figures=shown,
        lines=f"from encoder.measure import rollout\nshares = rollout.rollout(trace, {view.layer}{rows})",
        settings={"Layer": view.layer},
    )


def export_plane(view: View, space: QKSpace, shown: Mapping[str, go.Figure]) -> None:
    """Queries and keys as points of the plane. shown: the page's figure."""
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

    export_panel(
        view,
        title(view, f"Q-K space of L{layer} H{head}"),
        frame,
        figures=shown,
        lines="from encoder.measure import qk_space\n"
        f"space = qk_space.qk_space(trace, {layer}, {head})\n"
        "space.queries, space.keys",
        settings=place(view),
    )


def export_deletion(
    view: View, found: Deletion, shown: go.Figure, of_class: ChosenClass | None, params: Params
) -> None:
    """The deletion test: the change for each k. shown: the page's figure; of_class: what was measured."""
    layer, head = view.layer, view.head
    options = f'seeds=range({len(SEEDS)}), scope="{params.scope}", candidates="{params.candidates}"'
    if of_class is not None:
        options += ", outcome=outcome"
    export_panel(
        view,
        title(view, f"Deletion test of L{layer} H{head}"),
        lambda: pd.DataFrame(
            {
                "k": found.counts,
                "most_attended": found.by_attention,
                "most_norm_weighted": found.by_norm_weighted,
                **{f"random_{seed}": row for seed, row in zip(SEEDS, found.random, strict=True)},
            }
        ),
        figures={"Change of the embedding, 1 − cosine" if of_class is None else "Drop of the class": shown},
        lines="from encoder.measure import deletion\n"
        f"{_outcome_lines(of_class)}found = deletion.deletion_test(model, trace, {layer}, {head}, {options})",
        settings={**place(view), "Hidden": SCOPES[params.scope], "Among": CANDIDATES[params.candidates]}
        | ({} if of_class is None else {"Class": of_class.label}),
    )


def _outcome_lines(chosen: ChosenClass | None) -> str:
    if chosen is None:
        return ""
    return (
        "from encoder import classify\n"
        f"outcome = lambda trace: classify.probability(model, trace, {chosen.label!r}, {chosen.position})\n"
    )


def export_class(view: View, found: ClassAttribution, shown: go.Figure) -> None:
    """The tokens' shares of a class. shown: the page's figure."""
    labels = np.array(view.trace.labels, dtype=object)
    n_tokens = len(found.values)
    export_panel(
        view,
        title(view, f"Class “{found.label}” by token"),
        lambda: pd.DataFrame({"position": np.arange(n_tokens), "token": labels[:n_tokens], "value": found.values}),
        figures={"Part of the log-odds": shown},
        lines=(
            "from encoder import similarity\n"
            f"found = similarity.attribute_class(model, trace.source, {found.label!r}, {found.position}, "
            f"{found.reference!r})\nfound.values"
        ),
        settings={"Class": found.label, "Reference": found.reference, "Steps": found.steps},
    )
