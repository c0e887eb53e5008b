"""Firefox over WebDriver BiDi, for the site: Playwright's own build of Firefox is not what people have."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

PATIENCE = 120  # seconds, for a busy machine; not a claim about speed


def find() -> str | None:
    """The Firefox of $FIREFOX, or the one on the path."""
    return os.environ.get("FIREFOX") or shutil.which("firefox") or shutil.which("firefox-esr")


class Firefox:
    """A page of Firefox, and the requests and messages of its console so far."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self.requests: list[str] = []
        self.console: list[str] = []
        self._ask("session.new", capabilities={})
        self._page = self._ask("browsingContext.getTree")["contexts"][0]["context"]
        self._ask("session.subscribe", events=["network.beforeRequestSent", "log.entryAdded"])
        self._ask("browsingContext.setViewport", context=self._page, viewport={"width": 1366, "height": 768})

    def _ask(self, method: str, patience: float = PATIENCE, **values: Any) -> Any:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": values}))
        deadline = time.monotonic() + patience
        while True:
            message = json.loads(self._socket.recv(max(0.0, deadline - time.monotonic())))
            if message.get("method") == "network.beforeRequestSent":
                self.requests.append(message["params"]["request"]["url"])
            elif message.get("method") == "log.entryAdded":
                self.console.append(message["params"]["text"] or "")
            elif message.get("id") == number:
                assert message["type"] == "success", message
                return message["result"]

    def open(self, address: str) -> None:
        """Go there. An isolated page has a process of its own, and a script that is sent while it moves there can wait
        for the next page: so a first script is sent again until it is answered."""
        self._ask("browsingContext.navigate", context=self._page, url=address, wait="complete")
        for _ in range(PATIENCE // 5):
            with contextlib.suppress(TimeoutError):
                self.run("document.URL", patience=5)
                return
        raise AssertionError(f"{address} runs no script")

    def run(self, expression: str, patience: float = PATIENCE) -> Any:
        """The value of a JavaScript expression, or of its promise."""
        text = f"Promise.resolve({expression}).then((value) => JSON.stringify(value) ?? 'null')"
        target = {"context": self._page}
        found = self._ask("script.evaluate", patience, expression=text, target=target, awaitPromise=True)
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])

    def wait_for(self, expression: str) -> Any:
        """The first value of the expression that is not false."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if value := self.run(expression):
                return value
            time.sleep(0.1)
        raise AssertionError(f"never true: {expression}")

    def draw(self, element: str, *places: tuple[float, float], touch: bool = False) -> None:
        """A click, or a line through several places: shares of the width and height of the element of a selector."""
        x, y, width, height = self.run(
            f"((one) => {{ one.scrollIntoView({{ block: 'center' }}); const box = one.getBoundingClientRect();"
            f" return [box.x, box.y, box.width, box.height]; }})(document.querySelector({json.dumps(element)}))"
        )
        moves = [
            {"type": "pointerMove", "x": round(x + a * width), "y": round(y + b * height), "duration": 30}
            for a, b in places
        ]
        actions = [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}]
        kind = {"pointerType": "touch" if touch else "mouse"}
        pointer = {"type": "pointer", "id": kind["pointerType"], "parameters": kind, "actions": actions}
        self._ask("input.performActions", context=self._page, actions=[pointer])


@contextlib.contextmanager
def opened(program: str, folder: Path) -> Iterator[Firefox]:
    """A Firefox with a fresh profile in `folder`."""
    command = [program, "--headless", "--no-remote", "--profile", str(folder), "--remote-debugging-port", "0"]
    environment = {**os.environ, "HOME": str(folder)}
    with (folder / "log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        try:
            with connect(f"{_address(process, folder / 'log')}/session", max_size=None) as socket:
                yield Firefox(socket)
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _address(process: subprocess.Popen, log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        _, found, rest = log.read_text(encoding="utf-8", errors="replace").partition("BiDi listening on ")
        if found and "\n" in rest:
            return rest.splitlines()[0].strip()
        assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")
        time.sleep(0.1)
    raise AssertionError("Firefox does not listen")
