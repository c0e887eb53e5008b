"""The values of the page "Pre / post, side by side", as they stand in the URL."""

from __future__ import annotations

from pages.shared.url_state import choice, flag

SIDES = ("heads", "stream", "curves")

PARAMS = (
    choice("sides", "heads", SIDES),
    choice("curve", "held_out_loss", ("held_out_loss", "held_out_accuracy", "loss", "gradient_norm")),
    choice("depth", "all", ("all", "shallow", "deep")),
    flag("clock"),
)
