"""For all tests: what a run collects, CUDA tests that skip themselves, the app on its own port, and a Chromium."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlparse

import pytest
from hypothesis import settings

from tests import ensure_chromium, tiers

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported, as in the app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# No test depends on the speed of the machine, and the same examples are tried in every run.
settings.register_profile("same", deadline=None, derandomize=True, database=None)
settings.load_profile("same")

ROOT = Path(__file__).parent.parent
#: Milliseconds until a test fails: a machine with two busy cores is slow, and only a failure waits so long.
PATIENCE = 120_000
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--use-fake-device-for-media-stream",  # a microphone that beeps, for the pages with sound
    "--use-fake-ui-for-media-stream",
    "--js-flags=--single-threaded-gc",  # threads that collect garbage cost a tenth of all, with two busy cores
]
START_SECONDS = 120  # for a server's start on a busy machine, not a claim about speed


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--for-seconds", type=float, help="skip the tests that have not begun after so many seconds")


BEGAN = time.monotonic()


def pytest_configure() -> None:
    """Collecting tests makes millions of objects that stay: the garbage collector leaves them out, then and later."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)  # before fixtures, which take seconds too
def pytest_runtest_setup(item: pytest.Item) -> None:
    seconds = item.config.getoption("--for-seconds")
    if seconds and time.monotonic() - BEGAN > seconds:
        pytest.skip(f"{seconds:.0f} seconds are over; `make test` runs the rest")


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A run of browser or slow tests alone imports no file without one: libraries of models take seconds a process."""
    needed = tiers.demanded(config.option.markexpr)
    if not needed or not collection_path.match("test_*.py"):
        return None
    return not tiers.may_have(collection_path.read_text(encoding="utf-8"), needed) or None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by the markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if unexplained := tiers.without_reason(items):
        raise pytest.UsageError('Say why: @pytest.mark.slow("trains a model").\n' + "\n".join(unexplained))
    tiers.mark_all_but_samples(items)
    if "network" not in tiers.demanded(config.option.markexpr):  # gigabytes: only if they are asked for
        items[:] = [item for item in items if not item.get_closest_marker("network")]
    cuda = [item for item in items if item.get_closest_marker("cuda")]
    if not cuda:
        return
    import torch

    if not torch.cuda.is_available():
        for item in cuda:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that may belong to the other tier. It is no failure: a busy machine is slow."""
    reports = [one for kind in terminalreporter.stats.values() for one in kind if isinstance(one, pytest.TestReport)]
    if lines := tiers.long_unmarked(reports):
        terminalreporter.section(f"longer than {tiers.LONG:.0f} s and not marked slow")
        terminalreporter.write_line("\n".join(lines))


class Server:
    """The app, served for tests: `url`, and `log()`, all output of the server."""

    def __init__(self, process: subprocess.Popen, url: str, log_file: Path) -> None:
        self.process = process
        self.url = url
        self._log_file = log_file

    def log(self) -> str:
        return self._log_file.read_text(encoding="utf-8", errors="replace")

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"the server ended with {self.process.returncode}:\n{self.log()}"
            if self._answers():
                return
            time.sleep(0.1)
        raise AssertionError(f"no answer from {self.url} in {START_SECONDS} s:\n{self.log()}")

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=5) as answer:
                return answer.read() == b"ok"
        except OSError:  # nothing listens yet; urllib's errors and time-outs are OSErrors too
            return False


