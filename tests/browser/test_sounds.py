"""A sound in a real Chromium: a time is clicked, a head is opened, and the fake microphone is recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import check_width, wait_for_query

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow("records a sound")]


def test_a_time_is_clicked_and_a_sound_recorded(visit: Callable[..., Page]) -> None:
    page = visit("/heads?model=spoken-digits&sound=seven", width=1366, height=768, permissions=["microphone"])
    picture = page.locator(".st-key-sound-picture .js-plotly-plot")
    box = picture.bounding_box()
    assert box is not None
    # The second third of the spectrogram, above its middle.
    picture.click(position={"x": box["width"] * 0.36, "y": box["height"] * 0.45})
    expect(page.get_by_text(re.compile(r"\. 0\.\d\d-0\.\d\d s b\d attends most to "))).to_be_in_viewport()
    expect(picture).to_be_in_viewport(ratio=0.9)
    expect(page.get_by_text(re.compile("^Play 0"))).not_to_have_count(0)
    check_width(page)
    page.get_by_role("radio", name="Record", exact=True).click()
    button = page.get_by_test_id("stAudioInputActionButton")
    button.click()
    page.wait_for_timeout(1200)
    button.click()
    page.wait_for_url(re.compile("sound=own-"))
    expect(page.get_by_text(re.compile(r"^Class: "))).to_be_visible()
    wait_for_query(page, sound_from="record")
