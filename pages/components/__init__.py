"""The drawing components: interactive pictures with clicks and keys (Streamlit components v2)."""

from .events import GridEvent, LinesEvent, PlotEvent, TextEvent, ZoomWindow, on_click
from .head_grid import head_grid
from .lines import lines
from .motion import attention_motion, flow_motion
from .palette import HEAD_COLOURS
from .plot import plot, plot_window
from .text_shade import text_shade

__all__ = [
    "HEAD_COLOURS",
    "GridEvent",
    "LinesEvent",
    "PlotEvent",
    "TextEvent",
    "ZoomWindow",
    "attention_motion",
    "flow_motion",
    "head_grid",
    "lines",
    "on_click",
    "plot",
    "plot_window",
    "text_shade",
]
