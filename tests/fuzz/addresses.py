"""Addresses of all kinds: every page with random values, under Streamlit's AppTest."""

from __future__ import annotations

import logging
import random

from tests.conftest import ROOT
from tests.fuzz.checkpoints import Found
from tests.fuzz.texts import text_of
from tests.pages.apps import registered, visit
from tests.pages.test_foreign_text import HOSTILE, foreign, shown

PAGES = sorted(path.parent.name for path in ROOT.glob("pages/*/page.py"))
VALUES = ("", "0", "1", "2", "-1", "99999", "1e999", "nan", "abc", "0,1", "0.3..0.5", "L2H3", "a,b", "2.1,3.4",
          HOSTILE, "x" * 5_000)  # fmt: skip
#: Values that choose what is computed: random ones would mostly be refused.
LIKELY = {
    "model": ("minilm", "twin-pre", "twin-post", "scratch", "trained", "other"),
    "norm": ("trained", "pre", "post", "both"), "long": ("cut", "windows"),
}  # fmt: skip


class _Errors(logging.Handler):
    """Collects what the app writes to its log: a page that failed."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record) if record.exc_info else record.getMessage())


def case(seed: int) -> str:
    """One address. Returns what the page shows. Raises Found."""
    chance = random.Random(seed)
    names = list(registered())
    query = {}
    for name in chance.sample(names, chance.choice((1, 2, 4, 8))):
        if name in LIKELY:
            query[name] = chance.choice(LIKELY[name])
        else:
            typed = text_of(chance) if chance.random() < 0.3 else chance.choice(VALUES)
            query[name] = typed.encode("utf-8", "replace").decode()  # as a browser writes an address
    page = chance.choice(PAGES)
    what = f"case {seed} (/{page}?{ {name: value[:60] for name, value in query.items()} })"
    errors = _Errors()
    logger = logging.getLogger("encoderscope")
    logger.addHandler(errors)
    logger.propagate, before = False, logger.propagate
    try:
        app = visit(page, **query)
    except BaseException as error:
        raise Found(f"{what}: {type(error).__name__}: {error}") from error
    finally:
        logger.removeHandler(errors)
        logger.propagate = before
    if app.exception:
        raise Found(f"{what}: {app.exception[0].message}")
    if errors.said:
        raise Found(f"{what}: {errors.said[0][-600:]}")
    if bad := [text for one in shown(app) for text in foreign(one)]:
        raise Found(f"{what}: foreign markup: {bad[0][:200]}")
    return "an error box" if app.error else "a page"
