"""The app in a real Chromium next to other tools: bytes sent, time to show a sentence, another head or layer."""

import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks import report, rivals, serving, subjects, vitals
from benchmarks.report import Figure
from benchmarks.visitor import PATIENCE_MS, WAIT_MS, Chosen, SimulatedVisitor, words

#: The lengths of text that each rival opens. Longer ones take Chromium minutes and many GB: bertviz took over 83 s and
#: 9 GB for 256 tokens, and stayed blank with 512.
PAINTED = {"bertviz model_view": (16, 64, 128), "bertviz head_view": (64, 128), "attnview": (64, 256, 512)}
#: Our targets, as a share of the rival's time.
PAINT_TARGETS = {("bertviz model_view", 64): 1 / 10, ("bertviz model_view", 128): 1 / 40, ("attnview", 512): 1 / 8}
BYTE_TARGETS = {128: 1 / 50, 512: 1 / 300}
#: The longest text whose bertviz page is made for its size: with 512 tokens it has 869 MB.
LONGEST_PAGE = 256
#: Published figures, for a rival that is not installed or a page too large for this machine: MB of bertviz' page, and
#: seconds from the forward pass to the painted page, and to another layer.
PUBLISHED_MB = {64: 13, 128: 53, 256: 216, 512: 869}
PUBLISHED_SECONDS = {
    "bertviz model_view": {16: 1.3, 64: 7.8, 128: 29, 256: 83},
    "attnview": {64: 0.6, 256: 3.9, 512: 16},
}
PUBLISHED_SWITCH = {64: 1.5, 128: 5.6, 256: 25}
PUBLISHED = "published, not measured here"
#: Our targets in seconds: a sentence of up to 128 tokens and a longer one, another head or layer.
SHORT_SECONDS, LONGER_SECONDS, SWITCH_SECONDS = 0.3, 0.6, 0.15


def run(*, lengths: Sequence[int], long: Sequence[int], repeats: int, rounds: int) -> Iterator[Figure]:
    """All figures of this part.

    repeats: the number of measurements of each of our actions; rounds: of each rival's page, in turn with ours.
    """
    # First, as loading the reference model takes seconds and much memory once.
    subjects.minilm()
    with serving.chromium() as browser, serving.app() as app:
        visitor = SimulatedVisitor(browser, f"{app.url}/heads?text={quote(words(16, seed=1))}")
        yield visitor.first_visit()
        yield from vitals.figures(browser, app, repeats)
        for n_tokens in lengths:
            yield from sentence_figures(visitor, browser, n_tokens, repeats, rounds)
            yield from switch_figures(visitor, browser, n_tokens, repeats, rounds)
        visitor.close()
        for n_tokens in long:
            yield from long_figures(browser, app, n_tokens, repeats)
        if app.log():
            raise RuntimeError(f"the app's log is not empty:\n{app.log()}")


_seeds = iter(range(100, 1_000_000))


def sentence_figures(
    visitor: SimulatedVisitor, browser: Any, n_tokens: int, repeats: int, rounds: int
) -> Iterator[Figure]:
    """A new sentence: bytes and time to paint, ours and theirs."""
    visitor.type_sentence(words(n_tokens, next(_seeds)))  # the first one changes the sizes; the measured ones do not
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
    target = SHORT_SECONDS if n_tokens <= 128 else LONGER_SECONDS
    yield Figure("browser", what, "", median, tokens=n_tokens, unit="s", target=target, raw=raw)
    for name, published in PUBLISHED_SECONDS.items():
        series = theirs.get(name, [])
        taken = statistics.median(series) if series else published.get(n_tokens)
        if taken is not None:
            raw = {"ours": report.seconds(median), "theirs": report.seconds(taken)}
            target, note = PAINT_TARGETS.get((name, n_tokens)), "" if series else PUBLISHED
            yield Figure("browser", what, name, median / taken, tokens=n_tokens, target=target, raw=raw, note=note)


def opened_at(n_tokens: int) -> list[str]:
    """The rivals that open a sentence of this length."""
    names = ("bertviz model_view", "attnview")
    return [name for name in names if n_tokens in PAINTED[name] and rivals.can_run(name, n_tokens)]


