"""The values of the page “Search” in the address. The texts are the reader's own and stay out of it."""

from pages.state import Param, choice, flag, number, state, string, whole_number

KINDS = {"texts": "Texts", "words": "Words"}
SOURCES = {"lines": "Lines", "wordnet": "WordNet’s examples", "file": "A file", "saved": "A saved collection"}


@state.register
class Params:
    """What is searched, where texts come from, the query ("": the reader's sentence)."""

    kind: Param[str] = choice("texts", KINDS, url="search_for")
    source: Param[str] = choice("lines", SOURCES, url="search_in")
    query: Param[str] = string(url="query")


#: What a token of the corpus attends to, in the open head.
TARGETS = {
    "any": "anything", "previous": "the token before it", "self": "itself", "next": "the token after it",
    "cls": "the opening token", "sep": "separators",
}  # fmt: skip


@state.register
class TokenParams:
    """The layer of the vectors (None: the last one of the atlas), the filter by a head, other words only."""

    at: Param[int | None] = whole_number(None, url="token_layer")
    target: Param[str] = choice("any", TARGETS, url="token_target")
    least: Param[float] = number(0.5, 0.0, 1.0, url="token_least")
    others: Param[bool] = flag(url="token_others")
