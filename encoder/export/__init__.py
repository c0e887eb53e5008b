"""Exports: the views of a head as objects, standalone HTML reports, tables, and the Python that makes them again.

    >>> view = export.map(trace, 0, 2)                        # or export.lines(trace, [(0, 2), (1, 8)], threshold=0.1)
    >>> len(view.frame())                                     # the numbers as a table
    64
    >>> figure = view.figure()                                # of lines and text: view.picture()
    >>> shaded = export.text(trace, 0, 2, selected=[3], options=export.Options(special="zero"))
    >>> whole, small = export.model(trace, 0, 2), export.grid(trace)    # one picture; all heads as small maps

Pages, files and the command line use these objects, so that a file holds what the page shows.
"""

from encoder.export.grid import grid
from encoder.export.lines import Lines, lines
from encoder.export.map import Map, map
from encoder.export.model_picture import model_picture as model
from encoder.export.options import Options
from encoder.export.saved import save_html
from encoder.export.text import Text, text
from encoder.export.view import HeadView, head_name

__all__ = [
    "HeadView", "Lines", "Map", "Options", "Text", "grid", "head_name", "lines", "map", "model", "save_html", "text",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
