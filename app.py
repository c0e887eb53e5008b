"""The frame and the registry of pages: page settings, navigation, the last resort for errors; then the page itself.

The first paint needs Streamlit alone: the engine (torch) is imported after the frame is on the screen.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import nullcontext
from functools import partial

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.core.frame.navigation import ICON, Page, bar, kept_pages, nothing
from pages.core.server import first_paint
from pages.core.teaching.rooms import follow
from pages.state import links
from pages.state.former import FORMER, current

# Before torch is imported; pages/core/server/app_server.py says why.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


NO_HEAD, TEXT = ("text", "model"), ("text",)
#: Section -> its pages, two in each column of the bar: long names share one. The first page of all opens at "/".
SECTIONS = {
    "": [
        Page("start", "See what a transformer encoder does with your sentence", "home", "Begin here", "Start", uses=()),
    ],
    "Attention": [
        Page("heads", "Attention heads", "grid_view", "All heads of a model; one of them large", pads=True, maps=True,
             edits=True),
        Page("beyond_weights", "Beyond attention weights", "balance", "What else matters", "Beyond weights"),
        Page("head_types", "Head types", "travel_explore", "What each head does, by its pattern", edits=True),
        Page("ablation", "Ablation", "tune", "Switch off a head and see what it causes", edits=None),
        Page("head_atlas", "Head atlas", "public", "All heads over thousands of sentences", takes=TEXT,
             why="It measures heads over sentences."),
        Page("compare", "Compare", "difference", "Two heads, two inputs or two models"),
        Page("image_attention", "Image attention", "image", "What each patch of an image attends to", "Images",
             takes=("image",), edits=True),
        Page("sound_attention", "Sound attention", "graphic_eq", "What each part of a sound attends to", "Sounds",
             takes=("sound",), edits=True),
    ],
    "Inside the layer": [
        Page("qkv", "Queries, keys, values", "key", "The vectors behind an attention weight", "Q, K, V"),
        Page("positions", "Positions", "straighten", "How a model knows the order of its tokens"),
        Page("layernorm", "LayerNorm", "equalizer", "What each LayerNorm does to each token", uses=NO_HEAD,
             edits=True),
        Page("feed_forward", "Feed-forward", "hub", "The neurons of each layer", uses=("text", "model", "layer")),
        Page("patching", "Patching", "swap_horiz", "Which vector carries a difference", uses=NO_HEAD),
    ],
    "Pre- vs post-norm": [
        Page("pre_post", "Pre-norm vs post-norm", "compare", "Both placements side by side", "Pre- vs post-norm"),
        Page("training", "Train", "model_training", "Small encoders, trained in seconds", uses=()),
    ],
    "Use": [
        Page("predict", "Predict", "edit_square", "A masked word, a class, a caption", uses=NO_HEAD, edits=None,
             takes=("text", "image", "sound", "pair")),
        Page("similarity", "Sentence similarity", "join_inner", "Why two sentences are alike", "Similarity",
             uses=NO_HEAD, takes=TEXT, why="It compares two sentences."),
        Page("search", "Search", "search", "Texts by meaning, words by their use", uses=NO_HEAD, takes=TEXT,
             why="It searches texts and words."),
        Page("probes", "Probes", "network_node", "Which layer knows a label", uses=NO_HEAD, takes=TEXT,
             why="Its labels belong to words and sentences."),
    ],
    "Learn": [
        Page("lessons", "Lessons", "school", "Ten lessons: predict, compute, see why", uses=()),
        Page("classroom", "Classroom", "groups", "A room that follows the teacher", uses=()),
        Page("architecture", "Architecture", "account_tree", "The encoder as a diagram"),
        Page("forward_pass", "Forward pass, step by step", "calculate", "Every number, step by step", "Forward pass",
             takes=TEXT, why="Its first steps make tokens of a sentence."),
        Page("by_hand", "By hand: “The cat sat”", "edit_note", "One small layer, every number editable", "By hand",
             uses=()),
        Page("glossary", "Glossary", "menu_book", "The words of these pages, defined", uses=()),
    ],
}  # fmt: skip
ENTRIES = [entry for entries in SECTIONS.values() for entry in entries]


def pages() -> dict[str, list[StreamlitPage]]:
    """The pages by section; a former address is a hidden page of its own, and `main` opens the page that it means."""
    found = {
        section: [
            st.Page(
                entry.script,
                title=entry.name,
                icon=f":material/{entry.icon}:",
                url_path=entry.folder,
                default=entry is ENTRIES[0],
                help=entry.help,
            )
            for entry in entries
        ]
        for section, entries in SECTIONS.items()
    }
    found[""] += [st.Page(nothing, title=name, url_path=name, visibility="hidden") for name in FORMER]
    return found


def main() -> None:
    """Draw the frame, then run the page that the address names."""
    st.set_page_config(
        page_title="Encoderscope",
        page_icon=ICON,  # before the navigation: otherwise the browser asks another server for the page's icon
        layout="wide",
        initial_sidebar_state="auto",
        menu_items={"About": "**Encoderscope**: see what a transformer encoder does with a sentence."},
    )
    # Streamlit's own list shows in the sidebar of narrow screens; wide ones have a bar above the page.
    page = st.navigation(kept_pages(pages), position="sidebar", expanded=True)
    if page.url_path in FORMER:
        values = current({**st.query_params.to_dict(), "page": page.url_path})
        st.switch_page(f"pages/{values.pop('page')}/page.py", query_params=values)
    entry = next((entry for entry in ENTRIES if entry.folder == page.url_path), ENTRIES[0])
    follow.before(entry.folder)
    if (later := links.opened_later()) is not None:
        st.switch_page(f"pages/{later}/page.py")
    st.set_page_config(page_title=f"{entry.name} · Encoderscope")
    first_paint.draw()
    bar(SECTIONS, entry.folder, ENTRIES[0].folder, sidebar=bool(entry.uses))
    main_area, in_room = st.container(), None
    try:
        # The spinner starts a thread, so it is left out where nothing is waited for.
        is_there = "pages.core.frame.frame" in sys.modules
        with main_area, nullcontext() if is_there else st.spinner("Starting the engine …", show_time=False):
            from pages.core.frame import frame

            frame.import_params()
        from pages.classroom.in_room import InRoom
        from pages.lessons.beside import beside

        links.TITLES.update({entry.folder: entry.name for entry in ENTRIES})
        in_room = InRoom(entry.folder, main_area)
        if entry is ENTRIES[0] and frame.is_former_home():
            st.switch_page(ENTRIES[1].script, query_params=st.query_params.to_dict())
        home = entry is ENTRIES[0]
        frame.run(page, main_area, entry, home=home, beside=partial(in_room.beside, beside))
    except Exception as error:  # the last resort: whatever it is, the visitor reads a sentence
        _say(error, entry.folder)
    if in_room is not None:
        in_room.after()


def _say(error: Exception, page: str) -> None:
    from encoder.errors import EncoderError, is_out_of_memory
    from pages.core.words.markdown import say_error

    if is_out_of_memory(error):
        from pages.core.stores import cache

        cache.forget_traces()
        sentence = (
            "The machine ran out of memory. Results of earlier sentences were deleted to free some. "
            "Use a shorter text or a smaller model, or choose another device or bfloat16 in the sidebar."
        )
    elif isinstance(error, EncoderError):
        say_error(error)
        return
    else:
        logging.getLogger("encoderscope").exception("The page %s failed", page)
        sentence = "Something went wrong on this page. Your text is safe; try another page or model."
    st.error(sentence, icon=":material/error:")


main()
