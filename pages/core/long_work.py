"""Work that takes seconds or minutes: with progress and a Cancel button, a part at a time.

Each part takes a forward slot of its own, so the forward passes of other visitors run between two parts. A click
elsewhere on the page interrupts the script, not the work: the next run of the page goes on where this one was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from pages.core import cache

V = TypeVar("V")
#: Yields (share that is done, sentence) after each part, and returns the result.
Work = Generator[tuple[float, str], None, V]


@dataclass
class _Job:
    """What this session works on under one key, and whether it was cancelled."""

    what: Hashable
    work: Work[Any] | None


def result(key: str, what: Hashable, make: Callable[[], Work[V]], *, label: str = "", ask: str = "") -> V | None:
    """Draw the progress of some work and return its result; None while it waits for a click.

    key: of the widgets, and of the work: other work under the same key ends this one. what: names the work and every
    option that changes its result. ask: a sentence that makes the work wait for a click on `label`, the button's text;
    without it, the work starts by itself. An error of the work is raised here.
    """
    name = f"long:{key}"
    job: _Job | None = st.session_state.get(name)
    if job is None or job.what != what:
        _close(job)
        job = _Job(what, None if ask else make())
        st.session_state[name] = job
    if job.work is None:
        _waiting(name, make, ask or "Cancelled before the end.", label or "Run again", key)
        return None
    return _running(name, job.work, key)


def _waiting(name: str, make: Callable[[], Work[Any]], sentence: str, label: str, key: str) -> None:
    def begin() -> None:
        st.session_state[name].work = make()

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(sentence, width="content")
        st.button(label, icon=":material/play_arrow:", key=f"{key}:begin", on_click=begin)


def _running(name: str, work: Work[V], key: str) -> V:
    """Work until the end. A click raises Streamlit's own exception in `progress`, between two parts."""

    def cancel() -> None:
        job = st.session_state.get(name)
        _close(job)
        if job is not None:
            job.work = None

    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, "Starting …")
        st.button("Cancel", icon=":material/stop:", key=f"{key}:cancel", on_click=cancel)
    try:
        while True:
            with cache.FORWARD_SLOTS:
                share, sentence = next(work)
            bar.progress(min(max(share, 0.0), 1.0), sentence)
    except StopIteration as end:
        st.session_state.pop(name, None)
        place.empty()
        value: V = end.value
        return value
    except Exception:
        st.session_state.pop(name, None)
        place.empty()
        raise


def _close(job: _Job | None) -> None:
    if job is not None and job.work is not None:
        job.work.close()
