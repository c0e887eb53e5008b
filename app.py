"""The frame: page settings, navigation, the sidebar's shared controls; then the page itself.

The first paint needs Streamlit alone: the engine (torch) is imported after the frame is on the screen.
"""

from __future__ import annotations

import logging

import streamlit as st

st.set_page_config(
    page_title="Encoderscope",
    page_icon=":material/blur_on:",
    layout="wide",
    initial_sidebar_state="auto",
    menu_items={"About": "**Encoderscope**: see what a transformer encoder does with a sentence."},
)

PAGES = {
    "Look": [
        st.Page("pages/look/heads.py", title="Heads", icon=":material/grid_view:", url_path="heads", default=True),
        st.Page("pages/look/qkv.py", title="Queries, keys, values", icon=":material/key:", url_path="qkv"),
        st.Page("pages/look/positions.py", title="Positions", icon=":material/straighten:", url_path="positions"),
        st.Page("pages/look/norms.py", title="LayerNorm", icon=":material/equalizer:", url_path="layernorm"),
    ],
}


def main() -> None:
    """Draw the frame, then run the page that the address names."""
    page = st.navigation(PAGES)
    main_area = st.container()
    try:
        with main_area, st.spinner("Starting the engine …", show_time=False):
            from pages.shared import frame
        frame.run(page, main_area)
    except Exception as error:  # the last resort: whatever it is, the visitor reads a sentence
        from encoder.errors import EncoderError

        if not isinstance(error, EncoderError):
            logging.getLogger("encoderscope").exception("The page %s failed", page.url_path or "heads")
        st.error(
            str(error)
            if isinstance(error, EncoderError)
            else "Something went wrong while this page was made. What you typed is kept: choose another page or model; "
            "the server's log says more.",
            icon=":material/error:",
        )


main()
