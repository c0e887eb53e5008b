"""Serves this app by Streamlit's `st.App`: `python app_server.py run app.py --server.port=...`, as encoder/cli/app.py
does. `streamlit run app.py` finds one in app.py, with the same around it.

Only public parts of Streamlit are used:

- `st.navigation` outside a session says that the app has its own navigation. Otherwise Streamlit takes the folder
  pages/ for its older kind of multipage app until the first visit, and a first visitor who opens a link to a page reads
  "Page not found".
- A process behind a front loads what every visit needs before it listens (warm.py).
- Streamlit's own scripts are sent compressed (gzip_static.py).
- The page that a browser loads first has the app's style (first_paint.py).
- A session gets what its browser kept; after a reconnect the page runs before a click is heard (reconnect.py).
- Components that refresh themselves have a channel of their own (channel.py); companions answer addresses of their own,
  as the news of a room.
- Foreign hosts and origins are refused, every answer has security headers (guard.py), and uploads are limited
  (uploads.py).
- The process leaves at once when the server has stopped. A forward pass in another thread asks for Python's lock when
  it ends, and an interpreter that is being torn down aborts it (SIGABRT).
"""

import contextlib
import json
import logging
import os
import re
import signal
import sys
import threading
import traceback
import webbrowser
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

# Python puts this folder first in the path: the names of its modules must not hide others.
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

if __name__ == "__main__":  # until the server listens to signals, nothing is lost
    for _number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(_number, lambda *_: os._exit(0))

# torch's idle threads sleep: busy waiting would slow down other sessions.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import streamlit as st  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402
from starlette.types import ASGIApp  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
#: Options that an operator may also give by Streamlit's variables: server.runOnSave as STREAMLIT_SERVER_RUN_ON_SAVE.
FROM_ENVIRONMENT = (
    "browser.serverAddress", "browser.serverPort", "logger.level", "server.baseUrlPath",
    "server.disconnectedSessionTTL", "server.enableStaticServing", "server.fileWatcherType", "server.headless",
    "server.maxMessageSize", "server.maxUploadSize", "server.runOnSave", "server.websocketPingInterval",
)  # fmt: skip


def options(flags: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Streamlit's options: those of the operator's environment, then the flags `--section.name=value`."""
    named = ((name, environment.get(_variable(name))) for name in FROM_ENVIRONMENT)
    given = [(name, text) for name, text in named if text is not None]
    given += [(name.removeprefix("--"), value) for name, _, value in (flag.partition("=") for flag in flags)]
    return {name: _value(text) for name, text in given}


def _variable(option: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", option.replace(".", "_"))
    return f"STREAMLIT_{words.upper()}"


def _value(text: str) -> Any:
    """true, false and numbers as such; anything else is a text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (bool, int, float)) else text


def own_middleware(app: ASGIApp) -> ASGIApp:
    """What surrounds Streamlit's server: the guard, then what needs no session. Called when the options are read."""
    from streamlit.file_util import get_app_static_dir

    with contextlib.suppress(Exception):  # no page is not a navigation, which does not matter here
        st.navigation([])
    from pages.base.work.whole_callbacks import Waiting
    from pages.core.frame.companions import companions
    from pages.core.server import first_paint
    from pages.core.server.channel import Channel
    from pages.core.server.guard import Guard, Policy, inline_scripts
    from pages.core.server.gzip_static import GzipStatic
    from pages.core.server.reconnect import Reconnected
    from pages.core.server.uploads import Uploads, kept_by_streamlit

    base_url = st.get_option("server.baseUrlPath") or ""
    folder = Path(st.__file__).parent / "static"
    policy = Policy.of(os.environ, st.get_option("server.address"))
    scripts = [first_paint.SCRIPT, first_paint.FRAME]
    if (folder / "index.html").is_file():
        # Every script inside a page, as it is there: the browser runs no other.
        scripts += inline_scripts((folder / "index.html").read_text(encoding="utf-8"))
        static = Path(get_app_static_dir(sys.argv[0])) if st.get_option("server.enableStaticServing") else None
        app = first_paint.FirstPaint(app, folder, base_url, static)
    app = Reconnected(Waiting(app))
    app = Uploads(app, kept_by_streamlit, base_url)
    for companion in companions():
        app = companion.middleware(app, base_url)
    app = Channel(app, base_url)
    app = GzipStatic(app, folder, base_url)
    return Guard(app, policy, scripts, base_url)


@contextlib.asynccontextmanager
async def _open_browser(_: object) -> AsyncIterator[None]:
    """Open a browser window when the server starts, if the machine has a display. The socket listens already."""
    if not st.get_option("server.headless"):
        address = st.get_option("server.address") or "localhost"
        host = {"0.0.0.0": "localhost", "::": "localhost"}.get(address, f"[{address}]" if ":" in address else address)
        path = (st.get_option("server.baseUrlPath") or "").strip("/")
        url = f"http://{host}:{st.get_option('server.port')}/{path}"
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    yield


#: What surrounds the app, however it is started.
AROUND: dict[str, Any] = {"middleware": [Middleware(own_middleware)], "lifespan": _open_browser}


def _leave(code: object) -> NoReturn:
    """End the process with this exit code, without a wait for its threads."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def main(arguments: Sequence[str]) -> None:
    """Serve until a signal. arguments: "run", the script of the app, options of Streamlit."""
    from pages.core.server import warm

    _, script, *flags = arguments
    # What is not HTTP is answered with 400; a line for each would let anybody fill the log.
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.levelno >= logging.ERROR)
    warm.begin(os.environ)
    # The server listens to signals itself, and sends them on when it has stopped.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _leave(0))
    sys.argv[:] = [script]  # Streamlit finds .streamlit/config.toml next to it
    app = st.App(Path(script).resolve(), **AROUND)
    app.run(config=options(flags, os.environ))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    try:
        main(sys.argv[1:])
    except SystemExit as end:
        _leave(end.code)
    except BaseException:
        traceback.print_exc()
        _leave(1)
    _leave(0)
