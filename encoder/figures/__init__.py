"""Arrays and labels -> Plotly figures. Uses numpy, pandas and plotly only; knows neither the model nor the app.

    >>> figure = figures.attention_heatmap(trace.attention(0, 2), trace.labels)
    >>> figure = figures.measure_map(measure.heads(trace)["previous"], (0, 1), "on the previous token")

Every figure accepts numpy arrays or anything with `__array__`, such as a tensor on the CPU. Its background is
transparent, so it suits light and dark pages. A function that computes numbers for a figure is public, too.
"""

from encoder.figures.attention import (
    attention_cells,
    attention_heatmap,
    attention_spec,
    attention_window,
    names_of_cells,
    window_spec,
)
from encoder.figures.axes import arrow, disambiguate, isolated
from encoder.figures.colours import THEMES, thumbnails_lut
from encoder.figures.gradients import layer_gradients
from encoder.figures.layers import effect_map, knock_out_map, measure_map, patch_map
from encoder.figures.norm_components import OUTLIER, component_sizes, gain_bias, outliers, token_steps
from encoder.figures.norm_weighted import weighted_heatmap
from encoder.figures.norms import norm_deviations, norm_label, norm_means, norm_tick, token_statistics
from encoder.figures.pairs import caption_bars, pair_map, similarity_heatmap
from encoder.figures.patches import norm_dots, patch_maps, position_grid
from encoder.figures.positions import (
    angles,
    distance_curve,
    head_biases,
    offset_map,
    order_bars,
    position_dot_products,
    position_heatmap,
    position_products,
    products_by_distance,
    rotary_angles,
)
from encoder.figures.probes import ProbeCurve, probe_curves
from encoder.figures.vectors import (
    symmetric_limit,
    vectors_heatmap,
)

__all__ = [
    "OUTLIER", "THEMES", "ProbeCurve", "angles", "arrow", "attention_cells", "attention_heatmap", "attention_spec",
    "attention_window", "caption_bars", "component_sizes", "disambiguate", "distance_curve", "effect_map", "gain_bias",
    "head_biases", "isolated", "knock_out_map", "layer_gradients", "measure_map", "names_of_cells", "norm_deviations",
    "norm_dots", "norm_label", "norm_means", "norm_tick", "offset_map", "order_bars", "outliers", "pair_map",
    "patch_map", "patch_maps", "position_dot_products", "position_grid", "position_heatmap", "position_products",
    "probe_curves", "products_by_distance", "rotary_angles", "similarity_heatmap", "symmetric_limit",
    "thumbnails_lut", "token_statistics", "token_steps", "vectors_heatmap", "weighted_heatmap", "window_spec",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
