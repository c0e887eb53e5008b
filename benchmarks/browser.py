"""The app in a real Chromium against what others draw: bytes sent, sentence to picture, another head or layer."""

from __future__ import annotations

import contextlib
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import encoder
from benchmarks import report, rivals, serving, subjects
from benchmarks.report import Figure

LENGTHS = (16, 64, 128, 256, 512)
LONG = (2048, 8192)
#: How long a text each rival is opened with. Longer ones take Chromium minutes and many GB: bertviz' 256 tokens took
#: over 83 s and 9 GB, its 512 stayed blank.
PAINTED = {"bertviz model_view": (16, 64, 128), "bertviz head_view": (64, 128), "attnview": (64, 256, 512)}
#: Of what a rival is opened with, the share that we are to take at most.
PAINT_TARGETS = {("bertviz model_view", 64): 1 / 10, ("bertviz model_view", 128): 1 / 40, ("attnview", 512): 1 / 8}
BYTE_TARGETS = {128: 1 / 50, 512: 1 / 300}
#: The longest text that bertviz' page is made of for its size: one of 512 tokens is 869 MB of text.
LONGEST_PAGE = 256
#: What was measured before, for a rival that is not installed or a page that this machine does not make or open: MB of
#: bertviz' page, and seconds from the forward pass to the painted page, and to another layer.
PUBLISHED_MB = {64: 13, 128: 53, 256: 216, 512: 869}
PUBLISHED_SECONDS = {
    "bertviz model_view": {16: 1.3, 64: 7.8, 128: 29, 256: 83},
    "attnview": {64: 0.6, 256: 3.9, 512: 16},
}
PUBLISHED_SWITCH = {64: 1.5, 128: 5.6, 256: 25}
PUBLISHED = "published, not measured here"
SENTENCE_SECONDS, SWITCH_SECONDS = 2.0, 0.5

GRID = 'canvas[aria-roledescription="grid of attention maps"]'
WAIT_MS = 300_000
#: What an action may take before it counts as one that does nothing; 8,192 tokens on a busy machine take their time.
PATIENCE_MS = 180_000


def run(
    *, lengths: Sequence[int] = LENGTHS, long: Sequence[int] = LONG, repeats: int = 7, rounds: int = 3
) -> Iterator[Figure]:
    """All figures of this part.

    repeats: how often each of our own actions is measured; rounds: how often a rival's page is made and opened, in turn
    with ours.
    """
    # Before the browser: the reference model is loaded into this process, which takes seconds and much memory once.
    subjects.minilm()
    with serving.chromium() as browser, serving.app() as app:
        visitor = Visitor(browser, f"{app.url}/?text={quote(words(16, seed=1))}")
        yield visitor.first_visit()
        for n_tokens in lengths:
            yield from sentence_figures(visitor, browser, n_tokens, repeats, rounds)
            yield from switch_figures(visitor, browser, n_tokens, repeats, rounds)
        visitor.close()
        for n_tokens in long:
            yield from long_figures(browser, app, n_tokens, repeats)
        if app.log():
            raise RuntimeError(f"the app's log is not empty:\n{app.log()}")


