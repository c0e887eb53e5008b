"""What is taken away from the pages that teach and from training: each page calls its own function once, at its end."""

from __future__ import annotations

import dataclasses
import pprint
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd
import plotly.graph_objects as go

from encoder import figures, report_tables, steps
from encoder.anatomy import Anatomy
from encoder.figures.placements import PLACEMENT_NAMES, recorded_curves
from encoder.figures.steps import stacked_rows
from encoder.measure.cost import Cost
from encoder.report import model_lines, trace_call
from encoder.worked_example import Inputs, WorkedExample, claims
from pages.shared import cached, learn, prepost
from pages.shared.frame import current_view
from pages.shared.steps.scores import variant
from pages.shared.take_away import arguments, changes, origin, take_away
from pages.shared.view import View, state

if TYPE_CHECKING:
    from encoder.train.loop import View as RunView

#: A function of `encoder.steps` and what it takes beside the trace.
Call = tuple[str, tuple[object, ...]]
#: Vectors that stand below each other in a report are at least so long.
SHORTEST_ROW = 4


# --- step by step ----------------------------------------------------------------------------------------------------


def take_step(view: View, step: str) -> None:
    """The numbers of a step at the selected place."""
    calls = step_calls(view, step)
    made = {f"{name}_step": python((name, given)) for name, given in calls}
    title = next(one.title for one in steps.STEPS if one.key == step)
    kind, second = state.get("pooling"), state.get("second") if step == "output" else ""
    if second.strip():
        made |= {"other": trace_call("model", second), "similarity_step": f"steps.similarity(trace, other, {kind!r})"}

    def found() -> list[object]:
        values = [getattr(steps, name)(view.trace, *given) for name, given in calls]
        if second.strip():
            values.append(steps.similarity(view.trace, cached.trace(view.model, second), kind))
        return values

    take_away(
        view,
        f"{title}, L{view.layer} H{view.head} of {view.loaded.name}",
        lambda: report_tables.step_frame(*found()),
        figures=lambda: drawn_vectors(found()),
        lines="\n".join(
            [
                "from encoder import report_tables, steps",
                *(f"{name} = {call}" for name, call in made.items()),
                f"table = report_tables.step_frame({', '.join(name for name in made if name.endswith('_step'))})",
            ]
        ),
        settings={"Step": title, "Layer": view.layer, "Head": view.head}
        | ({"Second sentence": second} if second.strip() else {}),
    )


def step_calls(view: View, step: str) -> list[Call]:
    """What a step computes, at the place and with the settings that its page shows."""
    config = view.loaded.config
    if step == "ids":
        return [("text_to_ids", (learn.selection(view).query,))]
    if step in ("scores", "softmax"):
        asked = variant(view)
        if step == "scores":
            return [("score", (learn.selection(view, config.d_head), asked))]
        return [("softmax", (learn.selection(view), state.get("temperature"), asked))]
    width = {"embedding": config.embedding_width, "qkv": config.d_head, "mixing": config.d_head}
    place = learn.selection(view, width.get(step, config.d_model))
    if step == "mixing":
        return [("mixing", (place,)), ("heads_together", (learn.selection(view, config.d_model),))]
    if step == "ffn" and state.get("neuron") is None:  # as on the page: none chosen is the token's strongest
        place = dataclasses.replace(place, neuron=int(steps.feed_forward(view.trace, place).strongest(1)[0]))
    return {
        "embedding": [("embedding", (place,))],
        "qkv": [("projection", (place, state.get("vector")))],
        "norm": [("add_norm", (place, state.get("part")))],
        "ffn": [("feed_forward", (place,))],
        "output": [("journey", (place,)), ("pooled", (state.get("pooling"), place))],
    }[step]


def python(call: Call) -> str:
    """A call as Python."""
    name, given = call
    said = [f"steps.{one!r}" if dataclasses.is_dataclass(one) else repr(one) for one in given]
    return f"steps.{name}({', '.join(['trace', *said])})"


def drawn_vectors(found: list[object]) -> Mapping[str, go.Figure]:
    """The vectors of some steps' values as rows below each other, those of one length together."""
    by_length: dict[int, dict[str, object]] = defaultdict(dict)
    for one in found:
        if not hasattr(one, "tokens"):
            for name, array in report_tables.numbers_of(one):
                if array.ndim == 1 and len(array) >= SHORTEST_ROW:
                    by_length[len(array)][name] = array
    return {f"Vectors of {length} numbers": stacked_rows(rows) for length, rows in by_length.items()}


# --- anatomy ---------------------------------------------------------------------------------------------------------


def take_anatomy(view: View, drawn: Anatomy, bytes_each: int) -> None:
    """Every block with its shape, parameters, FLOPs and memory."""
    take_away(
        view,
        f"Anatomy of {view.loaded.name}",
        lambda: report_tables.anatomy_frame(drawn),
        lines="from encoder import report_tables\nfrom encoder.anatomy import anatomy\n"
        f"drawn = anatomy(model.config, trace.n_tokens, {bytes_each})\n"
        "table = report_tables.anatomy_frame(drawn)",
    )


