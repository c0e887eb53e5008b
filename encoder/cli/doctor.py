"""The command `encoderscope doctor`: what this machine has, what is missing, and what to do about it."""

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from encoder.cli.app_location import find_app
from encoder.cli.command import CommandError, Result

#: Free bytes that the app needs: of memory for a small model and its traces, of disk for files of the browser.
MEMORY, DISK = 1_500_000_000, 200_000_000


@dataclass(frozen=True)
class Finding:
    """name: what was looked at; state: "ok", "note" or "missing"; what: the finding; remedy: what to do."""

    name: str
    state: str
    what: str
    remedy: str = ""


def run_doctor(options: argparse.Namespace) -> Iterator[Result]:
    """Every finding; the exit code is 0 if nothing is missing, else 1."""
    import pandas as pd

    found = list(findings(options.models_root))
    width = max(len(one.name) for one in found)
    lines = [f"{one.state:7}  {one.name:{width}}  {one.what}{': ' * bool(one.remedy)}{one.remedy}" for one in found]
    table = pd.DataFrame([asdict(one) for one in found])
    yield Result(
        lambda: [table],
        rows="findings",
        code=int(any(one.state == "missing" for one in found)),
        said="\n".join(lines),
        shown=lambda: table.iloc[:0, :0],
        name=f"{len(found)} findings",
    )


def findings(models_root: Path | None = None) -> Iterator[Finding]:
    """Everything that `encoderscope` needs, and what it would like to have."""
    yield Finding("Python", "ok", f"{platform.python_version()} on {platform.platform(terse=True)}")
    yield from _packages()
    yield from _app()
    yield from _machine()
    yield from _disk()
    yield from _models(models_root)


def _packages() -> Iterator[Finding]:
    """The requirements of this version, those of pyproject.toml in a checkout, and whether the versions fit them."""
    project = Path(__file__).parents[2] / "pyproject.toml"
    try:
        if project.is_file():
            wanted = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        else:
            wanted = importlib.metadata.requires("encoderscope") or []
    except importlib.metadata.PackageNotFoundError:
        yield Finding("encoderscope", "missing", "is not installed", "pip install encoderscope")
        return
    from packaging.requirements import Requirement

    for one in map(Requirement, wanted):
        if one.marker is not None and not one.marker.evaluate({"extra": ""}):
            continue
        remedy = f"pip install '{one.name}{one.specifier}'"
        try:
            version = importlib.metadata.version(one.name)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(one.name, "missing", "is not installed", remedy)
            continue
        if one.specifier.contains(version, prereleases=True):
            yield Finding(one.name, "ok", version)
        else:
            yield Finding(one.name, "missing", f"{version} is installed, and {one.specifier} is needed", remedy)


def _app() -> Iterator[Finding]:
    try:
        app = find_app()
    except CommandError as error:
        yield Finding("app", "missing", str(error))
        return
    static = app.parent / "static"
    if os.access(static if static.exists() else app.parent, os.W_OK):
        yield Finding("app", "ok", str(app.parent))
    else:
        yield Finding("app", "note", f"{static} cannot be written, so each session sends the browser's scripts again")


def _machine() -> Iterator[Finding]:
    if importlib.util.find_spec("torch") is None:
        return
    import torch

    from encoder.model.device import available_devices, free_memory

    devices = ", ".join(available_devices())
    yield Finding("device", "ok", f"{devices}; {torch.get_num_threads()} threads of torch on {os.cpu_count()} cores")
    free = free_memory(torch.device("cpu"))
    state, remedy = ("ok", "") if free >= MEMORY else ("note", "close other programs, or use a small model")
    yield Finding("memory", state, f"{free / 1e9:,.1f} GB are free", remedy)


def _disk() -> Iterator[Finding]:
    place = tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
        free = shutil.disk_usage(place).free
    except OSError as error:
        yield Finding(
            "disk", "missing", f"{place} cannot be written ({error.strerror})", "set TMPDIR to another folder"
        )
        return
    state, remedy = ("ok", "") if free >= DISK else ("missing", "make room, or set TMPDIR to another folder")
    yield Finding("disk", state, f"{free / 1e9:,.1f} GB are free in {place}", remedy)


def _models(root: Path | None) -> Iterator[Finding]:
    if importlib.util.find_spec("torch") is None:
        return
    from encoder.checkpoints import BUNDLED, load
    from encoder.errors import EncoderError

    places: list[str | Path] = list(BUNDLED)
    if root is not None:
        if not root.is_dir():
            yield Finding("models root", "missing", f"{root} is not a folder", "specify the folder of your models")
            return
        places += sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    for place in places:
        name = place.name if isinstance(place, Path) else place
        try:
            model = load(place, device="cpu", trial=isinstance(place, Path))
        except EncoderError as error:
            yield Finding(name, "missing", str(error))
        else:
            megabytes = 4 * model.n_parameters / 1e6
            yield Finding(name, "ok", f"{model.n_parameters:,} parameters, {megabytes:,.0f} MB in float32")
