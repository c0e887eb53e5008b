"""The frame: page settings, navigation, the sidebar's shared controls; then the page itself.

The first paint needs Streamlit alone: the engine (torch) is imported after the frame is on the screen.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

HERE = Path(__file__).parent
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported; why, says pages/shared/serve.py

st.set_page_config(
    page_title="Encoderscope",
    page_icon=str(HERE / "pages/shared/icon.png"),  # a Material icon would be fetched from another server
    layout="wide",
    initial_sidebar_state="auto",
    menu_items={"About": "**Encoderscope**: see what a transformer encoder does with a sentence."},
)

PAGES = {
    "Look": [
        ("heads", "Heads", ":material/grid_view:"),
        ("find", "Find heads", ":material/travel_explore:"),
        ("beyond", "Beyond the weight", ":material/balance:"),
        ("qkv", "Queries, keys, values", ":material/key:"),
        ("positions", "Positions", ":material/straighten:"),
        ("norms", "LayerNorm", ":material/equalizer:"),
        ("predict", "Fill the blank", ":material/edit_square:"),
    ],
    "Change": [
        ("compare", "Compare", ":material/difference:"),
        ("prepost", "Pre / post, side by side", ":material/compare:"),
        ("gradients", "Gradients at initialisation", ":material/show_chart:"),
        ("training", "Train them yourself", ":material/model_training:"),
    ],
    "Learn": [
        ("anatomy", "Anatomy", ":material/account_tree:"),
        ("steps", "Step by step", ":material/calculate:"),
        ("worked_example", "Worked example", ":material/edit_note:"),
    ],
}


def pages() -> dict[str, list[StreamlitPage]]:
    """The navigation: a section a folder of pages/, the first page of all is the one that opens."""
    first = next(iter(PAGES.values()))[0][0]
    return {
        section: [
            st.Page(f"pages/{section.lower()}/{name}.py", title=title, icon=icon, url_path=name, default=name == first)
            for name, title, icon in entries
        ]
        for section, entries in PAGES.items()
    }


def main() -> None:
    """Draw the frame, then run the page that the address names."""
    page = st.navigation(pages(), position="top")
    main_area = st.container()
    try:
        with main_area, st.spinner("Starting the engine …", show_time=False):
            from pages.shared import frame
        frame.run(page, main_area)
    except Exception as error:  # the last resort: whatever it is, the visitor reads a sentence
        _say(error, page.url_path or "heads")


def _say(error: Exception, page: str) -> None:
    from encoder.errors import EncoderError, is_out_of_memory

    if is_out_of_memory(error):
        from pages.shared import cached

        cached.forget_traces()
        sentence = (
            "This needs more memory than there is. What was kept from earlier sentences has been let go. "
            "Take a shorter text or a smaller model, or choose another device or bfloat16 in the sidebar."
        )
    elif isinstance(error, EncoderError):
        sentence = str(error)
    else:
        logging.getLogger("encoderscope").exception("The page %s failed", page)
        sentence = (
            "Something went wrong while this page was made. What you typed is kept: choose another page or model; "
            "the server's log says more."
        )
    st.error(sentence, icon=":material/error:")


main()
