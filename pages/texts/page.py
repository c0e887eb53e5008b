"""Texts: a query among your texts, and why each one has its score; or a word among the words of a corpus."""

from pages.core.frame.frame import heading, show
from pages.core.view import View
from pages.core.words import about
from pages.state import links, state
from pages.texts import ranked, tokens
from pages.texts.params import KINDS, Params


def main(view: View) -> None:
    with heading(about.text(__file__, "How a score is explained")):
        kind = "texts"
        if view.loaded.takes == "text":
            kind = state.segmented(Params.kind, "Search for", KINDS, label_visibility="collapsed")
    (tokens if kind == "words" else ranked).show(view)
    links.next_page("diagnose", "Does your own program give the same vectors?")


show(main)
