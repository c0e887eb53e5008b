"""The address parameters of the page “Norms”."""

from pages.state import Param, choice, state, string

#: The parts of the page: key -> title.
PARTS = {"every": "Every token", "one": "Gain and bias", "others": "Outliers, RMSNorm, BatchNorm"}
MOMENTS = {"before": "Before the norms", "after": "After them"}
STATISTICS = {"std": "Standard deviation", "mean": "Mean"}


@state.register
class Params:
    """part: the open part of the page; moment, statistic: what the map of every token shows; at: name of the
    selected LayerNorm in a trace.
    """

    part: Param[str] = choice("every", PARTS, url="norm_part")
    moment: Param[str] = choice("before", MOMENTS, url="norm_moment")
    statistic: Param[str] = choice("std", STATISTICS, url="norm_statistic")
    at: Param[str] = string(public="the name of a LayerNorm")