def free_port() -> int:
    """A port that nothing listens on at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def free_ports(count: int) -> int:
    """The first of `count` consecutive ports that nothing listens on at this moment."""
    while True:
        first = free_port()
        with contextlib.ExitStack() as probes, contextlib.suppress(OSError, OverflowError):
            for port in range(first, first + count):
                probes.enter_context(socket.create_server(("127.0.0.1", port)))
            return first


@pytest.fixture(scope="session")
def serve(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., contextlib.AbstractContextManager[Server]]:
    """`with serve(app=path, NAME="value") as server`: the app with this environment, on its own port."""

    from encoder.cli.app import streamlit_command

    @contextlib.contextmanager
    def start(app: Path = ROOT / "app.py", **environment: str) -> Iterator[Server]:
        port = free_port()
        folder = tmp_path_factory.mktemp("server")
        log_file = folder / "log"
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                streamlit_command(app, "127.0.0.1", port, browser=False),
                env={
                    **os.environ,
                    "HOME": str(folder),
                    **environment,
                },  # not the user's settings
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        server = Server(process, f"http://127.0.0.1:{port}", log_file)
        try:
            server.wait_until_ready()
            yield server
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    return start


@pytest.fixture(scope="session")
def app(serve: Callable[..., contextlib.AbstractContextManager[Server]]) -> Iterator[Server]:
    """The checkout's app, one server for the whole session."""
    with serve() as server:
        yield server


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium. Without one the test is skipped, but fails in continuous integration."""
    path = ensure_chromium.find()
    if path is None:
        message = "no Chromium found; `python tests/ensure_chromium.py` installs one"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return path


def scope_of_browsers(fixture_name: str, config: pytest.Config) -> str:
    """One browser for a run of browser tests only; else one a module: Playwright's loop runs until it closes."""
    return "session" if "browser" in tiers.demanded(config.option.markexpr) else "module"


@pytest.fixture(scope=scope_of_browsers)
def browser(chromium: str) -> Iterator[Browser]:
    """A headless Chromium."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield running
        running.close()


class Tab:
    """A tab of a visitor who has left: the next one finds the app's scripts parsed. `complaints`: what went wrong."""

    def __init__(self, browser: Browser, server: str, options: dict[str, Any], script: str = "") -> None:
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(PATIENCE)
        if script:
            self.context.add_init_script(script)
        self.page = self.context.new_page()
        self.server = server
        self.complaints: list[str] = []
        collect_complaints(self.page, server, self.complaints)

    def leave(self) -> None:
        """Forget the visit: what is stored, the history, where the pointer was. Here no script stores any more."""
        self.page.goto(f"{self.server}/_stcore/health")
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.page.mouse.move(0, 0)
        session = self.context.new_cdp_session(self.page)
        session.send("Page.resetNavigationHistory")
        session.detach()
        self.context.clear_cookies()
        self.context.clear_permissions()
        self.complaints.clear()


@contextlib.contextmanager
def tab_with_models(
    browser: Browser, serve: Callable[..., contextlib.AbstractContextManager[Server]], root: Path
) -> Iterator[Tab]:
    """A tab of an app that offers the models below a folder. Browser and server stay silent."""
    with serve(ENCODERSCOPE_MODELS_ROOT=str(root)) as server:
        found = Tab(browser, server.url, {})
        yield found
        assert not found.complaints
        assert not server.log()
        found.context.close()


@pytest.fixture(scope=scope_of_browsers)
def tabs(browser: Browser) -> dict[str, list[Tab]]:
    """Tabs that no test uses now, by their server and options."""
    return {}


@pytest.fixture
def visit(browser: Browser, app: Server, tabs: dict[str, list[Tab]]) -> Iterator[Callable[..., Page]]:
    """`page = visit("/?layer=3", width=390, height=844, dark=True)`: a page of a fresh visitor, settled.

    The test fails if there is a warning or an error in the browser's console, a line in the server's log, or a
    request to another machine. A test that closes its page takes its tab away from later ones.
    script: JavaScript that runs before the scripts of each page.
    """
    used: list[tuple[str, Tab]] = []
    before = len(app.log())

    def open_page(path: str = "/", *, width: int = 1280, height: int = 720, dark: bool = False, **options) -> Page:
        motion, script = options.pop("reduced_motion", "no-preference"), options.pop("script", "")
        key = json.dumps([app.url, options, script], sort_keys=True)
        free = tabs.get(key)
        tab = free.pop() if free else Tab(browser, app.url, options, script)
        used.append((key, tab))
        page = tab.page
        page.set_viewport_size({"width": width, "height": height})  # not the context's: all screens share one
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion=motion)
        page.goto(app.url + path)
        settle(page)
        return page

    yield open_page
    complaints = [one for _, tab in used for one in tab.complaints]
    for key, tab in used:
        if tab.page.is_closed():
            tab.context.close()
        else:
            tab.leave()
            tabs.setdefault(key, []).append(tab)
    written = app.log()[before:]
    assert not complaints, "\n".join(complaints)
    assert not written, f"the server's log:\n{written}"