def take_cost(view: View, found: Cost, bytes_each: int) -> None:
    """FLOPs and bytes of each part of a layer."""
    take_away(
        view,
        f"Cost of {view.loaded.name}",
        lambda: report_tables.cost_frame(found),
        lines="from encoder import report_tables\nfrom encoder.measure import cost\n"
        f"found = cost.cost(model.config, trace.n_tokens, model.n_parameters, {bytes_each})\n"
        "table = report_tables.cost_frame(found)",
    )


# --- the worked example ----------------------------------------------------------------------------------------------


def take_worked(inputs: Inputs, example: WorkedExample) -> None:
    """Every number of the calculation, with the changes that were made to it."""
    take_away(
        current_view(),
        "The worked example",
        lambda: report_tables.step_frame(example),
        figures=lambda: {
            "Attention: rows attend to columns": figures.attention_heatmap(example.attention, inputs.words)
        },
        program="from encoder import report_tables\nfrom encoder.worked_example import Inputs, compute\n"
        f"example = compute(Inputs({arguments(inputs)}))\ntable = report_tables.step_frame(example)\n",
        settings={
            "Changed": ", ".join(changes(inputs)) or "nothing", "Norm placement": inputs.norm_placement,
            "Positions": inputs.positions,
        },
    )  # fmt: skip


def take_claims() -> None:
    """What the notes say beside what their own formulas give."""
    take_away(
        current_view(),
        "What the notes say",
        lambda: report_tables.claims_frame(claims()),
        program="from encoder import report_tables\nfrom encoder.worked_example import claims\n"
        "table = report_tables.claims_frame(claims())\n",
    )


# --- pre and post ----------------------------------------------------------------------------------------------------


def take_stream(view: View, sides: prepost.Sides, shown: Mapping[str, go.Figure]) -> None:
    """The residual stream of both placements. shown: the page's pictures."""
    made, remarks = [], ""
    for placement in prepost.PLACEMENTS:
        key, remark = origin(sides.pair.keys[placement])
        made.append(model_lines(key, placement))
        remarks = remarks or remark
    calls = ", ".join(f'"{p}": {trace_call(p, sides.text, sides.second)}' for p in prepost.PLACEMENTS)
    names = {PLACEMENT_NAMES[p]: cached.model(sides.pair.keys[p]).name for p in prepost.PLACEMENTS}

    def frame() -> pd.DataFrame:
        return report_tables.stream_frame({p: sides.trace(p) for p in prepost.PLACEMENTS})

    take_away(
        view,
        "The residual stream in pre-norm and post-norm",
        frame,
        figures=shown,
        program=remarks
        + "\n".join(
            [
                "import encoder",
                "from encoder import report_tables",
                *made,
                f"table = report_tables.stream_frame({{{calls}}})\n",
            ]
        ),
        settings=names | {"Text": sides.text},
    )


def take_recorded(recorded: pd.DataFrame, figure: go.Figure, title: str, depth: int | None) -> None:
    """The recorded curves of the twins and of what was trained beside them. depth: of these runs alone."""
    chosen = "" if depth is None else f"table = table[table.n_layers == {depth}]\n"
    take_away(
        current_view(),
        "How training went",
        lambda: recorded,
        figures={title: figure},
        program=f"from encoder.train import curves\ntable = curves.recorded()\n{chosen}",
        settings={"Runs": ", ".join(recorded.run.unique())},
    )


# --- training --------------------------------------------------------------------------------------------------------


def take_runs(views: Mapping[str, RunView], dashes: Mapping[str, str]) -> None:
    """The curves of the runs that were trained here."""
    runs = {name: dataclasses.replace(view.settings, steps=view.step) for name, view in views.items() if view.curve}
    if not runs:
        return
    tables = {name: views[name].to_frame() for name in runs}

    def frame() -> pd.DataFrame:
        return pd.concat([table.assign(run=name) for name, table in tables.items()], ignore_index=True)

    def drawn() -> Mapping[str, go.Figure]:
        return {
            title: recorded_curves(
                {
                    name: (runs[name].norm_placement, dashes[name], table.step, table[what])
                    for name, table in tables.items()
                },
                title,
                log=what == "held_out_loss",
            )
            for what, title in (("held_out_loss", "held-out loss, nats"), ("accuracy", "held-out accuracy"))
        }

    described = ",\n".join(f"    {name!r}: TaskSettings({arguments(settings)})" for name, settings in runs.items())
    take_away(
        current_view(),
        "Trained here",
        frame,
        figures=drawn,
        program="import time\n\nimport pandas as pd\n\nfrom encoder.train.loop import TaskRun, TaskSettings\n\n"
        f"runs = {{\n{described},\n}}\ntables = []\n"
        "for name, settings in runs.items():\n    run = TaskRun(settings)\n    run.start()\n"
        "    while run.poll().active:\n        time.sleep(0.1)\n"
        "    tables.append(run.poll().to_frame().assign(run=name))\n"
        "table = pd.concat(tables, ignore_index=True)\n",
        settings={name: pprint.pformat(dataclasses.asdict(one), compact=True, width=400) for name, one in runs.items()},
    )
