"""What can be exported from the page “Head types”: the table of measures, the heads by type, or the head similarity."""

import dataclasses

import pandas as pd
import plotly.graph_objects as go

from encoder.export import report
from encoder.export.document import Section
from encoder.measure import head_types
from encoder.measure.head_types import HeadType
from encoder.measure.similarity import HeadPlane
from pages.core import head_measures
from pages.core.export import arguments, export_panel, title
from pages.core.view import View
from pages.head_types import table
from pages.head_types.heads import Heads
from pages.head_types.params import PARTS, Params


def export_head_types(view: View, found: Heads, params: Params, drawn: tuple[go.Figure, HeadPlane] | None) -> None:
    """Draw the export panel of the open part. drawn: the figure and the points of the head similarity."""
    settings = _settings(found, params)
    if drawn is not None:
        _export_similarity(view, found, *drawn, settings)
    elif params.part == "roles":
        _export_types(view, found, settings)
    else:
        _export_table(view, found, settings)


def _settings(found: Heads, params: Params) -> dict[str, object]:
    limits = dataclasses.asdict(head_measures.thresholds())
    return {
        "Shown": PARTS[params.part],
        "Query rows": "all tokens" if params.queries == "all" else "without special tokens",
        "Head type": found.types[found.wanted].title if found.wanted else "any",
        "Thresholds": ", ".join(f"{name} {value:g}" for name, value in limits.items()),
        "Strong above": found.measures.strong,
    }


def _measured(found: Heads) -> str:
    """Python that measures the heads of `trace`."""
    return f'heads.head_measures(trace, queries="{found.measures.queries}", strong={found.measures.strong:g})'


def _thresholds() -> str:
    """The thresholds that differ from the defaults, as a second argument."""
    changed = arguments(head_measures.thresholds())
    return f", head_types.Thresholds({changed})" if changed else ""


def _only_wanted(found: Heads, name: str) -> str:
    """A line that keeps the heads of the wanted type in the table `name`."""
    return f'\n{name} = {name}[{name}["head_type"] == "{found.wanted}"]' if found.wanted else ""


def _export_table(view: View, found: Heads, settings: dict[str, object]) -> None:
    def frame() -> pd.DataFrame:
        rows = table.frame(found).drop(columns="name")
        first = ["layer", "head", "head_types"]
        return rows[[*first, *rows.columns.drop(first)]]

    lines = f"from encoder.measure import heads\nmeasures = {_measured(found)}.table()"
    if found.wanted:
        lines = (
            f"from encoder.measure import head_types, heads\nmeasured = {_measured(found)}\n"
            f"named = head_types.table(measured{_thresholds()}){_only_wanted(found, 'named')}\n"
            'measures = measured.table().merge(named[["layer", "head"]])'
        )
    export_panel(view, title(view, "Measures of all heads"), frame, lines=lines, settings=settings)


def _export_types(view: View, found: Heads, settings: dict[str, object]) -> None:
    limits = head_measures.thresholds()  # read now: a download is made without the session

    def frame() -> pd.DataFrame:
        rows = head_types.table(found.measures, limits)
        return rows[rows["head_type"] == found.wanted] if found.wanted else rows

    def sections() -> list[Section]:
        rows = frame()
        shown = [one for one in found.types.values() if (rows["head_type"] == one.name).any()]
        every_head = report.every_head_section(view.trace, None, view.colours)
        return [*(_of_type(one, rows) for one in shown), every_head]

    lines = (
        "from encoder.measure import head_types, heads\n"
        f"found = head_types.table({_measured(found)}{_thresholds()}){_only_wanted(found, 'found')}"
    )
    export_panel(view, title(view, "Heads by type"), frame, sections=sections, lines=lines, settings=settings)


def _of_type(one: HeadType, rows: pd.DataFrame) -> Section:
    heads = rows[rows["head_type"] == one.name].drop(columns="head_type")
    return Section(f"{one.title}: {len(heads)}", sentences=[one.sentence], table=heads)


def _export_similarity(
    view: View, found: Heads, drawn: go.Figure, plane: HeadPlane, settings: dict[str, object]
) -> None:
    def frame() -> pd.DataFrame:
        rows = [(*divmod(number, found.n_heads), found.badge(number), *xy) for number, xy in enumerate(plane.xy)]
        return pd.DataFrame(rows, columns=["layer", "head", "head_types", "x", "y"])

    export_panel(
        view,
        title(view, "Similarity of the heads"),
        frame,
        figures={"Heads as points: near points have similar attention": drawn},
        lines="from encoder.measure import similarity\n"
        "plane = similarity.head_plane(similarity.head_similarity(trace))\nplane.xy",
        settings=settings,
    )
