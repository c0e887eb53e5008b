"""A published page that computes MiniLM, next to onnxruntime-web with the same model and attentions as outputs.

Both run in one Chromium, each on one thread; the page itself also with helpers. ONNXRUNTIME_WEB names the folder of the
npm package onnxruntime-web; npm fetches it where it names none.
"""

import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import torch

import encoder.live
from benchmarks import report, serving, subjects
from benchmarks.report import Figure
from encoder.live.publish import publish_live
from tests.browser.static_server import ISOLATED
from tests.browser.static_server import serving as static

#: Our targets in seconds: everything captured, by the number of tokens; the first picture on a slow telephone.
SECONDS = {16: 0.1, 128: 0.6}
FIRST_PICTURE_SECONDS = 1.5
#: A slow telephone: bytes a second, and how much slower its processor is.
BANDWIDTH, SLOWER = 10e6 / 8, 4
LENGTHS = (16, 64, 128)
#: Both sides' largest difference: ours has weights of 16 bits.
CLOSE = 5e-3
LIBRARY = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
PAGE = """<!DOCTYPE html><link rel="icon" href="data:,"><script type="module">
import * as live from "./live.js";
Object.assign(window, live);
</script>"""
#: Until a page has its first picture, from the start of its navigation.
DRAWN = """new Promise((done) => {
  const isDrawn = () => document.querySelector(".enc-model-names text");
  const look = () => requestAnimationFrame((now) => isDrawn() ? done(now) : look());
  look();
})"""
#: Until a page has drawn what a reader typed.
TYPED = """(text) => new Promise((done) => {
  const field = document.querySelector("textarea");
  field.value = text;
  const start = performance.now();
  field.dispatchEvent(new Event("change"));
  const look = () => document.body.ariaBusy === "false" ? done(performance.now() - start) : requestAnimationFrame(look);
  requestAnimationFrame(look);
})"""


