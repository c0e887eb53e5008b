"""Starts Streamlit for this app: `python serve.py run app.py --server.port=...`, as encoder/cli.py does.

It changes these things in Streamlit 1.67:

- `st.navigation` outside a session says that the app has its own navigation. Otherwise Streamlit takes the folder
  pages/ for its older kind of multipage app until the first visit, and a first visitor who opens a link to a page reads
  "Page not found".
- Messages of a run are sent in groups (delivery.py).
- A process behind a front loads what every visit needs before it listens (warm.py).
- Streamlit's own scripts are sent compressed (gzip_static.py). The list of its middleware is private.
- The page that a browser loads first has the app's style (first_paint.py).
- Components that refresh themselves have a channel of their own (channel.py), and members of a room hear of its changes
  (rooms/events.py).
- Foreign hosts and origins are refused, every answer has security headers (guard.py), and uploads are limited
  (uploads.py). Streamlit's own check of an origin is not used: it asks an outside server for this machine's address.
- The process leaves at once when the server has stopped. A forward pass in another thread asks for Python's lock when
  it ends, and an interpreter that is being torn down aborts it (SIGABRT).

`st.App(script, middleware=...)`, run by `streamlit run` or `App.run`, would avoid the private name. Pages, options,
static files and compression work with it. But it opens no browser window, Ctrl-C prints "Aborted!" and ends with 1, and
SIGTERM ends with -15, where this script ends with 0 in both cases.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

# Python puts this folder first in the path: the names of its modules must not hide others.
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

if __name__ == "__main__":  # until Streamlit listens to signals, nothing is lost
    for _number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(_number, lambda *_: os._exit(0))

# torch's idle threads sleep: busy waiting would slow down other sessions.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import streamlit as st  # noqa: E402
from streamlit import config, file_util  # noqa: E402
from streamlit.errors import StreamlitAPIException  # noqa: E402
from streamlit.web.cli import main  # noqa: E402
from streamlit.web.server.starlette import starlette_app, starlette_websocket  # noqa: E402

with contextlib.suppress(StreamlitAPIException):  # no page is no navigation, which does not matter here
    st.navigation([])
ROOT = Path(__file__).resolve().parents[2]
_streamlit_middleware = starlette_app.create_streamlit_middleware


def _middleware() -> list[Any]:
    """Streamlit's own, after the guard and after what needs no session and no second compression.

    The first page comes last: Streamlit compresses it.
    """
    from starlette.middleware import Middleware

    sys.path.insert(0, str(ROOT))  # as Streamlit does for each run of the app
    from pages.core import first_paint, mobile_bar, warm
    from pages.core.channel import Channel
    from pages.core.guard import Guard, Policy, inline_scripts
    from pages.core.gzip_static import GzipStatic
    from pages.core.rooms import current_store
    from pages.core.rooms.events import RoomEvents
    from pages.core.uploads import Uploads, kept_by_streamlit

    warm.begin(os.environ)
    base_url = config.get_option("server.baseUrlPath") or ""
    folder = Path(file_util.get_static_dir())
    policy = Policy.of(os.environ, config.get_option("server.address"))
    # Every script inside a page, as it is there: the browser runs no other.
    scripts = inline_scripts((folder / "index.html").read_text(encoding="utf-8"))
    scripts += [first_paint.SCRIPT, mobile_bar.SCRIPT]
    own = [
        Middleware(Guard, policy=policy, scripts=scripts, base_url=base_url),
        Middleware(GzipStatic, folder=folder, base_url=base_url),
        Middleware(Channel, base_url=base_url),
        Middleware(RoomEvents, current_store=current_store, base_url=base_url),
        Middleware(Uploads, kept=kept_by_streamlit, base_url=base_url),
    ]
    return [*own, *_streamlit_middleware(), Middleware(first_paint.FirstPaint, folder=folder)]


def _leave(code: object) -> NoReturn:
    """End the process with this exit code, without a wait for its threads."""
    from pages.core import atlas_folders

    atlas_folders.remove_all()
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


starlette_app.create_streamlit_middleware = _middleware
# The guard has decided already, by the same headers.
starlette_websocket.is_url_from_allowed_origins = lambda url: True

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from pages.core import atlas_folders, delivery, log

    log.begin()
    delivery.begin()
    atlas_folders.sweep()
    try:
        _leave(main(prog_name="streamlit"))
    except SystemExit as end:
        _leave(end.code)
    except BaseException:
        traceback.print_exc()
        _leave(1)
