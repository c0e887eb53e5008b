"""Search: texts by the vector of a sentence, words by the vector of a token."""

from pages.core.frame.frame import current_view, heading
from pages.search import of_texts, words
from pages.search.params import KINDS, Params
from pages.state import links, state

with heading():
    kind = state.segmented(Params.kind, "Search for", KINDS, label_visibility="collapsed")
(words if kind == "words" else of_texts).show(current_view())
links.next_page("similarity", "Sentence similarity, which words a cosine comes from")
