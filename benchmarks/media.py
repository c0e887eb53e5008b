"""Images and sounds in Chromium: from the last action to the painted picture, with a ViT-base and a Whisper encoder.

Both large checkpoints are random: their sizes decide the time, not their weights.
"""

import io
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import serving
from benchmarks.report import Figure

#: Waits for text of the page that matches, then for the next painted frame.
PAINTED = """([pattern, without]) => new Promise((done) => {
  const text = () => document.querySelector('[data-testid="stMain"]')?.innerText ?? "";
  const look = () => {
    const found = new RegExp(pattern).exec(text())?.[0];
    if (found && found !== without) requestAnimationFrame(() => setTimeout(() => done(found)));
    else requestAnimationFrame(look);
  };
  look();
})"""
WAIT_MS = 120_000


def run(*, repeats: int) -> Iterator[Figure]:
    """Seconds of each action, the median of `repeats`."""
    with tempfile.TemporaryDirectory() as folder, serving.app() as app, serving.chromium() as browser:
        place = Path(folder)
        yield from digit_figures(browser, app.url, repeats, place)
        yield from vit_figures(browser, app.url, repeats, place)
        yield from sound_figures(browser, app.url, repeats, place)


def digit_figures(browser: Any, url: str, repeats: int, place: Path) -> Iterator[Figure]:
    """A digit drawn with the pointer, and an image file of 4,000 x 3,000 pixels."""
    from PIL import Image

    said = "Class: .*"
    page = opened(browser, f"{url}/heads?model=digits-post&image_from=draw", said)
    times = []
    for round_ in range(repeats):
        before = shown(page, said)
        page.get_by_role("button", name="Clear", exact=True).click()
        box = page.locator(".enc-draw canvas").bounding_box()
        end = 0.9 if round_ % 2 else 0.3
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.1)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * (0.3 + end / 2), box["y"] + box["height"] * end, steps=6)
        times.append(seconds(page, page.mouse.up, said, before))
    yield _of("a drawn digit, painted", times, 1.0)
    page.close()
    page = opened(browser, f"{url}/heads?model=digits-post&image_from=file", said)
    times = []
    for round_ in range(repeats):
        noise = np.random.default_rng(round_).integers(0, 255, (300, 400, 3), dtype=np.uint8)
        noise[:, 100 + 40 * round_ : 160 + 40 * round_] = 0
        file = io.BytesIO()
        Image.fromarray(noise).resize((4_000, 3_000)).save(file, "JPEG", quality=85)
        given = {"name": f"{round_}.jpg", "mimeType": "image/jpeg", "buffer": file.getvalue()}
        before = shown(page, said)
        take = partial(page.locator("input[type=file]").set_input_files, given)
        times.append(seconds(page, take, said, before))
    yield _of("an image file of 4,000 x 3,000 pixels, painted", times, 2.0)
    page.close()


def vit_figures(browser: Any, url: str, repeats: int, place: Path) -> Iterator[Figure]:
    """All heads of a ViT-base, 197 tokens: another patch."""
    import transformers

    model = transformers.ViTModel(transformers.ViTConfig(num_hidden_layers=12))
    model.save_pretrained(place / "vit")
    said = r"(r\d+ c\d+|\[CLS\]) attends most to .*"
    page = opened(browser, f"{url}/heads?model=other&source={place / 'vit'}", said)
    times = []
    for round_ in range(repeats):
        before = shown(page, said)
        box = page.locator(".enc-patches > canvas").bounding_box()
        at = {"x": box["width"] * (0.1 + 0.1 * round_), "y": box["height"] * 0.4}
        click = partial(page.locator(".enc-patches > canvas").click, position=at)
        times.append(seconds(page, click, said, before))
    yield _of("another patch in 12 x 12 heads, all heads painted", times, 1.0, tokens=197)
    page.close()


def sound_figures(browser: Any, url: str, repeats: int, place: Path) -> Iterator[Figure]:
    """A sound file of 30 s in an encoder of the size of Whisper tiny."""
    import transformers

    from encoder import Sound
    from encoder.inputs.sound_files import wav_bytes

    config = transformers.WhisperConfig(
        d_model=384,
        encoder_layers=4,
        encoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_layers=1,
        decoder_attention_heads=6,
    )
    transformers.WhisperModel(config).save_pretrained(place / "whisper")
    transformers.WhisperFeatureExtractor().save_pretrained(place / "whisper")
    said = r"\d\S* s attends most to .*"
    page = opened(browser, f"{url}/heads?model=other&source={place / 'whisper'}&sound_from=file", said)
    times = []
    for round_ in range(repeats):
        noise = np.random.default_rng(round_).normal(0, 0.1, 30 * 16_000).astype(np.float32)
        noise[100_000 * (round_ % 4) : 100_000 * (round_ % 4) + 16_000] *= 5
        given = {"name": f"{round_}.wav", "mimeType": "audio/wav", "buffer": wav_bytes(Sound(noise, 16_000))}
        before = shown(page, said)
        take = partial(page.locator("input[type=file]").set_input_files, given)
        times.append(seconds(page, take, said, before))
    yield _of("a sound of 30 s, painted", times, 3.0, tokens=1_500)
    page.close()


def opened(browser: Any, url: str, pattern: str) -> Any:
    """A page that says what matches."""
    page = browser.new_page(viewport={"width": 1366, "height": 900})
    page.set_default_timeout(WAIT_MS)
    page.goto(url)
    page.evaluate(PAINTED, [pattern, ""])
    page.wait_for_timeout(2_000)
    return page


def shown(page: Any, pattern: str) -> str:
    """What the page says now."""
    found: str = page.evaluate(PAINTED, [pattern, ""])
    return found


def seconds(page: Any, act: Callable[[], object], pattern: str, before: str) -> float:
    """Seconds from an action to the frame in which the page says something else."""
    start = time.perf_counter()
    act()
    page.evaluate(PAINTED, [pattern, before])
    took = time.perf_counter() - start
    page.wait_for_timeout(1_500)
    return took


def _of(what: str, times: list[float], target: float, tokens: int | None = None) -> Figure:
    value = statistics.median(times)
    return Figure("media", what, "", value, tokens=tokens, unit="s", target=target, raw={"seconds": times})
