"""Exports: the views of a head as objects, standalone HTML reports and tables.

    >>> view = export.map(trace, 0, 2)                        # or export.lines(trace, [(0, 2), (1, 8)], threshold=0.1)
    >>> len(view.frame())                                     # the numbers as a table
    64
    >>> figure = view.figure()                                # of lines and text: view.picture()
    >>> shaded = export.text(trace, 0, 2, selected=[3], options=export.Options(special="zero"))
    >>> whole, small = export.model(trace, 0, 2), export.grid(trace)    # one picture; all heads as small maps

Pages, files and the command line use these objects, so that a file holds what the page shows. `export.tables` has the
numbers of pages as tables, and `export.still` draws pictures without a browser.
"""

from encoder.documents import tables
from encoder.drawing import still
from encoder.export.saved import save_html
from encoder.views.grid import grid
from encoder.views.lines import Lines, lines
from encoder.views.map import Map, map
from encoder.views.model_picture import model_picture as model
from encoder.views.options import Options
from encoder.views.text import Text, text
from encoder.views.view import HeadView, head_name

__all__ = [
    "HeadView", "Lines", "Map", "Options", "Text", "grid", "head_name", "lines", "map", "model", "save_html", "still",
    "tables", "text",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