def collect_complaints(page: Page, server: str, complaints: list[str]) -> None:
    """Append to `complaints` each warning and error of `page`, and each request to another address than `server`."""
    allowed = (server, server.replace("http", "ws", 1), "data:", "blob:")

    def console(message) -> None:
        if message.type in ("error", "warning", "trace"):  # Plotly warns by console.trace
            complaints.append(f"console {message.type}: {message.text}")

    def request(made) -> None:
        if not made.url.startswith(allowed):
            complaints.append(f"request to another machine: {made.url}")

    page.on("console", console)
    page.on("request", request)
    page.on("pageerror", lambda error: complaints.append(f"uncaught in the page: {error}"))


#: The page's script has ended, nothing is left from an earlier run, and nothing has changed for 60 ms, not even the
#: window's size. A run ends before the browser has drawn all of its elements.
SETTLED = """() => {
  if (!window.lastChange) {
    window.lastChange = performance.now();
    const changed = () => { window.lastChange = performance.now(); };
    new MutationObserver(changed).observe(document.body, { childList: true, characterData: true, subtree: true });
    addEventListener("resize", changed);  // what observes sizes draws after it
  }
  const running = !document.querySelector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    || document.querySelector('[data-testid="stSkeleton"], [data-stale="true"]');
  if (running) window.lastChange = performance.now();
  return performance.now() - window.lastChange > 60;
}"""


#: Waits so many milliseconds by the page's own clock: what the page has put off for a shorter time is done then.
LATER = "wait => new Promise(done => setTimeout(() => setTimeout(done), wait))"


def settle(page: Page, timeout: float = PATIENCE) -> None:
    """Wait until the page's script has ended and all is drawn."""
    page.wait_for_function(SETTLED, timeout=timeout)


def go(page: Page, address: str, *, wait_for: str = "") -> None:
    """Open another page of the app in the same visit, as with the button Back: the scripts are not loaded again.

    wait_for: a script's condition besides the name of the page in the bar, which must change.
    """
    page.evaluate(
        """address => {
          history.pushState({}, "", address);
          dispatchEvent(new PopStateEvent("popstate", { state: {} }));
        }""",
        address,
    )
    path = urlparse(address).path
    page.wait_for_function("path => document.querySelector('.enc-pages')?.dataset.page === path", arg=path)
    if wait_for:
        page.wait_for_function(wait_for)
    settle(page)


def query(page: Page) -> dict[str, str]:
    """The values in the page's address."""
    return {name: values[0] for name, values in parse_qs(urlparse(page.url).query).items()}


def wait_for_query(page: Page, **values: str | None) -> None:
    """Wait until the address holds these values, None: not at all, and the page has settled."""
    page.wait_for_function(
        """values => Object.entries(values)
             .every(([name, value]) => new URL(location).searchParams.get(name) === value)""",
        arg=values,
    )
    settle(page)


def wait_until_none(page: Page, script: str, arg: object = None) -> None:
    """Wait until `script` finds nothing wrong: an empty list. What it still finds at the end is what failed."""
    deadline = time.monotonic() + PATIENCE / 1000
    while found := page.evaluate(script, arg):
        assert time.monotonic() < deadline, found
        page.wait_for_timeout(100)


def check_width(page: Page) -> None:
    """Wait until nothing of the page is wider than the window."""
    wait_until_none(
        page,
        """() => {
          const width = document.querySelector('.stMain').scrollWidth;
          return width > innerWidth ? [`the page: ${width} > ${innerWidth}`] : [];
        }""",
    )


def open_page(page: Page, name: str) -> None:
    """Go to another page by its name in the bar above the page, on a wide screen."""
    groups = page.locator("#enc-groups > li")
    link = page.locator(f"a:has(> b:text-is('{name}')), .enc-parts a:text-is('{name}')")  # of a page, or of its part
    group = groups.filter(has=link)
    if group.count():
        group.locator("> button").click()
        group.locator(link).click()
    else:  # the only page of its group has the group's name
        groups.get_by_role("link", name=name, exact=True).click()
