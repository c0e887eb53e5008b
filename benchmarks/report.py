"""A measured figure, the table of all of them, and the JSON file."""

import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("torch", "transformers", "streamlit", "plotly", "bertviz", "attnview", "transformer-lens", "playwright")


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    part: str
    #: Ours.
    what: str
    #: The other side of the ratio; empty for a plain number.
    against: str
    #: Ours / theirs, or the number itself in `unit`.
    value: float
    #: T, where it matters.
    tokens: int | None = None
    unit: str = ""
    #: The value to stay at or below; None where there is none.
    target: float | None = None
    #: The middle 95% of resampled medians begin here.
    low: float | None = None
    #: They stop here.
    high: float | None = None
    #: Both sides in units of their own.
    raw: dict[str, Any] = field(default_factory=dict)
    #: What a reader must know.
    note: str = ""

    @property
    def verdict(self) -> str:
        """ "ok" or "MISSED" if there is a target, without a margin for noise."""
        if self.target is None:
            return ""
        return "ok" if self.value <= self.target else "MISSED"


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table, in the order given."""
    rows = [("what", "against", "T", "measured", "95%", "to reach", "", "ours / theirs")]
    for entry in figures:
        rows.append(
            (
                entry.what,
                entry.against or "-",
                "" if entry.tokens is None else str(entry.tokens),
                number(entry.value, entry.unit),
                "" if entry.low is None or entry.high is None else f"{entry.low:.3g} to {entry.high:.3g}",
                "" if entry.target is None else f"<= {number(entry.target, entry.unit)}",
                entry.verdict,
                " / ".join(str(value) for value in entry.raw.values()),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in padded]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join([*lines, "", *notes(figures)])


def name(entry: Figure) -> str:
    """A figure in words: what, compared with what, at which length."""
    against = f" / {entry.against}" if entry.against else ""
    return f"{entry.what}{against}" + ("" if entry.tokens is None else f", T={entry.tokens}")


def line(entry: Figure) -> str:
    """A figure's line in the output during the run."""
    raw = " / ".join(str(value) for value in entry.raw.values())
    return f"{name(entry)}: {number(entry.value, entry.unit)}  {entry.verdict}  ({raw})"


def notes(figures: Sequence[Figure]) -> list[str]:
    """Each note once, with its lines."""
    found: dict[str, list[str]] = {}
    for entry in figures:
        if entry.note:
            found.setdefault(entry.note, []).append(name(entry))
    return [f"- {'; '.join(lines)}: {note}" for note, lines in found.items()]


def number(value: float, unit: str = "") -> str:
    """Three significant digits, with the unit."""
    if abs(value) >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}" if abs(value) >= 0.001 or value == 0 else f"{value:.2g}"
    return f"{text} {unit}".rstrip()


def seconds(value: float) -> str:
    """A time for the table's last column."""
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"


def megabytes(value: float) -> str:
    """Bytes for the table's last column."""
    return f"{value / 1e6:.3g} MB"


def environment(**settings: Any) -> dict[str, Any]:
    """The machine, versions and settings, and how busy the machine was."""
    import torch

    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "torch threads": torch.get_num_threads(),
        "load average at the start": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "packages": found,
        **settings,
    }


def processor() -> str:
    """The processor's name, if the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def write_json(path: Path, figures: Sequence[Figure], about: dict[str, Any]) -> None:
    """Write all figures as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"environment": about, "figures": [asdict(entry) | {"verdict": entry.verdict} for entry in figures]}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
