"""What a change waits for on its way to a screen: the write, the news, the request, the run, the drawing.

A browser notes when it hears news of its room, asks for a run, and when a run begins and ends; nothing of the product
is changed for it.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from encoder.drawing.javascript import joined
from tests.conftest import ROOT

KIND = ROOT / "pages" / "core" / "server" / "message_kind.js"
#: Before the scripts of each page: what it hears and asks, with its time in milliseconds since 1970.
NOTES = (
    f"{{{joined(KIND)}"
    + """
  const notes = globalThis.__notes = [];
  const note = (what) => void notes.push([Date.now(), what]);
  const [Events, Socket] = [EventSource, WebSocket];
  globalThis.EventSource = class extends Events {
    constructor(url) {
      super(url);
      let version = null;
      this.addEventListener("message", ({ data }) => {
        const heard = JSON.parse(data).version;
        if (heard !== undefined && heard !== version) note("news");
        version = heard;
      });
    }
  };
  globalThis.WebSocket = class extends Socket {
    constructor(url, protocols) {
      super(url, protocols);
      this.addEventListener("message", ({ data }) => {
        const [found] = data instanceof ArrayBuffer ? kind(new Uint8Array(data)) : [];
        if (found) note(found === STARTED ? "begins" : "ends");
      });
    }
    send(data) {
      if (data[0] === RERUN) note("asks");
      super.send(data);
    }
  };
}"""
)
#: The parts, in their order: each is the time since the one before, the first since the click.
NAMES = ("news", "asks", "begins", "ends", "shown")


def parts(notes: Sequence[tuple[float, str]], clicked: float, shown: float, *, clicks: bool) -> dict[str, float] | None:
    """Seconds of each part of one change on one screen, and the number of its runs; None where it cannot be said.

    clicks: whether this is the screen of the click, which asks without news.
    """
    within = [(at, what) for at, what in notes if clicked - 20 <= at <= shown]
    times: dict[str, float] = {}
    if not clicks:
        heard = [at for at, what in within if what == "news"]
        if not heard:
            return None
        times["news"] = heard[0]
    since = times.get("news", clicked - 20)
    asked = [at for at, what in within if what == "asks" and at >= since]
    if not asked:
        return None
    times["asks"] = asked[0]
    begun = [at for at, what in within if what == "begins" and at >= asked[0]]
    ended = [at for at, what in within if what == "ends" and at >= asked[0]]
    if not begun or not ended:
        return None
    times |= {"begins": begun[0], "ends": ended[-1], "shown": shown}
    found, before = {}, clicked
    for name in NAMES:
        if name in times:
            found[name], before = max(0.0, times[name] - before) / 1000, max(before, times[name])
    return found | {"runs": float(len(begun))}


class Parts:
    """The parts of all changes, by what changed and where."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)

    def add(self, what: str, screen: str, found: dict[str, float] | None) -> None:
        """Count one change on one screen."""
        if found is not None:
            self._found[what, screen].append(found)

    def table(self) -> str:
        """The median of each part, as text."""
        lines = [f"{'median':34}" + "".join(f"{name:>8}" for name in (*NAMES, "runs"))]
        for (what, screen), all_of in sorted(self._found.items()):
            medians = [
                f"{statistics.median(values):8.2f}"
                if (values := [one[name] for one in all_of if name in one])
                else f"{'':8}"
                for name in (*NAMES, "runs")
            ]
            lines.append(f"{f'{what}, {screen}':34}" + "".join(medians))
        return "\n".join(lines)
