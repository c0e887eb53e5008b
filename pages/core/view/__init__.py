"""The open model, input, layer, head and token, and what several pages compute from them."""

from pages.core.view.view import SOURCES, MapParams, UntrainedParams, View, ViewParams, check_width, model_key, padded

__all__ = ["SOURCES", "MapParams", "UntrainedParams", "View", "ViewParams", "check_width", "model_key", "padded"]
