"""The frame and the registry of pages: page settings, navigation, the last resort for errors; then the page itself.

The first paint needs Streamlit only: the engine (torch) is imported after the frame is on the screen.
"""

import os
import sys
from contextlib import nullcontext

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.core.frame import failures
from pages.core.frame.companions import Visits, companions
from pages.core.frame.navigation import AT_THE_ROOT, ICON, Page, bar, kept_pages, nothing
from pages.state import links
from pages.state.former import FORMER, current, is_former
from pages.state.url_state import HOME, answer_move

# Before torch is imported; pages/core/server/app_server.py says why.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


NO_HEAD, TEXT = ("text", "model"), ("text",)
#: Of pages that need attention maps only, which a file may have.
WITH_MAPS = ("text", "image", "video", "sound", "maps")
#: Group -> its pages, as the bar shows them. The first page of all opens at "/".
SECTIONS = {
    "Model": [
        Page("model", "Model", "home", "What does a transformer encoder do with your sentence?", uses=NO_HEAD,
             own_controls=True, edits=None, measured=""),
    ],
    "Attention": [
        Page("heads", "Heads", "grid_view", "Which tokens does each head attend to?", pads=True, maps=True,
             edits=True, takes=(*WITH_MAPS, "cross"), measured="attention"),
        Page("contribution", "Contribution", "balance",
             "Which parts of the model make a token's output vector what it is?", uses=NO_HEAD),
    ],
    "Layer": [
        Page("positions", "Positions", "straighten", "How does the model know the order of its tokens?",
             uses=NO_HEAD),
        Page("feed_forward", "Feed-forward", "hub", "Which neurons does each token activate?",
             uses=("text", "model", "layer")),
    ],
    "Interventions": [
        Page("interventions", "Interventions", "tune", "What changes if you switch off a head, or replace a vector?",
             uses=NO_HEAD, edits=None),
    ],
    "Pre/post-norm": [
        Page("pre_post", "Pre/post-norm", "compare", "What changes if the norms move?", uses=NO_HEAD,
             as_trained=True),
        Page("norms", "Norms", "equalizer", "What does each LayerNorm do to each token?", uses=NO_HEAD, edits=True,
             part_of="pre_post"),
        Page("training", "Train", "model_training", "From which step is the task solved?", uses=()),
    ],
    "Use": [
        Page("predict", "Predict", "edit_square", "Which word, class or caption fits?", uses=NO_HEAD, layers=False,
             edits=None, takes=(*WITH_MAPS[:4], "pair"), as_trained=True),
        Page("texts", "Texts", "join_inner", "Which texts answer a query, and why were others not found?",
             uses=("model",), layers=False, takes=WITH_MAPS[:4], why="It compares inputs.", measured=""),
        Page("diagnose", "Diagnose", "difference", "Which fault gives exactly the vectors of your other program?",
             uses=("model",), as_trained=True, takes=("text", "image", "sound"),
             why="It compares vectors of texts, images or sounds."),
        Page("probes", "Probes", "network_node", "Which layer’s vectors tell a part of speech?",
             uses=("model",), takes=TEXT, why="Its labels belong to words and sentences.", in_bar=False,
             measured=""),
    ],
    "Learn": [
        Page("lessons", "Lessons", "school", "With which lesson do you begin?", uses=()),
        Page("classroom", "Classroom", "groups", "How do you teach a class with these pages?", uses=(),
             part_of="lessons"),
        Page("by_hand", "By hand", "edit_note", "Can you compute one small layer yourself?", uses=(),
             part_of="lessons"),
        Page("glossary", "Glossary", "menu_book", "What do the words of these pages mean?", uses=(), in_bar=False),
    ],
}  # fmt: skip
ENTRIES = [entry for entries in SECTIONS.values() for entry in entries]


def pages() -> dict[str, list[StreamlitPage]]:
    """The pages by section; a former address is a hidden page of its own, and `main` opens the page that it means.

    So is the first page's own name, since Streamlit shows that page at "/" only.
    """
    found = {
        section: [
            st.Page(
                entry.script,
                title=entry.name,
                icon=f":material/{entry.icon}:",
                url_path=AT_THE_ROOT if entry is ENTRIES[0] else entry.folder,
                default=entry is ENTRIES[0],
                help=entry.help,
            )
            for entry in entries
        ]
        for section, entries in SECTIONS.items()
    }
    others = [*FORMER, ENTRIES[0].folder]
    found[next(iter(SECTIONS))] += [st.Page(nothing, title=name, url_path=name, visibility="hidden") for name in others]
    return found


def main() -> None:
    """Draw the frame, then run the page that the address names."""
    answer_move()
    st.set_page_config(
        page_title="Encoderscope",
        page_icon=ICON,  # before the navigation: otherwise the browser asks another server for the page's icon
        layout="wide",
        initial_sidebar_state="collapsed",
        menu_items={"About": "**Encoderscope**: see what a transformer encoder does with a sentence."},
    )
    # Streamlit's own list is hidden: the bar presses its links.
    page = st.navigation(kept_pages(pages), position="sidebar", expanded=True)
    if page.url_path == ENTRIES[0].folder or is_former(page.url_path, st.query_params):
        values = current({**st.query_params.to_dict(), "page": page.url_path or ENTRIES[0].folder})
        folder = values.pop("page")
        if folder == ENTRIES[0].folder:  # at "/", a view without this mark would belong to another page
            values[HOME] = "1"
        st.switch_page(f"pages/{folder}/page.py", query_params=values)
    entry = next((entry for entry in ENTRIES if entry.folder == page.url_path), ENTRIES[0])
    for companion in companions():
        companion.before(entry.folder)
    if (later := links.opened_later()) is not None:
        st.switch_page(f"pages/{later}/page.py")
    st.set_page_config(page_title=f"{entry.name} · Encoderscope")
    links.TITLES.update({entry.folder: entry.name for entry in ENTRIES})
    bar(SECTIONS, entry.folder, ENTRIES[0].folder)
    main_area, visits = st.container(), None
    try:
        # The spinner starts a thread, so it is left out where nothing is waited for.
        is_there = "pages.core.frame.frame" in sys.modules
        with main_area, nullcontext() if is_there else st.spinner("Starting the engine …", show_time=False):
            from pages.core.frame import frame

            frame.import_params()
            from pages.core.frame import finding

            finding.draw(SECTIONS, entry.folder)
        visits = Visits(entry.folder, main_area)
        if entry is ENTRIES[0] and frame.is_former_home():
            st.switch_page("pages/heads/page.py", query_params=st.query_params.to_dict())
        frame.run(page, main_area, entry, visits, home=entry is ENTRIES[0])
    except Exception as error:  # the last resort: whatever it is, the visitor reads a sentence
        failures.say(error, entry.folder)
    if visits is not None:
        visits.after()


if __name__ == "__main__":  # Streamlit runs this file for a visitor
    main()
else:  # `streamlit run app.py` imports it once, to serve it
    from pages.core.server.app_server import AROUND

    app = st.App(__file__, **AROUND)
