"""The drawing components: pictures in the browser that answer to clicks and keys (Streamlit components v2)."""

from .head_grid import head_grid
from .plot import plot, plot_window

__all__ = ["head_grid", "plot", "plot_window"]
