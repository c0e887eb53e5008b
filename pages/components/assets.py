"""The components' own files, and Plotly's script for the browser."""

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import config
from streamlit.file_util import get_app_static_dir
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from encoder import disk
from encoder.drawing import plotly_js
from encoder.drawing.javascript import SHARED, joined, name_of
from encoder.errors import SaveError

HERE = Path(__file__).parent
# Every copy gets this time, as its name says its content. A browser keeps a file without cache headers for
# a tenth of its age: for months, then.
LONG_AGO = 1_577_836_800


@dataclass(frozen=True)
class File:
    """What a browser fetches once: its name says its content. kind: its MIME type."""

    name: str
    content: Callable[[], bytes]
    kind: str

    @classmethod
    def json(cls, name: str, value: object) -> "File":
        """A value as a file, whose name begins with `name`."""
        content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        return cls(name_of(name, content, ".json"), lambda: content, "application/json")


def script(name: str) -> str:
    """A component's JavaScript as one module: its file and all that it imports.

    Streamlit sends it again with each change of the component's data. So where the app has static files, the script is
    one of them, named by its content, and a short loader that fetches it once is sent instead.
    """
    folder = _static_folder()
    if folder is None:
        return joined(HERE / f"{name}.js")
    try:
        file = _write_script(folder, name).name
    except (OSError, SaveError):
        return joined(HERE / f"{name}.js")
    return joined(HERE / "loader.js").replace("$PATH", f"app/static/{file}")


def _write_script(folder: Path, name: str) -> Path:
    """A component's script as a file of the folder, named by its content."""
    content = joined(HERE / f"{name}.js").encode()
    return _write(folder / name_of(name, content), lambda: content)


def write_everything(folder: Path) -> list[Path]:
    """Every file that a browser fetches once: for an installation whose files cannot be written later."""
    styles = {path.stem for path_of in (HERE, SHARED) for path in path_of.glob("*.css")}
    names = sorted(name for name in styles if (HERE / f"{name}.js").is_file())
    return [write_plotly(folder), *(_write_script(folder, name) for name in names)]


def component(name: str) -> Callable[..., Any]:
    """Declare a component by its files' name. Its CSS is the shared file, then its own."""
    own = HERE / f"{name}.css"
    files = SHARED / "shared.css", own if own.is_file() else SHARED / own.name
    css = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return st.components.v2.component(f"encoderscope_{name}", js=script(name), css=css, isolate_styles=False)


def write_plotly(folder: Path) -> Path:
    """plotly.js as a file of the folder, named by its content, written once and atomically.

    Raises OSError if the folder cannot be created, SaveError if the file cannot be written.
    """
    return _write(folder / _plotly_name(), plotly_js.compressed)


@cache  # for every plot of every run
def _plotly_name() -> str:
    return name_of("plotly", plotly_js.compressed(), ".min.js.gz")


def _write(target: Path, content: Callable[[], bytes]) -> Path:
    """Write a file, named by its content, unless it exists.

    Several sessions may write at once: a reader finds no file or a whole one.
    """
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    disk.write_file(target, content())
    os.utime(target, (LONG_AGO, LONG_AGO))
    return target


def _static_folder() -> Path | None:
    """The folder of the app's static files; None outside a run, or if they are switched off."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not config.get_option("server.enableStaticServing"):
        return None
    return Path(get_app_static_dir(context.main_script_path))


def address(file: File) -> str:
    """The URL of a file that a script fetches when it needs it; "" outside a run.

    It is one of the app's static files. If those are switched off or the folder is read-only, Streamlit's media files
    serve it from memory. The URL is relative to the app's root, which only the browser knows (there may be a proxy).
    """
    if get_script_run_ctx(suppress_warning=True) is None:
        return ""
    folder = _static_folder()
    if folder is not None:
        with contextlib.suppress(OSError, SaveError):
            return f"app/static/{_write(folder / file.name, file.content).name}"
    manager = Runtime.instance().media_file_mgr
    return manager.add(file.content(), file.kind, coordinates=f"components.{file.name}").lstrip("/")


def plotly_js_url() -> str:
    """The URL of plotly.js, gzipped; never a CDN, so it works in a classroom without internet."""
    return address(File(_plotly_name(), plotly_js.compressed, "application/gzip"))
