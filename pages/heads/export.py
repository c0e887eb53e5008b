"""What is taken away from the Heads page: the map, lines or text that is open, with its options."""

from __future__ import annotations

from collections.abc import Callable

from encoder import figures
from encoder.export import report, views
from encoder.export.document import Section
from encoder.export.views import Lines, Text
from encoder.measure import tiled_attention
from encoder.measure.head_map import HeadMap
from pages.core import token_names
from pages.core.export import export_panel
from pages.core.view import View, state
from pages.heads import map as attention_view
from pages.heads import options as head_options
from pages.heads.options import Options, Selection


def export_head(view: View, options: Options, shown: HeadMap, held: Selection) -> None:
    """Draw "Take it away" for the open head, in the view that is open: map, lines or text.

    shown, held: its map and what is selected, as the page draws them.
    """
    kind = state.get("view")
    if kind == "text" or (kind == "lines" and head_options.is_whole(view)):
        _take_seen(view, options, _lines_seen if kind == "lines" else _text_seen, held)
    else:
        _take_map(view, options, shown, held)


def _take_seen(
    view: View, options: Options, make: Callable[[View, Options, Selection], Lines | Text], held: Selection
) -> None:
    seen = make(view, options, held)

    def sections() -> list[Section]:
        single = (view.layer, view.head) if options.average == "none" else None
        return [*seen.sections(), report.every_head_section(view.trace, single, view.colours)]

    export_panel(
        view,
        f"{seen.name} of {view.loaded.name}",
        seen.frame,
        sections=sections,
        lines=seen.code(),
        settings=seen.facts(),
    )


def _lines_seen(view: View, options: Options, held: Selection) -> Lines:
    return views.lines(
        view.trace,
        attention_view.line_heads(view, options),
        threshold=state.get("least"),
        queries=held.queries,
        keys=held.keys,
        make=lambda layer, head: head_options.shown_map(view, options, layer, head),
        **options.cells,
    )


def _text_seen(view: View, options: Options, held: Selection) -> Text:
    direction = state.get("direction")
    return views.text(
        view.trace,
        *head_options.averaged(view.layer, view.head, options.average),
        direction=direction,
        selected=held.queries if direction == "to" else held.keys,
        own=options.own,
        log=options.log,
        make=lambda layer, head: head_options.shown_map(view, options, layer, head),
        **options.cells,
    )


def _take_map(view: View, options: Options, shown: HeadMap, held: Selection) -> None:
    exact = attention_view.is_exact(shown, options)
    layer, head = head_options.averaged(view.layer, view.head, options.average)
    name = head_options.name(view, options)

    def frame():
        table = report.map_frame(shown) if exact else report.pooled_frame(view.trace, layer, head, options.special)
        table.insert(0, "head", "mean" if head is None else head)
        table.insert(0, "layer", "mean" if layer is None else layer)
        return table

    export_panel(
        view,
        f"{name} of {view.loaded.name}",
        frame,
        sections=lambda: _sections(view, options, shown, held, name, exact),
        lines=_lines(view, options, exact),
        settings=_settings(view, options, name),
    )


def _settings(view: View, options: Options, name: str) -> dict[str, object]:
    said: dict[str, object] = {"Map": name, "Special tokens": report.SPECIAL_WORDS[options.special]}
    if view.pair is not None:
        said["Between the sentences"] = {"all": "all pairs"}.get(options.between, options.between.upper())
    if options.words:
        said["Whole words"] = "weights to the pieces of a word are summed, weights from them averaged"
    if options.padding:
        said["Padding"] = "shown"
    said["Colours"] = ("logarithmic" if options.log else "linear") + (", to the largest weight" if options.own else "")
    return said


def _lines(view: View, options: Options, exact: bool) -> str:
    layer, head = head_options.averaged(view.layer, view.head, options.average)
    if not exact:
        place = f'trace, {layer}, {head}, "{options.special}", {report.EXACT_TOKENS}'
        return (
            f"from encoder.measure import tiled_attention\nweights, block = tiled_attention.pooled_window({place})\n"
            "encoder.figures.attention_heatmap(weights, trace.labels, block=block)"
        )
    if options.usual and options.average == "none":
        return report.attention_lines(view.layer, view.head)
    usual = Options().cells
    changed = "".join(f", {name}={value!r}" for name, value in options.cells.items() if value != usual[name])
    return (
        "from encoder.measure import head_map\n"
        f"shown = head_map.dense_map(trace, {layer}, {head}{changed})\n"
        "weights = shown.weights\n"
        "encoder.figures.attention_heatmap(weights, shown.query_labels, key_labels=shown.key_labels, "
        "places=shown.places)"
    )


def _sections(view: View, options: Options, shown: HeadMap, held: Selection, name: str, exact: bool) -> list[Section]:
    look = {
        "scale": "head" if options.own else "fixed",
        "log": options.log,
        "colours": view.colours,
        "selected": (held.rows(shown), held.columns(shown)),
    }
    if exact:
        figure = figures.attention_heatmap(
            shown.weights, shown.query_labels, key_labels=shown.key_labels, places=shown.places, **look
        )
        said = attention_view.caption(options, view.pair is not None)
    else:
        layer, head = head_options.averaged(view.layer, view.head, options.average)
        weights, block = tiled_attention.pooled_window(view.trace, layer, head, options.special, report.EXACT_TOKENS)
        figure = figures.attention_heatmap(weights.cpu(), view.trace.labels, block=block, **look)
        said = report.how_to_read(view.trace, options.special, block)
    parts = [
        Section(name, figure=figure, sentences=[said]),
        Section("The strongest weights of this map", table=report.pairs_frame(shown)),
    ]
    rows, columns = held.rows(shown), held.columns(shown)
    if rows:
        names = shown.query_labels
        chosen = ", ".join(names[row] + token_names.which(names, row, shown.query_tokens(row)[0]) for row in rows)
        parts.append(Section(f"What {chosen} attends to", table=report.reached_frame(shown, rows)))
    if columns:
        names = shown.key_labels
        chosen = ", ".join(names[at] + token_names.which(names, at, shown.key_tokens(at)[0]) for at in columns)
        parts.append(Section(f"Who attends to {chosen}", table=report.reaching_frame(shown, columns)))
    single = (view.layer, view.head) if options.average == "none" else None
    return [*parts, report.every_head_section(view.trace, single, view.colours)]
