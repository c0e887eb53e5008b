"""A person with the app open in Chromium, whose actions are timed, and texts of any length to type."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import encoder
from benchmarks import report, subjects
from benchmarks.report import Figure

GRID = 'canvas[aria-roledescription="grid of attention maps"]'
WAIT_MS = 300_000
#: After so long, an action counts as without effect; 8,192 tokens on a busy machine take long.
PATIENCE_MS = 180_000


@dataclass(frozen=True)
class Chosen:
    """Seconds from a key to the map with its exact weights, to the map with its heading, and to all with the answer.

    The map of a short text is in the browser before you select it, and its heading comes with it; the line with the
    selected weight comes with the server's answer.
    """

    map: float
    with_heading: float
    with_answer: float

    @classmethod
    def of(cls, times: dict[str, float]) -> Chosen:
        """From the times of "map", "heading" and "answer"."""
        return cls(times["map"], max(times["map"], times["heading"]), max(times.values()))


class SimulatedVisitor:
    """A person with the app open, who types sentences and selects heads; times and received bytes are measured."""

    def __init__(self, browser: Any, address: str, on_websocket: Callable[[Any], None] | None = None) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 720})
        self.context.set_default_timeout(WAIT_MS)
        self.context.add_init_script(path=Path(__file__).parent / "probe.js")
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.been_in_grid = False
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if on_websocket is not None:
            self.page.on("websocket", on_websocket)
        self.bytes = {"websocket": 0, "files": 0}
        self._count_bytes()
        self.page.goto(address)
        self.settle()

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _count_bytes(self) -> None:
        session = self.context.new_cdp_session(self.page)
        session.send("Network.enable")

        def frame(event: dict[str, Any]) -> None:
            content = event["response"]["payloadData"]
            binary = event["response"]["opcode"] == 2  # the browser's protocol has it in base64
            self.bytes["websocket"] += len(content) * 3 // 4 if binary else len(content.encode())

        session.on("Network.webSocketFrameReceived", frame)
        session.on("Network.dataReceived", lambda event: self._add_file(event["encodedDataLength"]))

    def _add_file(self, n_bytes: int) -> None:
        self.bytes["files"] += n_bytes

    def settle(self) -> None:
        """Wait until the script has ended and its pictures are drawn."""
        self.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
        self.page.wait_for_function(
            '() => !document.querySelector(\'[data-testid="stSkeleton"], [data-stale="true"]\')'
            f" && document.querySelector('{GRID}') && document.querySelector('.heatmaplayer image')"
        )
        self.page.wait_for_timeout(300)  # late messages, such as a zoom's, do not count for the next action
        if self.complaints:
            raise RuntimeError("the browser complained:\n" + "\n".join(self.complaints))

    def measured(self, trigger: str, names: Sequence[str], act: Callable[[], None]) -> dict[str, float]:
        """Seconds from the event `trigger`, caused by `act`, until each of `names` (see probe.js) is painted again."""
        self.page.evaluate("(given) => __arm(...given)", [trigger, list(names), PATIENCE_MS])
        act()
        taken = self.page.evaluate("__finish()")
        self.settle()
        return {name: taken[name] / 1000 for name in names}

    def type_sentence(self, text: str) -> float:
        """Seconds from Enter to all heads and the large one painted."""
        box = self.page.get_by_label("Sentence", exact=True)
        box.fill(text)
        return max(self.measured("keydown", ("grid", "map"), lambda: box.press("Enter")).values())

    def next_head(self, key: str = "ArrowRight") -> Chosen:
        """Select the next head in the grid."""
        grid = self.page.locator(GRID)
        grid.focus()
        if not self.been_in_grid:
            grid.press(key)  # the first key in the grid only shows where the focus is: on the selected head
            self.been_in_grid = True
        grid.press(key)
        return Chosen.of(self.measured("keydown", ("map", "heading", "answer"), lambda: grid.press("Enter")))

    def next_layer(self, key: str = "ArrowUp") -> Chosen:
        """Select the next layer above the page."""
        box = self.page.get_by_label("Layer", exact=True)
        edge = {"ArrowUp": ("max", "ArrowDown"), "ArrowDown": ("min", "ArrowUp")}[key]
        if box.input_value() == box.get_attribute(edge[0]):
            key = edge[1]  # the last layer: the other way
        box.focus()
        return Chosen.of(self.measured("keydown", ("map", "heading", "answer"), lambda: box.press(key)))

    def first_visit(self) -> Figure:
        """The bytes that a new browser receives until it shows everything."""
        total = sum(self.bytes.values())
        raw = {name: report.megabytes(value) for name, value in self.bytes.items()}
        note = "The bytes of a first visit are mostly Streamlit's and Plotly's scripts; the browser keeps them."
        return Figure("browser", "bytes of a first visit", "", total / 1e6, 16, "MB", raw=raw, note=note)

    def close(self) -> None:
        """Close the page."""
        self.context.close()


@cache
def one_token_words() -> tuple[str, ...]:
    """Ordinary words of one token each, for texts of any number of tokens."""
    tokenizer = encoder.load("minilm", device="cpu").tokenizer
    candidates = dict.fromkeys(word.strip(".,").lower() for word in subjects.PROSE.split())
    return tuple(word for word in candidates if len(tokenizer.encode(word, None, 8)) == 3)


def words(n_tokens: int, seed: int) -> str:
    """A text of exactly `n_tokens` tokens with [CLS] and [SEP]; each seed gives another one, which no cache has."""
    return " ".join(random.Random(f"{seed} {n_tokens}").choices(one_token_words(), k=n_tokens - 2))
