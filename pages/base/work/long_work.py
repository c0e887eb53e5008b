"""Work that takes seconds or minutes: with progress and a Cancel button, a part at a time.

Each part takes a forward slot of its own, so the forward passes of other visitors run between two parts. A click
elsewhere on the page interrupts the script, not the work: the next run of the page goes on where this one was.
"""

import threading
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st

from pages.base.work.compute_turns import TURNS

V = TypeVar("V")
#: Yields (share that is done, sentence) after each part, and returns the result.
Work = Generator[tuple[float, str], None, V]
#: While Cancel is there, which keeps what is done, Streamlit's own “Stop” is not.
ONE_CANCEL = '<style>[data-testid="stStatusWidget"] { display: none !important; }</style>'


@dataclass
class _Job:
    """What this session works on under one key.

    After a click, Streamlit starts the next run before the last one has ended: parts take turns by `lock`, and an
    outcome stays here until a run has used it.
    """

    what: Hashable
    work: Work[Any] | None
    value: Any = None
    error: Exception | None = None
    ended: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def part(self, work: Work[Any], say: Callable[[str], None] | None = None) -> tuple[float, str] | None:
        """Do one part of `work`; None if it has ended, or was cancelled meanwhile. say: gets its place in the queue."""
        with self.lock, TURNS.turn(long=True, ends=False, say=say):
            if self.ended or self.work is not work:
                return None
            try:
                return next(work)
            except StopIteration as end:
                self.value, self.ended = end.value, True
            except Exception as error:
                self.error, self.ended = error, True
            return None

    def cancel(self) -> None:
        """End the work after its current part."""
        with self.lock:
            if self.work is not None:
                self.work.close()
            self.work = None


def result(key: str, what: Hashable, make: Callable[[], Work[V]], *, label: str = "", ask: str = "") -> V | None:
    """Draw the progress of some work and return its result; None while it waits for a click.

    key: of the widgets, and of the work: other work under the same key ends this one. what: names the work and every
    option that changes its result. ask: a sentence that makes the work wait for a click on `label`, the button's text;
    without it, the work starts by itself. An error of the work is raised here.
    """
    name = f"long:{key}"
    job: _Job | None = st.session_state.get(name)
    if job is None or job.what != what:
        if job is not None:
            job.cancel()
        job = _Job(what, None if ask else make())
        st.session_state[name] = job
    if job.work is None:
        _waiting(job, make, ask or "Cancelled before the end.", label or "Run again", key)
        return None
    _running(job, job.work, key)
    if not job.ended:  # cancelled by a run that began meanwhile, which needs the job to know it
        return None
    st.session_state.pop(name, None)
    if job.error is not None:
        raise job.error
    return job.value


def _waiting(job: _Job, make: Callable[[], Work[Any]], sentence: str, label: str, key: str) -> None:
    def begin() -> None:
        job.work = make()

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(sentence, width="content")
        st.button(label, icon=":material/play_arrow:", key=f"{key}:begin", on_click=begin)


def _running(job: _Job, work: Work[Any], key: str) -> None:
    """Work until the end. After a click Streamlit's own exception leaves `progress`, between two parts."""
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        # First in its row: Streamlit still shows what the last run drew there, and removes it when another button gets
        # the focus. A button that moves meanwhile gets no click.
        st.button("Cancel", icon=":material/stop:", key=f"{key}:cancel", on_click=job.cancel)
        bar = st.progress(0.0, "Starting …")
        st.html(ONE_CANCEL)
    shown = (0.0, "Starting …")

    def say(place: str) -> None:
        bar.progress(shown[0], f"{shown[1]}  \n{place}")

    while (moment := job.part(work, say)) is not None:
        shown = (min(max(moment[0], 0.0), 1.0), moment[1])
        bar.progress(*shown)
    place.empty()
