"""What the Attention heads page exports: the map, lines or text that is open, with its options."""

from __future__ import annotations

from encoder import export
from encoder.export import HeadView, report
from encoder.measure.head_map import HeadMap
from pages.core.export import export_panel
from pages.core.view import View, state
from pages.heads import map as attention_view
from pages.heads import options as head_options
from pages.heads.options import Options, Selection


def export_head(view: View, options: Options, shown: HeadMap, selection: Selection) -> None:
    """Draw the export panel for the open head, as map, lines or text. shown: its map, as the page draws it."""
    seen = _seen(view, options, shown, selection)
    export_panel(
        view,
        f"{seen.name} of {view.loaded.name}",
        seen.frame,
        sections=lambda: report.sections(seen, view.colours),
        lines=seen.code(),
        settings=seen.facts(),
    )


def _seen(view: View, options: Options, shown: HeadMap, selection: Selection) -> HeadView:
    place = head_options.averaged(view.layer, view.head, options.average)
    how = export.Options(scale_to_max=options.own, log=options.log, **options.cells)
    queries, keys, kind = selection.queries, selection.keys, state.get("view")
    if kind == "text":
        direction = state.get("direction")
        selected = queries if direction == "to" else keys
        return export.text(view.trace, *place, direction=direction, selected=selected, options=how, shown=shown)
    if kind == "lines" and head_options.is_whole(view):
        heads = attention_view.line_heads(view, options)
        maps = [head_options.shown_map(view, options, *one) for one in heads]
        threshold = state.get("least")
        return export.lines(view.trace, heads, threshold=threshold, queries=queries, keys=keys, options=how, maps=maps)
    return export.map(view.trace, *place, queries=queries, keys=keys, options=how, colours=view.colours, shown=shown)
