"""The open model, input, layer, head and token, and what several pages compute from them."""

from pages.core.view.view import SOURCES, MapParams, UntrainedParams, View, ViewParams, model_spec, padded, typed_text

__all__ = ["SOURCES", "MapParams", "UntrainedParams", "View", "ViewParams", "model_spec", "padded", "typed_text"]
