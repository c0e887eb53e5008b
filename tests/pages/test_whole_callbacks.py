"""An event that reached the server is heard, whatever the browser sends next."""

from __future__ import annotations

import threading

from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.safe_session_state import SafeSessionState

from pages.core import whole_callbacks


def stop() -> None:
    raise StopException


def test_a_run_that_has_to_end_hears_its_event_first_and_the_next_run_waits_for_it(monkeypatch) -> None:
    whole_callbacks.begin()
    began, may_go_on, order = threading.Event(), threading.Event(), []
    session = SessionState()
    first, second = SafeSessionState(session, stop), SafeSessionState(session, lambda: None)

    def call_back(self: SessionState, fresh: object, **options: object) -> None:
        if fresh == "click":
            began.set()
            assert may_go_on.wait(60)
            first["heard"] = 1  # would raise StopException
        order.append(fresh)

    monkeypatch.setattr(SessionState, "on_script_will_rerun", call_back)
    runs = [threading.Thread(target=first.on_script_will_rerun, args=("click",))]
    runs[0].start()
    assert began.wait(60)
    runs.append(threading.Thread(target=second.on_script_will_rerun, args=("zoom",)))
    runs[1].start()
    runs[1].join(0.2)
    may_go_on.set()
    for run in runs:
        run.join(60)
    assert order == ["click", "zoom"]
    assert session["heard"] == 1
    try:
        first["heard"] = 2
    except StopException:
        return
    raise AssertionError("after its callbacks, a run ends where it should")
