"""The pictures of README.md: `python -m docs.pictures` makes them; it needs what the tests install.

It starts the app and photographs it in Chromium.
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from benchmarks.serving import app, chromium
from tests.conftest import settle

HERE = Path(__file__).parent
#: A head in which "it" attends most to what it stands for.
VIEW = "/?text=The+cat+sat+on+the+mat+because+it+was+tired.&layer=3&head=1&i=8"
WIDTH, HEIGHT = 1280, 860


def main() -> None:
    """Write heads-light.png and heads-dark.png."""
    with app() as served, chromium() as browser:
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
            page = context.new_page()
            page.goto(served.url + VIEW)
            page.locator(".js-plotly-plot").first.wait_for()
            settle(page)
            page.mouse.move(0, HEIGHT - 1)  # no label under the pointer
            page.wait_for_timeout(1500)
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            picture.save(HERE / f"heads-{scheme}.png", optimize=True)
            context.close()


if __name__ == "__main__":
    main()
