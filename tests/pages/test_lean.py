"""What Streamlit is spared still says what Streamlit says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests

from pages.core import lean


@pytest.mark.parametrize("ask", [ScriptRequests.request_stop, lambda requests: requests.request_rerun(RerunData())])
def test_a_run_that_is_asked_to_end_asks_what_for(ask):
    heard = []
    check = lean._asked_seldom(heard.append)
    run = SimpleNamespace(_requests=ScriptRequests())
    check(run)
    assert not heard
    ask(run._requests)
    check(run)
    assert heard == [run]
    assert run._requests.on_scriptrunner_yield() is not None