def run(*, rounds: int) -> Iterator[Figure]:
    """All figures of this part. rounds: of each side, in turn."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        publish_live("minilm", root / "published", device="cpu")
        (file,) = (root / "published/models").glob("*.bin")
        write_rival(root)
        shutil.copytree(Path(encoder.live.__file__).parent / "browser", root / "browser")
        shutil.copy(Path(__file__).parent / "live.js", root)
        (root / "index.html").write_text(PAGE, encoding="utf-8")
        with static(root) as address:
            sides = {
                "ours": f"ours('{address}published/models/{file.name}')",
                "theirs": f"theirs('{address}minilm.onnx', '{address}ort/{LIBRARY[0]}')",
                "plain": f"ours('{address}published/models/{file.name}', false)",
            }
            yield from speed(address, sides, rounds)
            yield memory(address, sides)
            yield from of_a_page(f"{address}published/", root)
            with static(root, ISOLATED) as isolated:
                yield from of_a_text([f"{address}published/", f"{isolated}published/"], rounds)


def write_rival(root: Path) -> None:
    """Write minilm.onnx, whose outputs are those of the tokens and each layer's attention, and the library in ort/."""

    class WithAttention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = subjects.minilm().eager

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
            found = self.model(input_ids=input_ids, attention_mask=attention_mask, output_attentions=True)
            return (found.last_hidden_state, *found.attentions)

    names = ["output", *(f"attention.{layer}" for layer in range(subjects.LAYERS))]
    inputs = ["input_ids", "attention_mask"]
    ones = torch.ones(1, 8, dtype=torch.long)
    axes = {name: {1: "tokens"} for name in [*inputs, "output"]} | {name: {2: "q", 3: "k"} for name in names[1:]}
    torch.onnx.export(
        WithAttention().eval(),
        (ones, ones),
        str(root / "minilm.onnx"),
        input_names=inputs,
        output_names=names,
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    given = os.environ.get("ONNXRUNTIME_WEB")
    if given is None:
        command = ["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(root / "npm"), "onnxruntime-web"]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        given = str(root / "npm/node_modules/onnxruntime-web")
    (root / "ort").mkdir()
    for one in LIBRARY:
        shutil.copy(Path(given) / "dist" / one, root / "ort")


def speed(address: str, sides: dict[str, str], rounds: int) -> Iterator[Figure]:
    """The processor time of a pass with everything captured, of both sides, and of ours without WebAssembly."""
    with serving.chromium() as browser:
        before = renderers()
        page = browser.new_page()
        page.goto(address)
        for name, side in sides.items():
            page.evaluate(f"{side}.then((side) => void ((window.sides ??= {{}}).{name} = side))")
        process = max(renderers() - before, key=_processor_seconds)
        for n_tokens in LENGTHS:
            ids = list(subjects.minilm().sentence(n_tokens).ids)
            apart = page.evaluate("async (ids) => difference(await sides.ours(ids), await sides.theirs(ids))", ids)
            if apart > CLOSE:
                raise ValueError(f"Both sides differ by {apart:.2g}, so their speeds cannot be compared.")
            series: dict[str, list[float]] = {name: [] for name in sides}
            passes = rounds * max(LENGTHS) // n_tokens  # a processor's clock ticks a hundred times a second
            for _ in range(4):
                for name, own in series.items():
                    start = _processor_seconds(process)
                    page.evaluate("([name, ids, passes]) => repeated(sides[name], ids, passes)", [name, ids, passes])
                    own.append((_processor_seconds(process) - start) / passes)
            times = {name: statistics.median(own[1:]) for name, own in series.items()}  # the first one compiles
            raw = {name: report.seconds(value) for name, value in times.items()}
            what = "live page: pass with everything captured"
            against = "onnxruntime-web with attentions"
            yield Figure("live", what, against, times["ours"] / times["theirs"], n_tokens, target=1, raw=raw)
            yield Figure("live", what, "", times["ours"], n_tokens, "s", SECONDS.get(n_tokens), raw=raw)
            yield Figure("live", what, "the same in JavaScript", times["ours"] / times["plain"], n_tokens, raw=raw)


def _processor_seconds(process: psutil.Process) -> float:
    """Of all threads of a process."""
    found = process.cpu_times()
    return found.user + found.system


def memory(address: str, sides: dict[str, str]) -> Figure:
    """The memory of a page after some passes of 128 tokens, each side in a browser of its own."""
    ids = list(subjects.minilm().sentence(max(LENGTHS)).ids)
    found = {}
    for name in ("ours", "theirs"):
        with serving.chromium() as browser:
            before = renderers()
            page = browser.new_page()
            page.goto(address)
            page.evaluate(f"async (ids) => repeated(await {sides[name]}, ids, 5)", ids)
            found[name] = max(one.memory_full_info().uss for one in renderers() - before)
    raw = {name: f"{value / 1e6:.0f} MB" for name, value in found.items()}
    against = "onnxruntime-web with attentions"
    value = found["ours"] / found["theirs"]
    return Figure("live", "live page: memory of its process", against, value, max(LENGTHS), target=1, raw=raw)


def renderers() -> set[psutil.Process]:
    """The processes of pages that this process has started."""
    return {one for one in psutil.Process().children(recursive=True) if "--type=renderer" in one.cmdline()}


def of_a_page(address: str, root: Path) -> Iterator[Figure]:
    """The published page itself: its first picture on a slow telephone, and bytes."""
    firsts = []
    with serving.chromium() as browser:
        for _ in range(3):
            context = browser.new_context()
            page = context.new_page()
            session = context.new_cdp_session(page)
            session.send("Network.enable")
            limits = {"offline": False, "latency": 40, "downloadThroughput": BANDWIDTH, "uploadThroughput": BANDWIDTH}
            session.send("Network.emulateNetworkConditions", limits)
            session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
            page.goto(address, wait_until="commit")
            firsts.append(page.evaluate(DRAWN) / 1000)
            context.close()
        what = f"live page: first picture, 10 Mbit/s, processor {SLOWER} times slower"
        yield Figure("live", what, "", statistics.median(firsts), unit="s", target=FIRST_PICTURE_SECONDS)
        context = browser.new_context(service_workers="block")  # which would fetch the rest of the site
        page, requests = context.new_page(), []
        context.on("requestfinished", lambda one: requests.append(one))
        page.goto(address)
        page.wait_for_selector("body[aria-busy=false]")
        came = sum(one.sizes()["responseBodySize"] for one in requests)
        theirs = sum(one.stat().st_size for one in [root / "minilm.onnx", *(root / "ort").iterdir()])
        raw = {"ours": f"{came / 1e6:.1f} MB", "theirs": f"{theirs / 1e6:.1f} MB"}
        yield Figure("live", "live page: bytes until a text is shown", "onnxruntime-web", came / theirs, raw=raw)


def of_a_text(addresses: list[str], rounds: int) -> Iterator[Figure]:
    """The published page with a text of the reader's, on one thread and on all; a busy core makes both alike."""
    with serving.chromium() as browser:
        pages = [browser.new_context(service_workers="block").new_page() for _ in addresses]
        for page, address in zip(pages, addresses, strict=True):
            page.goto(address)
            page.wait_for_selector("body[aria-busy=false]")
        for n_tokens in LENGTHS:
            texts = [f"{at} {text_of(n_tokens - 1)}" for at in range(rounds)]
            series = [[page.evaluate(TYPED, text) / 1000 for page in pages] for text in texts]
            one, several = (statistics.median(own) for own in zip(*series[1:], strict=True))
            what = "live page: Enter to the picture"
            yield Figure("live", what, "", one, n_tokens, "s")
            threads = pages[-1].evaluate("Math.min(4, navigator.hardwareConcurrency)")
            yield Figure("live", f"{what}, {threads} threads", "one thread", several / one, n_tokens)


def text_of(n_tokens: int) -> str:
    """A text of `n_tokens` tokens, special ones included."""
    found = subjects.minilm().sentence(n_tokens)
    return found.text[: found.offsets[-2][1]]