def byte_figures(n_tokens: int, sent: int) -> Iterator[Figure]:
    """Bytes sent for one sentence, and the size of bertviz' page."""
    note = ""
    if n_tokens <= LONGEST_PAGE and rivals.can_run("bertviz model_view", n_tokens):
        theirs = len(rivals.RIVALS["bertviz model_view"](subjects.minilm().sentence(n_tokens)).encode())
    elif n_tokens in PUBLISHED_MB:
        theirs, note = PUBLISHED_MB[n_tokens] * 1_000_000, PUBLISHED
    else:
        return
    raw = {"ours": report.megabytes(sent), "theirs": report.megabytes(theirs)}
    target = BYTE_TARGETS.get(n_tokens)
    yield Figure(
        "browser",
        "bytes for all heads and one",
        "bertviz model_view",
        sent / theirs,
        tokens=n_tokens,
        target=target,
        raw=raw,
        note=note,
    )


def switch_figures(
    visitor: SimulatedVisitor, browser: Any, n_tokens: int, repeats: int, rounds: int
) -> Iterator[Figure]:
    """Another head, another layer; and bertviz' layer switch."""
    turns = {
        "another head chosen": (visitor.next_head, ("ArrowRight", "ArrowLeft")),
        "another layer chosen above the page": (visitor.next_layer, ("ArrowUp", "ArrowDown")),
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
                    "browser",
                    part,
                    "bertviz' layer switch",
                    median / taken,
                    tokens=n_tokens,
                    target=0.1,
                    raw=raw,
                    note=note,
                )


def parts_of(what: str, series: Sequence[Chosen]) -> dict[str, list[float]]:
    """The figures of a selection: its exact map, the map with its heading, and all with the server's answer."""
    return {
        f"{what}: its map": [one.map for one in series],
        f"{what}: with its heading": [one.with_heading for one in series],
        f"{what}: with the server's answer": [one.with_answer for one in series],
    }


def own_switch(what: str, ours: Sequence[float], n_tokens: int) -> Figure:
    """Seconds until it is painted."""
    raw = {"median": report.seconds(statistics.median(ours)), "worst": report.seconds(max(ours))}
    return Figure(
        "browser", what, "", statistics.median(ours), tokens=n_tokens, unit="s", target=SWITCH_SECONDS, raw=raw
    )


def long_figures(browser: Any, app: serving.App, n_tokens: int, repeats: int) -> Iterator[Figure]:
    """A text too long for MiniLM, with the random rotary encoder from a folder."""
    with subjects.rotary_folder() as folder:
        # These attention weights are so small that all maps look the same on a scale from 0 to 1.
        address = f"{app.url}/?model=other&source={quote(str(folder))}&text=a&range=head"
        visitor = SimulatedVisitor(browser, address)
        taken = visitor.type_sentence(words(n_tokens, next(_seeds)))
        what = "long text to all heads and one painted (rotary)"
        yield Figure("browser", what, "", taken, n_tokens, "s", raw={"once": report.seconds(taken)})
        ours = [visitor.next_head(("ArrowRight", "ArrowLeft")[number // 3 % 2]) for number in range(repeats)]
        for part, times in parts_of("another head chosen (rotary)", ours).items():
            yield own_switch(part, times, n_tokens)
        visitor.close()


# --- rivals -----------------------------------------------------------------------------------------------------------

#: An element that is on the page when everything is drawn.
LAST_ELEMENT = {
    "bertviz model_view": f"#attn_background_{subjects.LAYERS - 1}_{subjects.HEADS - 1}",
    "bertviz head_view": "#vis svg line",
    "attnview": "#weights tr",
}


def open_page(browser: Any, name: str, n_tokens: int) -> float:
    """Seconds for the forward pass, the HTML and the painted page in Chromium."""
    with opened(browser, name, n_tokens) as page:
        return page.seconds


@contextlib.contextmanager
def opened(browser: Any, name: str, n_tokens: int) -> Iterator[Any]:
    """A rival's page, painted, with the `seconds` that it took."""
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
