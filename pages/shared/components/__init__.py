"""The drawing components: pictures in the browser that answer to clicks and keys (Streamlit components v2)."""

from .plot import plot, plot_window

__all__ = ["plot", "plot_window"]
