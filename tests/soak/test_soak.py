"""Some seconds of `make soak`: seven visitors of all kinds, and a process that is killed under them."""

from __future__ import annotations

import asyncio

import pytest

from tests import ensure_servers
from tests.soak.__main__ import run
from tests.soak.people import FIRST
from tests.soak.served import serve
from tests.soak.soak import Soak


@pytest.mark.skipif(
    ensure_servers.find() is None or ensure_servers.find(ensure_servers.FRONTS) is None,
    reason="no nginx or no Redis; `python -m tests.ensure_servers` installs them",
)
def test_nothing_is_lost_when_a_process_ends() -> None:
    async def some_seconds() -> Soak:
        soak = Soak(served, len(FIRST), seconds=5.0, thinking=0.5)
        await run(soak, every=3.0)
        return soak

    with serve(2) as served:
        soak = asyncio.run(some_seconds())
        assert "Traceback" not in served.server.log()
    assert not soak.lost
    assert soak.kills
    assert soak.memory
    assert len(soak.waits["opens a page"]) == len(FIRST)
    assert len(soak.members) == 1


def test_what_is_lost_late_or_larger_is_a_fault() -> None:
    soak = Soak.__new__(Soak)  # without a server
    soak.lost, soak.memory, soak.silences = [], [100] * 6 + [105] * 4, {"a head": 0.1}
    assert not soak.faults()
    soak.lose("a text")
    soak.silences["a head"] = 5.1
    soak.memory[-2:] = [111, 111]
    assert len(soak.faults()) == 3
