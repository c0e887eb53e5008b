"""The values of the page “Texts” in the address. A collection is the reader's own: the address has its mark only."""

from pages.state import Param, choice, flag, number, state, string, whole_number

KINDS = {"texts": "Texts", "words": "A word"}
SOURCES = {"lines": "Lines", "wordnet": "WordNet’s examples", "file": "A file", "saved": "A saved collection"}
#: What is shown of the selected text, in the order of the questions.
PARTS = {
    "words": "Words", "pairs": "Pairs", "circuit": "Circuit", "two": "Two hits", "missed": "Why not found?",
    "hits": "All hits", "long": "Places", "map": "Map",
}  # fmt: skip


@state.register
class Params:
    """What is searched, where texts come from, the query ("": the reader's sentence), and what is shown of which text.

    similar_to: a text to compare with the query that is in no collection; place, against: of the selected text and of
    the one next to it, None: the first and the second hit; matches: places that the user marked, with commas;
    each_word: words also of texts whose parts are phrases otherwise; own: the mark of the visitor's own texts, "" for
    texts that everybody has.
    """

    kind: Param[str] = choice("texts", KINDS, url="search_for")
    source: Param[str] = choice("lines", SOURCES, url="search_in")
    query: Param[str] = string(url="query")
    similar_to: Param[str] = string(url="similar_to")
    part: Param[str] = choice("words", PARTS, url="explain")
    place: Param[int | None] = whole_number(None, url="text_place")
    against: Param[int | None] = whole_number(None, url="text_against")
    matches: Param[str] = string(url="text_matches")
    each_word: Param[bool] = flag(url="each_word")
    own: Param[str] = string(url="texts_own", public="a number and a digest of texts")


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
