"""Arrays and labels -> plotly Figures. Knows numpy, pandas and plotly; neither the model nor the app.

Every figure takes numpy arrays or anything with `__array__`, such as a tensor on the CPU, and has no ground of its own:
it stands on light and dark pages alike. Where numbers are made first, the function that makes them is public too.
"""

from encoder.figures.attention import attention_cells, attention_heatmap
from encoder.figures.colours import thumbnails_lut

__all__ = ["attention_cells", "attention_heatmap", "thumbnails_lut"]
