"""Hints that name the gesture of the reader's screen: "Click" with a mouse, "Tap" on a touch screen.

Where nobody can touch the screen, as on a class's wall, such hints are hidden.
"""

import streamlit as st

# Private-use characters mark the two wordings, so that all other text of a hint can be escaped. Streamlit's Markdown
# has no classes without its parser of HTML, of 60 kB: two colours, by which gestures.css finds them, take their place.
_MARKS = {"\ue000": ":color[", "\ue001": ']{foreground="black"}:color[', "\ue002": ']{foreground="white"}'}


def either(mouse: str, finger: str) -> str:
    """Words for a mouse, and other words for a finger; for `caption`."""
    return f"\ue000{mouse}\ue001{finger}\ue002"


def invitation(text: str) -> str:
    """A sentence that asks for a gesture, for any Markdown."""
    return f':color[{text}]{{foreground="silver"}}'


CLICK, CLICK_INSIDE = either("Click", "Tap"), either("click", "tap")
SHIFT_CLICK = either("shift-click", "long press")
DOUBLE_CLICK = either("Double-click", "Double-tap")


def caption(text: str) -> None:
    """`st.caption` with the words for the reader's screen. HTML in the text is shown as text."""
    text = text.replace("<", "&lt;")
    for mark, tag in _MARKS.items():
        text = text.replace(mark, tag)
    st.caption(text)