# --- our side ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """Seconds from a key to what it chose: the map with its exact weights; and the map and the name above it.

    The map of a short text is in the browser before it is chosen, and its name comes with the server's answer.
    """

    map: float
    all: float

    @classmethod
    def of(cls, times: dict[str, float]) -> Chosen:
        """From the times of "map" and "heading"."""
        return cls(times["map"], max(times.values()))


class Visitor:
    """A person with the app open: types sentences and chooses heads; what that takes and what was sent is noted."""

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
            binary = event["response"]["opcode"] == 2  # then the browser's protocol hands it over in base64
            self.bytes["websocket"] += len(content) * 3 // 4 if binary else len(content.encode())

        session.on("Network.webSocketFrameReceived", frame)
        session.on("Network.dataReceived", lambda event: self._add_file(event["encodedDataLength"]))

    def _add_file(self, n_bytes: int) -> None:
        self.bytes["files"] += n_bytes

    def settle(self) -> None:
        """Wait until nothing is under way: the script has ended and its pictures are drawn."""
        self.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
        self.page.wait_for_function(
            '() => !document.querySelector(\'[data-testid="stSkeleton"], [data-stale="true"]\')'
            f" && document.querySelector('{GRID}') && document.querySelector('.heatmaplayer image')"
        )
        self.page.wait_for_timeout(300)  # what comes late, such as a zoom's echo, is not the next action's
        if self.complaints:
            raise RuntimeError("the browser complained:\n" + "\n".join(self.complaints))

    def measured(self, trigger: str, names: Sequence[str], act: Callable[[], None]) -> dict[str, float]:
        """Seconds from the event `trigger`, caused by `act`, until each of `names` (see probe.js) is painted anew."""
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
        """Choose the neighbour of the chosen head in the grid."""
        grid = self.page.locator(GRID)
        grid.focus()
        if not self.been_in_grid:
            grid.press(key)  # the first key in the grid only shows where the focus is: on the chosen head
            self.been_in_grid = True
        grid.press(key)
        return Chosen.of(self.measured("keydown", ("heading", "map"), lambda: grid.press("Enter")))

    def next_layer(self, key: str = "ArrowUp") -> Chosen:
        """Choose the next layer in the sidebar."""
        box = self.page.get_by_label("Layer", exact=True)
        edge = {"ArrowUp": ("max", "ArrowDown"), "ArrowDown": ("min", "ArrowUp")}[key]
        if box.input_value() == box.get_attribute(edge[0]):
            key = edge[1]  # beyond the last layer there is none
        box.focus()
        return Chosen.of(self.measured("keydown", ("heading", "map"), lambda: box.press(key)))

    def first_visit(self) -> Figure:
        """What a browser that has never been here is sent until it shows everything."""
        total = sum(self.bytes.values())
        raw = {name: report.megabytes(value) for name, value in self.bytes.items()}
        note = "The bytes of a first visit are the app itself (Streamlit's and Plotly's scripts); the browser keeps it."
        return Figure("browser", "bytes of a first visit", "", total / 1e6, 16, "MB", raw=raw, note=note)

    def close(self) -> None:
        """Leave."""
        self.context.close()


@cache
def one_token_words() -> tuple[str, ...]:
    """Ordinary words that are one token each, so that a text of any number of tokens can be written."""
    tokenizer = encoder.load("minilm", device="cpu").tokenizer
    candidates = dict.fromkeys(word.strip(".,").lower() for word in subjects.PROSE.split())
    return tuple(word for word in candidates if len(tokenizer.encode(word, None, 8)) == 3)


def words(n_tokens: int, seed: int) -> str:
    """A text of exactly `n_tokens` tokens ([CLS] and [SEP] included), another one for each seed: no cache knows it."""
    return " ".join(random.Random(f"{seed} {n_tokens}").choices(one_token_words(), k=n_tokens - 2))


# --- figures ----------------------------------------------------------------------------------------------------------

_seeds = iter(range(100, 1_000_000))


def sentence_figures(visitor: Visitor, browser: Any, n_tokens: int, repeats: int, rounds: int) -> Iterator[Figure]:
    """A new sentence: bytes and time to paint, ours and theirs."""
    visitor.type_sentence(words(n_tokens, next(_seeds)))  # sizes change once; the measured ones are of the same size
    before = dict(visitor.bytes)
    visitor.type_sentence(words(n_tokens, next(_seeds)))
    sent = {name: visitor.bytes[name] - before[name] for name in before}
    yield from byte_figures(n_tokens, sum(sent.values()))
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in opened_at(n_tokens)}
    for number in range(max(repeats, rounds)):
        if number < rounds:
            for name, series in theirs.items():
                series.append(open_page(browser, name, n_tokens))
        ours.append(visitor.type_sentence(words(n_tokens, next(_seeds))))
    what, median = "sentence to all heads and one painted", statistics.median(ours)
    raw = {"median": report.seconds(median), "worst": report.seconds(max(ours))}
    yield Figure("browser", what, "", median, n_tokens, "s", SENTENCE_SECONDS, raw=raw)
    for name, published in PUBLISHED_SECONDS.items():
        series = theirs.get(name, [])
        taken = statistics.median(series) if series else published.get(n_tokens)
        if taken is not None:
            raw = {"ours": report.seconds(median), "theirs": report.seconds(taken)}
            target, note = PAINT_TARGETS.get((name, n_tokens)), "" if series else PUBLISHED
            yield Figure("browser", what, name, median / taken, n_tokens, "", target, raw=raw, note=note)


def opened_at(n_tokens: int) -> list[str]:
    """The rivals whose page is opened with a sentence of this length."""
    names = ("bertviz model_view", "attnview")
    return [name for name in names if n_tokens in PAINTED[name] and rivals.can_run(name, n_tokens)]


def byte_figures(n_tokens: int, sent: int) -> Iterator[Figure]:
    """What the browser is sent for one sentence against the size of bertviz' page."""
    note = ""
    if n_tokens <= LONGEST_PAGE and rivals.can_run("bertviz model_view", n_tokens):
        theirs = len(rivals.bertviz_model_view(subjects.minilm().sentence(n_tokens)).encode())
    elif n_tokens in PUBLISHED_MB:
        theirs, note = PUBLISHED_MB[n_tokens] * 1_000_000, PUBLISHED
    else:
        return
    raw = {"ours": report.megabytes(sent), "theirs": report.megabytes(theirs)}
    target = BYTE_TARGETS.get(n_tokens)
    yield Figure(
        "browser", "bytes for all heads and one", "bertviz model_view", sent / theirs, n_tokens, "", target,
        raw=raw, note=note,
    )  # fmt: skip


