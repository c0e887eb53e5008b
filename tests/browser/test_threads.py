"""Helpers of the engine's thread in Chromium, where a page is isolated."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from encoder.drawing.javascript import joined
from tests.browser.static_server import ISOLATED, serving
from tests.conftest import PATIENCE
from tests.site.test_engine import BROWSER, texts, unpack
from tests.site.test_kinds import model_of

pytestmark = pytest.mark.browser
#: A worker that runs each text on one thread and on two, until the helper has made some calls. It says how many numbers
#: it has compared, which of them have other bits, and how many calls each thread has made.
WORKER = """
import { OneThread, Threads } from "/browser/engine/threads.js";
import { fastest } from "/browser/engine/fastest.js";
import { Products } from "/browser/engine/products.js";
import { Model } from "/browser/model.js";

const numbers = (one) => ArrayBuffer.isView(one) ? [one]
  : one && typeof one === "object" ? Object.values(one).flatMap(numbers) : [];
const bits = (array) => new Uint32Array(array.buffer, array.byteOffset, array.length);

addEventListener("message", async ({ data: { texts, enough } }) => {
  const bytes = async (name) => (await fetch(`/${name}.bin`)).arrayBuffer();
  const model = new Model(await bytes("model"), bytes);
  const threads = await Threads.start(2);
  if (!threads) return postMessage({ threads });
  threads.least = 0; // the model is small
  const found = { compared: 0, different: 0, own: 0, all: 0 };
  for (const [name, of] of Object.entries(threads.functions)) {
    threads.functions = { ...threads.functions, [name]: (...given) => (found.own += 1, of(...given)) };
  }
  const run = threads.run.bind(threads);
  threads.run = (calls) => (found.all += calls.length, run(calls));
  const sides = [new OneThread(), threads].map((one) => ({ products: new Products(one), held: {} }));
  for (let at = 0; at < texts.length || found.all - found.own < enough; at++) {
    const traces = [];
    for (const side of sides) {
      Object.assign(model.encoder, side);
      traces.push(numbers((await model.read(texts[at % texts.length], {})).trace).map(bits));
    }
    traces[0].forEach((array, which) => array.forEach((value, place) => {
      found.compared += 1;
      found.different += Number(value !== traces[1][which][place]);
    }));
  }
  const both = sides.map(({ products }) => products);
  const before = both.map(({ end }) => end);
  const isOne = both.includes(fastest(both, model.encoder.config));
  postMessage({ ...found, threads: threads.count, isOne, isFreed: both.every(({ end }, at) => end === before[at]) });
});
"""
RUN = """(given) => import("/browser/helpers.js").then(({ startHelpers }) => new Promise((done, fail) => {
  const worker = new Worker("/run.js", { type: "module" });
  worker.addEventListener("message", ({ data: { helpers, ...found } }) => {
    if (helpers) startHelpers(helpers, "/helper.js");
    else done(found);
  });
  worker.addEventListener("error", ({ message }) => fail(new Error(message)));
  worker.postMessage(given);
}))"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The engine, a model and the worker, as a page finds them."""
    unpack(model_of("roberta"), tmp_path)
    shutil.copytree(BROWSER, tmp_path / "browser")
    for name, text in (
        ("run.js", WORKER),
        ("helper.js", joined(BROWSER / "helper.js")),
        ("index.html", '<!DOCTYPE html><link rel="icon" href="data:,">'),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_two_threads_give_the_bits_of_one(browser: Browser, folder: Path) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    with serving(folder, ISOLATED) as address:
        page.goto(address)
        found = page.evaluate(RUN, {"texts": texts(12), "enough": 300})
    page.close()
    assert found["threads"] == 2
    assert found["compared"] > 10_000
    assert found["different"] == 0
    assert found["all"] - found["own"] >= 300
    assert found["isOne"]
    assert found["isFreed"]


@pytest.mark.parametrize("missing", ["isolation", "the script"])
def test_without_helpers_the_engine_says_so(browser: Browser, folder: Path, missing: str) -> None:
    """And its thread goes on by itself."""
    if missing == "the script":
        (folder / "helper.js").write_text("not a script", encoding="utf-8")
    page = browser.new_page()
    with serving(folder, ISOLATED if missing == "the script" else {}) as address:
        page.goto(address)
        found = page.evaluate(RUN, {"texts": texts(1), "enough": 0})
    page.close()
    assert json.dumps(found) == '{"threads": null}'
