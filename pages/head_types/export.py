"""What is taken away from Find heads: the table of measures, the heads by role, or the map of heads."""

from __future__ import annotations

import dataclasses

import pandas as pd
import plotly.graph_objects as go

from encoder.export import report
from encoder.export.document import Section
from encoder.measure import roles
from encoder.measure.roles import BY_NAME, ROLES, Role
from encoder.measure.similarity import HeadPlane
from pages.core import head_measures
from pages.core.export import arguments, export_panel
from pages.core.view import View
from pages.head_types import parts
from pages.head_types.params import PARTS
from pages.head_types.parts import Heads


def export_find(view: View, found: Heads, part: str, drawn: tuple[go.Figure, HeadPlane] | None) -> None:
    """Draw "Take it away" of the open part.

    part: a key of `find_params.PARTS`; drawn: the map of heads and its points, where the page shows it.
    """
    if part == "map" and drawn is not None:
        _take_map(view, found, *drawn)
    elif part == "roles":
        _take_roles(view, found)
    else:
        _take_table(view, found)


def _settings(found: Heads, part: str) -> dict[str, object]:
    limits = dataclasses.asdict(head_measures.thresholds())
    return {
        "Shown": PARTS[part],
        "Query rows": "all tokens" if found.measures.queries == "all" else "words only",
        "Role": BY_NAME[found.wanted].title if found.wanted else "any",
        "Thresholds": ", ".join(f"{name} {value:g}" for name, value in limits.items()),
        "Strong from": found.measures.strong,
    }


def _measured(found: Heads) -> str:
    """Python that measures the heads of `trace`."""
    return f'heads.head_measures(trace, queries="{found.measures.queries}", strong={found.measures.strong:g})'


def _thresholds() -> str:
    """The thresholds that are not the usual ones, as the second argument."""
    changed = arguments(head_measures.thresholds())
    return f", roles.Thresholds({changed})" if changed else ""


def _with_role(found: Heads, role: str) -> str:
    """A line that leaves the heads of a role in `found`, where one is asked for."""
    return f'\n{role} = {role}[{role}["role"] == "{found.wanted}"]' if found.wanted else ""


def _take_table(view: View, found: Heads) -> None:
    def frame() -> pd.DataFrame:
        table = parts.frame(found).drop(columns="name")
        return table[["layer", "head", "roles", *table.columns.drop(["layer", "head", "roles"])]]

    lines = f"from encoder.measure import heads\nmeasures = {_measured(found)}.table()"
    if found.wanted:
        lines = (
            f"from encoder.measure import heads, roles\nmeasured = {_measured(found)}\n"
            f"named = roles.table(measured{_thresholds()}){_with_role(found, 'named')}\n"
            'measures = measured.table().merge(named[["layer", "head"]])'
        )
    export_panel(
        view,
        f"Measures of all heads of {view.loaded.name}",
        frame,
        lines=lines,
        settings=_settings(found, "table"),
    )


def _take_roles(view: View, found: Heads) -> None:
    limits = head_measures.thresholds()  # read now: a download is made without the session

    def frame() -> pd.DataFrame:
        table = roles.table(found.measures, limits)
        return table[table["role"] == found.wanted] if found.wanted else table

    def sections() -> list[Section]:
        table = frame()
        named = [role for role in ROLES if (table["role"] == role.name).any()]
        return [*(_of_role(role, table) for role in named), report.every_head_section(view.trace, None, view.colours)]

    export_panel(
        view,
        f"Heads by role of {view.loaded.name}",
        frame,
        sections=sections,
        lines="from encoder.measure import heads, roles\n"
        f"found = roles.table({_measured(found)}{_thresholds()}){_with_role(found, 'found')}",
        settings=_settings(found, "roles"),
    )


def _of_role(role: Role, table: pd.DataFrame) -> Section:
    own = table[table["role"] == role.name].drop(columns="role")
    return Section(f"{role.title}: {len(own)}", sentences=[role.sentence], table=own)


def _take_map(view: View, found: Heads, drawn: go.Figure, plane: HeadPlane) -> None:
    def frame() -> pd.DataFrame:
        xy = plane.xy
        rows = [(*divmod(number, found.n_heads), found.badge(number), *xy[number]) for number in range(len(xy))]
        return pd.DataFrame(rows, columns=["layer", "head", "roles", "x", "y"])

    export_panel(
        view,
        f"Map of the heads of {view.loaded.name}",
        frame,
        figures={"Heads as points, near where they attend alike": drawn},
        lines="from encoder.measure import similarity\n"
        "plane = similarity.head_plane(similarity.head_similarity(trace))\nplane.xy",
        settings=_settings(found, "map"),
    )
