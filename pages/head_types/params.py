"""The values of the page “Head types” in the address."""

from encoder.measure.head_definitions import BY_NAME, own
from pages.core.corpora.atlases import AtlasParams as AtlasParams  # registered before the first run
from pages.state import Head, Param, choice, heads, state, string

PARTS = {
    "roles": "By type",
    "table": "All measures",
    "align": "Alignment",
    "corpus": "Over a corpus",
}
#: Part -> the question that its picture answers.
QUESTIONS = {
    "roles": "Which heads have one clear pattern in this {input}?",
    "table": "What are the numbers of every head in this {input}?",
    "align": "Which heads find the pairs of tokens that you specify?",
    "corpus": "What does each head do on average over thousands of sentences?",
}
#: Columns of the table: each group fits a projector of 1280 pixels next to the selected head.
COLUMNS = {"spread": "Spread", "position": "Positions", "tokens": "Tokens"} | ({"own": "Your own"} if own() else {})
#: Over a corpus: name -> title of a measure, and the parts of the card of the open head.
ATLAS_MEASURES = {one.name: one.title for one in BY_NAME.values()}
CARD = {"texts": "Examples", "offsets": "Offsets", "spread": "Spread", "labels": "Labels", "similar": "Similar"}
#: As docs/alignment.csv: for the first sentence of the app.
EXAMPLE_PAIRS = "it,animal\nwas,animal\ntired,animal\ntoo,tired\ncross,animal\nstreet,cross"


@state.register
class Params:
    """The open part, and its options."""

    part: Param[str] = choice("roles", PARTS, url="find")
    # The queries that count: those of all real tokens, or without special tokens.
    queries: Param[str] = choice("all", ("all", "content"))
    columns: Param[str] = choice("spread", COLUMNS)
    # Pairs of tokens, as CSV.
    alignment: Param[str] = string(EXAMPLE_PAIRS)


@state.register
class AtlasView:
    """The measure, and the open part of the head's card."""

    measure: Param[str] = choice("previous", ATLAS_MEASURES, url="atlas_measure")
    card: Param[str] = choice("texts", CARD, url="atlas_card")
    label: Param[str] = string(url="atlas_label", public="a label of the atlas, chosen from a list")
    # The open head of an atlas of another model than the reader's.
    foreign: Param[list[Head]] = heads(1, url="atlas_head")
