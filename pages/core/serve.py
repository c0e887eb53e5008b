"""Starts Streamlit for this app: `python serve.py run app.py --server.port=...`, as encoder/cli.py does.

Streamlit takes a folder named pages/ for its older kind of multipage app until the first visit has shown that the app
navigates by itself. A first visitor who comes by a link to a page would be told that there is no such page. And its own
scripts go out compressed: see own_files.py.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

# This folder holds the app's modules, not top-level ones: a name of theirs must not hide one of Python's.
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

# torch's idle threads wait asleep: spinning, they take the cores from another session that computes at the same time.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from streamlit import config, file_util  # noqa: E402
from streamlit.runtime.pages_manager import PagesManager  # noqa: E402
from streamlit.web.cli import main  # noqa: E402
from streamlit.web.server.starlette import starlette_app  # noqa: E402

PagesManager.uses_pages_directory = False
_streamlits_middleware = starlette_app.create_streamlit_middleware


def _middleware() -> list[Any]:
    """Streamlit's own, with its files in front: they need no session, and no second compression."""
    from starlette.middleware import Middleware

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as Streamlit does for each run of the app
    from pages.core.gzip_static import OwnFiles

    base_url = config.get_option("server.baseUrlPath") or ""
    return [Middleware(OwnFiles, folder=Path(file_util.get_static_dir()), base_url=base_url), *_streamlits_middleware()]


starlette_app.create_streamlit_middleware = _middleware

if __name__ == "__main__":
    sys.exit(main(prog_name="streamlit"))
