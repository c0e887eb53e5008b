"""Search: texts by the vector of a sentence, words by the vector of a token."""

from pages.core.frame.frame import heading, show
from pages.core.view import View
from pages.search import of_texts, words
from pages.search.params import KINDS, Params
from pages.state import links, state


def main(view: View) -> None:
    with heading():
        kind = state.segmented(Params.kind, "Search for", KINDS, label_visibility="collapsed")
    (words if kind == "words" else of_texts).show(view)
    links.next_page("similarity", "Sentence similarity, which words a cosine comes from")


show(main)