def switch_figures(visitor: Visitor, browser: Any, n_tokens: int, repeats: int, rounds: int) -> Iterator[Figure]:
    """Another head, another layer; and bertviz' layer switch."""
    turns = {
        "another head chosen": (visitor.next_head, ("ArrowRight", "ArrowLeft")),
        "another layer chosen in the sidebar": (visitor.next_layer, ("ArrowUp", "ArrowDown")),
    }
    ours: dict[str, list[Chosen]] = {what: [] for what in turns}
    theirs: list[float] = []
    with contextlib.ExitStack() as stack:
        page = None
        if n_tokens in PAINTED["bertviz head_view"] and rivals.can_run("bertviz head_view", n_tokens):
            page = stack.enter_context(opened(browser, "bertviz head_view", n_tokens))
        for number in range(repeats):
            if page is not None and number < rounds:
                theirs.append(switch_layer(page, 1 + number % 5))
            for what, (act, keys) in turns.items():
                ours[what].append(act(keys[number // 3 % 2]))
    taken = statistics.median(theirs) if theirs else PUBLISHED_SWITCH.get(n_tokens)
    for what, series in ours.items():
        for part, times in parts_of(what, series).items():
            yield own_switch(part, times, n_tokens)
            if taken is not None:
                median = statistics.median(times)
                raw = {"ours": report.seconds(median), "theirs": report.seconds(taken)}
                note = "" if theirs else PUBLISHED
                yield Figure(
                    "browser", part, "bertviz' layer switch", median / taken, n_tokens, "", 0.1, raw=raw, note=note
                )


def parts_of(what: str, series: Sequence[Chosen]) -> dict[str, list[float]]:
    """What is timed of a choice: its exact map, and the map with its name."""
    return {f"{what}: its map": [one.map for one in series], f"{what}: map and name": [one.all for one in series]}


def own_switch(what: str, ours: Sequence[float], n_tokens: int) -> Figure:
    """Seconds until it is painted."""
    raw = {"median": report.seconds(statistics.median(ours)), "worst": report.seconds(max(ours))}
    return Figure("browser", what, "", statistics.median(ours), n_tokens, "s", SWITCH_SECONDS, raw=raw)


def long_figures(browser: Any, app: serving.App, n_tokens: int, repeats: int) -> Iterator[Figure]:
    """A text longer than MiniLM takes, with the random rotary encoder from a folder."""
    with subjects.rotary_folder() as folder:
        # Random weights are so small that maps with colours from 0 to 1 all look the same.
        address = f"{app.url}/?model=other&source={quote(str(folder))}&text=a&range=head"
        visitor = Visitor(browser, address)
        taken = visitor.type_sentence(words(n_tokens, next(_seeds)))
        what = "long text to all heads and one painted (rotary)"
        yield Figure("browser", what, "", taken, n_tokens, "s", raw={"once": report.seconds(taken)})
        ours = [visitor.next_head(("ArrowRight", "ArrowLeft")[number // 3 % 2]) for number in range(repeats)]
        for part, times in parts_of("another head chosen (rotary)", ours).items():
            yield own_switch(part, times, n_tokens)
        visitor.close()


# --- their side -------------------------------------------------------------------------------------------------------

#: What is in the page when everything is drawn.
LAST_ELEMENT = {
    "bertviz model_view": f"#attn_background_{subjects.LAYERS - 1}_{subjects.HEADS - 1}",
    "bertviz head_view": "#vis svg line",
    "attnview": "#weights tr",
}


def open_page(browser: Any, name: str, n_tokens: int) -> float:
    """Seconds for forward pass, HTML, and the page painted in Chromium."""
    with opened(browser, name, n_tokens) as page:
        return page.seconds


@contextlib.contextmanager
def opened(browser: Any, name: str, n_tokens: int) -> Iterator[Any]:
    """A rival's page, painted; `seconds` on it says how long all of that took."""
    began = time.perf_counter()
    html = rivals.RIVALS[name](subjects.minilm().sentence(n_tokens))
    made = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        began = time.perf_counter()
        file.write_text(html, encoding="utf-8")
        made += time.perf_counter() - began
        del html
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        context.set_default_timeout(WAIT_MS)
        context.add_init_script(path=Path(__file__).parent / "probe.js")
        rivals.serve_scripts(context)
        try:
            page = context.new_page()
            page.goto(file.as_uri(), wait_until="commit")
            page.seconds = made + page.evaluate("selector => __appeared(selector)", LAST_ELEMENT[name]) / 1000
            yield page
        finally:
            context.close()


def switch_layer(page: Any, layer: int) -> float:
    """Seconds until bertviz' head view shows another layer."""
    page.evaluate("(patience) => __arm('change', ['lines'], patience)", PATIENCE_MS)
    page.select_option("#layer", str(layer))
    return page.evaluate("__finish()")["lines"] / 1000
