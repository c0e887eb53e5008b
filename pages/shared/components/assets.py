"""The components' own files, and Plotly's script for the browser."""

from __future__ import annotations

import contextlib
import gzip
import os
import tempfile
from functools import cache
from pathlib import Path

from plotly.offline import get_plotlyjs, get_plotlyjs_version
from streamlit import config
from streamlit.file_util import get_app_static_dir
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

HERE = Path(__file__).parent
# One time for every copy of one version: the name already says which version it is, and a browser that guesses how long
# a file without cache headers stays fresh (a tenth of its age) then guesses months.
LONG_AGO = 1_577_836_800


def script(*names: str) -> str:
    """A component's JavaScript: what all of them share, then its own files. One module, so it needs no import."""
    return "\n".join((HERE / f"{name}.js").read_text(encoding="utf-8") for name in ("shared", *names))


def style(name: str) -> str:
    """A component's CSS: what all of them share, then its own file."""
    return "\n".join((HERE / part).read_text(encoding="utf-8") for part in ("shared.css", f"{name}.css"))


@cache
def _plotly_gzip() -> bytes:
    """The plotly.js that the `plotly` package ships, compressed: 1.4 MB instead of 4.8."""
    return gzip.compress(get_plotlyjs().encode(), compresslevel=9, mtime=0)


def write_plotly(folder: Path) -> Path:
    """`plotly-<version>.min.js.gz` in the folder, written once and atomically.

    Many sessions may come at once: each one writes a file of its own and renames it, so a reader sees either no file or
    a whole one.

    Raises:
        OSError: the folder cannot be made or written.
    """
    target = folder / f"plotly-{get_plotlyjs_version()}.min.js.gz"
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_plotly_gzip())
        os.chmod(name, 0o644)
        os.utime(name, (LONG_AGO, LONG_AGO))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    return target


def plotly_js_url() -> str:
    """Where this app's browser finds plotly.js, gzipped; never a CDN, so a classroom without internet draws, too.

    The file lies among the app's own static files. Where those are switched off or the folder is read-only, Streamlit's
    media files take its place: the same bytes, held in memory. The URL is relative to the app's root, which only the
    browser knows (there may be a proxy).
    """
    context = get_script_run_ctx()
    if context is None:
        return ""
    if config.get_option("server.enableStaticServing"):
        with contextlib.suppress(OSError):
            return f"app/static/{write_plotly(Path(get_app_static_dir(context.main_script_path))).name}"
    manager = Runtime.instance().media_file_mgr
    return manager.add(_plotly_gzip(), "application/gzip", coordinates="components.plotly").lstrip("/")
