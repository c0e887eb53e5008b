"""The drawing components: interactive pictures with clicks and keys (Streamlit components v2)."""

from .events import GridEvent, LinesEvent, ModelEvent, PlotEvent, ShadeEvent, ZoomWindow, on_click
from .head_grid import head_grid
from .pictures import lines, model_picture, text_shade
from .plot import plot, plot_window

__all__ = [
    "GridEvent", "LinesEvent", "ModelEvent", "PlotEvent", "ShadeEvent", "ZoomWindow", "head_grid", "lines",
    "model_picture", "on_click", "plot", "plot_window", "text_shade",
]  # fmt: skip
