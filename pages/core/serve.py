"""Starts Streamlit for this app: `python serve.py run app.py --server.port=...`, as encoder/cli.py does.

It changes three things in Streamlit 1.67:

- `st.navigation` outside a session says that the app has its own navigation. Otherwise Streamlit takes the folder
  pages/ for its older kind of multipage app until the first visit, and a first visitor who opens a link to a page reads
  "Page not found".
- Streamlit's own scripts are sent compressed (gzip_static.py). The list of its middleware is private.
- Components that refresh themselves have a channel of their own (channel.py), and members of a room hear of its changes
  (rooms/events.py).

`st.App(script, middleware=...)`, run by `streamlit run` or `App.run`, would avoid the private name. Pages, options,
static files and compression work with it. But it opens no browser window, Ctrl-C prints "Aborted!" and ends with 1, and
SIGTERM ends with -15, where this script ends with 0 in both cases.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

# Python puts this folder first in the path: the names of its modules must not hide others.
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

# torch's idle threads sleep: busy waiting would slow down other sessions.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import streamlit as st  # noqa: E402
from streamlit import config, file_util  # noqa: E402
from streamlit.errors import StreamlitAPIException  # noqa: E402
from streamlit.web.cli import main  # noqa: E402
from streamlit.web.server.starlette import starlette_app  # noqa: E402

with contextlib.suppress(StreamlitAPIException):  # no page is no navigation, which does not matter here
    st.navigation([])
_streamlit_middleware = starlette_app.create_streamlit_middleware


def _middleware() -> list[Any]:
    """Streamlit's own, after the compressed files and the channel: these need no session and no second compression."""
    from starlette.middleware import Middleware

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as Streamlit does for each run of the app
    from pages.core.channel import Channel
    from pages.core.gzip_static import GzipStatic
    from pages.core.rooms import current_store
    from pages.core.rooms.events import RoomEvents

    base_url = config.get_option("server.baseUrlPath") or ""
    folder = Path(file_util.get_static_dir())
    own = [Middleware(GzipStatic, folder=folder, base_url=base_url), Middleware(Channel, base_url=base_url)]
    own.append(Middleware(RoomEvents, current_store=current_store, base_url=base_url))
    return [*own, *_streamlit_middleware()]


starlette_app.create_streamlit_middleware = _middleware

if __name__ == "__main__":
    sys.exit(main(prog_name="streamlit"))
