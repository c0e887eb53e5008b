"""Long work under AppTest: it goes on after an interruption, ends when cancelled, and begins again by a click."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from pages.base.work import long_work
from tests.pages.apps import press


def interrupted() -> None:
    """A page whose work is interrupted once, as by a click between two parts."""
    import streamlit as st

    from pages.base.work import long_work

    def work() -> long_work.Work[int]:
        for part in range(4):
            st.session_state.setdefault("parts", []).append(part)
            yield part / 4, "Counting …"
            if part == 1 and "clicked" not in st.session_state:
                st.session_state["clicked"] = True
                st.session_state["interrupt"] = True
        return 42

    bar = st.progress

    def progress(*arguments):
        if st.session_state.pop("interrupt", False):
            st.rerun()
        if st.session_state.pop("cancel", False):
            st.session_state["long:count"].cancel()
        return bar(*arguments)

    st.progress = progress
    try:
        ask = "This takes long." if st.session_state.get("ask") else ""
        found = long_work.result("count", st.session_state.get("what", 1), work, label="Count", ask=ask)
    finally:
        st.progress = bar
    st.write(f"found {found}")


def test_work_goes_on_after_an_interruption_and_waits_where_it_asks():
    app = AppTest.from_function(interrupted).run()
    assert not app.exception
    assert app.session_state["parts"] == [0, 1, 2, 3], "no part is computed twice"
    assert app.markdown[-1].value == "found 42"
    app.session_state["what"], app.session_state["ask"] = 2, True
    app.run()
    assert app.markdown[-1].value == "found None"
    press(app, "Count")
    assert app.markdown[-1].value == "found 42"


def test_work_that_another_run_cancelled_does_not_begin_again():
    app = AppTest.from_function(interrupted)
    app.session_state["cancel"] = True
    for _ in range(2):
        app.run()
        assert not app.exception
        assert app.markdown[-1].value == "found None"
    assert "Cancelled" in app.markdown[0].value
    press(app, "Count")
    assert app.markdown[-1].value == "found 42"


def test_two_runs_never_do_a_part_at_once_and_an_outcome_is_kept():
    def work() -> long_work.Work[str]:
        yield 0.5, "half"
        return "whole"

    steps = work()
    job = long_work._Job("any", steps)
    assert job.part(steps) == (0.5, "half")
    assert job.part(steps) is None  # the end, in a run that a click stops before it can return
    assert job.part(steps) is None
    assert (job.value, job.error) == ("whole", None)
    steps = work()
    cancelled = long_work._Job("any", steps)
    cancelled.part(steps)
    cancelled.cancel()
    assert cancelled.part(steps) is None
    assert not cancelled.ended
