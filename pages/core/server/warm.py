"""What every visit needs, loaded before a process behind a front answers.

The front sends visitors to the other processes until this one listens. Otherwise the first visitors of a process wait
for torch and for the model: at the start of a lesson, or when a process has just ended and its visitors return.
"""

import importlib
import logging
from collections.abc import Mapping
from pathlib import Path

from pages.base.access.visitors import FRONT

PAGES = Path(__file__).parents[2]


def begin(environment: Mapping[str, str]) -> None:
    """Behind a front: import what pages and companions import, and run a text through the first model."""
    if FRONT not in environment:
        return
    # What is imported here reads Streamlit's options before the flags are known; Streamlit would warn that they differ.
    logging.getLogger("streamlit.config").addFilter(lambda record: "[server]" not in record.getMessage())
    import pyarrow.parquet  # noqa: F401
    import sklearn.decomposition  # noqa: F401

    from encoder.run import Run, Text
    from pages.core.frame import frame
    from pages.core.frame.companions import companions
    from pages.core.stores import cache

    frame.import_params()
    folders = {path.parent for path in PAGES.glob("*/page.py")}
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        if path.name not in ("page.py", "__init__.py"):  # the former draws
            importlib.import_module(f"pages.{'.'.join(path.relative_to(PAGES).with_suffix('').parts)}")
    for companion in companions():
        companion.warm()
    cache.trace(Run(input=Text("Warm")))
