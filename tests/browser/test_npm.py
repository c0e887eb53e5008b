"""The package of drawings: its files, its types, and `drawHeads` on a plain page."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import deno
import pytest
from playwright.sync_api import Browser, expect

import encoder
from docs import npm
from tests.browser.static_server import serving
from tests.conftest import PATIENCE

TEXT = "The cat sat on the mat."
PAGE = """<!DOCTYPE html><title>A page</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="package/style.css">
<main id="heads"></main><script type="module">
import { drawHeads } from "./package/index.js";
const trace = await (await fetch("trace.json")).json();
window.chosen = [];
const onSelect = (place) => chosen.push(place);
window.drawing = drawHeads(document.getElementById("heads"), trace, { layer: 1, head: 3, onSelect });
window.refused = (wrong, options) => {
  try { drawHeads(document.body, { ...trace, ...wrong }, options); } catch ({ message }) { return message; }
};
</script>"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("npm") / "package"
    npm.write_package(folder)
    return folder


def test_the_package_names_files_that_it_has(package: Path) -> None:
    about = json.loads((package / "package.json").read_text(encoding="utf-8"))
    main = about["exports"]["."]
    for name in [*about["files"], main["types"], main["default"], about["types"]]:
        assert (package / name).is_file(), name
    script = (package / "index.js").read_text(encoding="utf-8")
    declared = re.findall(r"export function (\w+)", (package / "index.d.ts").read_text(encoding="utf-8"))
    assert tuple(declared) == npm.EXPORTED
    assert "import " not in script.split("export {")[0].splitlines()[0]


@pytest.mark.parametrize(("options", "fits"), [('{ layer: 1, view: "text" }', True), ('{ layer: "1" }', False)])
def test_the_types_accept_what_the_function_does(package: Path, tmp_path: Path, options: str, fits: bool) -> None:
    file = tmp_path / "use.ts"
    file.write_text(
        f'import {{ drawHeads, type Trace }} from "{(package / "index.d.ts").as_uri()}";\n'
        'const trace: Trace = { tokens: ["a"], attention: [[[[1]]], [[new Float32Array([1])]]] };\n'
        f"drawHeads(document.body, trace, {options}).select({{ query: null }});\n",
        encoding="utf-8",
    )
    (tmp_path / "deno.json").write_text('{"compilerOptions": {"lib": ["dom", "esnext"]}}', encoding="utf-8")
    done = subprocess.run(
        [deno.find_deno_bin(), "check", "--no-remote", "--no-npm", "--config", str(tmp_path / "deno.json"), str(file)],
        env={**os.environ, "DENO_DIR": str(tmp_path / "deno"), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode == 0) == fits, done.stderr


@pytest.mark.browser
def test_heads_are_drawn_and_selected_on_a_plain_page(browser: Browser, package: Path) -> None:
    trace = encoder.load("twin-pre", device="cpu").trace(TEXT)
    maps = [trace.layer_attention(layer).tolist() for layer in range(trace.config.n_layers)]
    given = {"tokens": list(trace.labels), "attention": maps}
    (package.parent / "trace.json").write_text(json.dumps(given), encoding="utf-8")
    (package.parent / "page.html").write_text(PAGE, encoding="utf-8")
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    with serving(package.parent) as address:
        page.on("request", lambda one: one.url.startswith((address, "data:")) or said.append(one.url))
        page.goto(f"{address}page.html")
        grid = page.get_by_role("application").first
        expect(grid).to_be_visible()
        assert not said
        lines = page.locator(".enc-lines")
        expect(lines).to_contain_text("L1 H3")
        lines.get_by_text("cat").first.click()
        cat = trace.labels.index("cat")
        assert page.evaluate("chosen.at(-1)") == {"layer": 1, "head": 3, "query": cat, "key": None}
        grid.focus()
        for key in ("ArrowRight", "ArrowLeft", "Enter"):
            grid.press(key)
        expect(lines).to_contain_text("L1 H2")
        assert page.evaluate("chosen.at(-1)")["head"] == 2
        page.evaluate("drawing.select({ layer: 0, head: 0 })")
        expect(lines).to_contain_text("L0 H0")
        for wrong, word in (
            ("{ tokens: ['a'] }", "weights"),
            ("{ attention: [] }", "attention"),
            ("{ tokens: Array(513).fill('a') }", "512"),
            ("{}, { head: 9 }", "head"),
            ("{}, { view: 'x' }", "view"),
        ):
            assert word in page.evaluate(f"refused({wrong})")
        expect(page.locator(".drawing")).to_have_count(2)
        page.evaluate("drawing.destroy()")
        expect(page.locator(".drawing")).to_have_count(0)
    context.close()
    assert not said
