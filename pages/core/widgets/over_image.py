"""The image with numbers over its patches: the weights of the selected token, or what covering each patch changes."""

from typing import Any

import numpy as np

from encoder import Trace, figures
from encoder.figures.colours import signed_lut
from encoder.figures.numbers import three_digits
from encoder.measure import patches
from encoder.measure.ranking import Weights
from pages.components.patch_map import PatchEvent, patch_map
from pages.core.inputs.input_words import words_of
from pages.core.stores import input_kinds
from pages.core.view import View, selection
from pages.core.widgets import answer
from pages.core.widgets.occlusion import Occlusion
from pages.core.words import plain

#: Opacity of the colours, where nobody chooses it.
OPACITY = 0.65
#: Pixels of the longer side of an image, and of the frames of a video side by side.
SIZE, SIZE_OF_FRAMES = 440, 720


def token(view: View) -> int:
    """The token whose attention is shown: the selected one, otherwise the first, [CLS]."""
    return view.i if view.i is not None else 0


def weights_of(view: View, overlay: str) -> tuple[Weights, np.ndarray]:
    """[T], [R, C]: the weights of the token that is shown, and those on patches. overlay: "attention", "weighted" or
    "rollout".
    """
    place = token(view)

    def make(trace: Trace) -> tuple[Weights, np.ndarray]:
        if overlay == "weighted":
            row = patches.weighted_row(trace, view.layer, view.head, place)
        elif overlay == "rollout":
            row = patches.rollout_rows(trace, place)[view.layer]
        else:
            row = trace.attention(view.layer, view.head, slice(place, place + 1))[0]
        return row.cpu(), patches.over_image(trace, row).cpu().numpy()

    return view.derived(("patch row", overlay, view.layer, view.head, place), make)


def draw_weights(view: View, over: np.ndarray, what: str, key: str = "patch-map", **look: Any) -> None:
    """The image with the weights [R, C] of the token over it. what: the name of the weights; look: of `patch_map`."""
    name = view.trace.labels[token(view)]
    draw(
        view,
        over,
        f"what {name} attends to",
        key=key,
        label=f"{what} of {name}",
        colorscale=figures.thumbnails_lut(view.colours),
        **look,
    )


def answer_falls(view: View, covered: Occlusion, falls: np.ndarray) -> None:
    """The line with the patches whose covering lowers the outcome most. falls [P]."""
    grid = patches.grid(view.trace)
    names = [view.trace.labels[token] for token in grid.patches]
    best = [int(part) for part in np.argsort(-falls, kind="stable")[: answer.NAMED] if falls[part] > 0]
    largest = ", ".join(f"{names[part]} {three_digits(float(falls[part]))}" for part in best) or "none"
    answer.draw(
        f"Covering one {covered.part} lowers the {plain(covered.measured)} most at: {largest}.",
        f"Teal: the outcome falls where the {covered.part} is covered. Orange: it rises.",
        clear=selection.clearing(view),
    )


def draw_falls(view: View, covered: Occlusion, falls: np.ndarray, key: str = "patch-falls", **look: Any) -> None:
    """The image with the fall [P] for each patch. look: of `patch_map`."""
    grid = patches.grid(view.trace)
    draw(
        view,
        falls.reshape(grid.rows, grid.columns),
        "the fall when each is covered",
        key=key,
        label=f"Fall of the {covered.measured}",
        colorscale=signed_lut(),
        signed=True,
        **look,
    )


def draw(view: View, over: np.ndarray, what: str, **look: Any) -> None:
    """The image with numbers [R, C] over it; a click selects a patch. what: colours it; look: of `patch_map`."""
    grid = patches.grid(view.trace)

    def select(event: PatchEvent) -> None:
        selection.select(grid.token(event["row"], event["column"]) if event["event"] == "select" else None, None)

    image = input_kinds.of(view.loaded).shown(view.loaded, view.run.input.name)
    assert image is not None, "what has patches is shown as a picture"
    selected = None if view.i is None else grid.place(view.i)
    words = words_of(view.trace)
    alt = f"The {words.input} in {grid.rows} x {grid.columns} {words.parts}, coloured by {what}."
    usual = {
        "size": SIZE_OF_FRAMES if grid.tile else SIZE,
        "names": grid.names_of_patches,
        "tile": grid.tile,
        "opacity": OPACITY,
        "on_event": select,
    }
    patch_map(image, over, selected=selected, alt=alt, **usual | look)  # type: ignore[arg-type]
