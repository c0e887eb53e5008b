"""plotly.js for browsers: its core and the kinds of charts that Encoderscope draws, 0.4 MB instead of 1.4.

`make plotly` bundles it from the npm package plotly.js, as plotly/build.mjs says.
"""

import gzip
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "plotly"
#: The kinds of traces in the bundle.
KINDS = ("bar", "heatmap", "scatter")


def compressed() -> bytes:
    """The bundle as gzip."""
    return (HERE / "plotly.min.js.gz").read_bytes()


@cache
def plotly_js() -> str:
    """The bundle's text: a classic script that defines `Plotly`."""
    return gzip.decompress(compressed()).decode()


def check_kinds(traces: Iterable[Mapping[str, Any]]) -> None:
    """Raises ValueError for a trace, as Plotly's JSON, of a kind that is not in the bundle."""
    for trace in traces:
        kind = trace.get("type", "scatter")
        if kind not in KINDS:
            raise ValueError(
                f"Plotly's script here draws {', '.join(KINDS)}, not {kind}. "
                "Add the kind to encoder/drawing/plotly/build.mjs and to KINDS, then run: make plotly"
            )
