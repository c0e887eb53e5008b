"""The values of the page “Heads” in the address."""

from encoder.checkpoints import BUNDLED
from encoder.maps.aggregate import PAIRS
from encoder.measure.head_definitions import BY_NAME, own
from encoder.views.lines import MOST_HEADS
from encoder.views.options import COMPARED, HEAD_VIEWS, NORMS_MOVED, OTHER_SENTENCE
from pages.core.corpora.atlases import AtlasParams as AtlasParams  # registered before the first run
from pages.state import Head, Param, choice, flag, heads, number, span, state, string, whole_number

#: The title of the view "text": the input itself.
INPUTS = {"text": "Text", "page": "Page", "tree": "Nodes", "image": "Image", "video": "Video", "sound": "Sound"}
OVERLAYS = {"attention": "Attention", "weighted": "Norm-weighted", "rollout": "Rollout", "occlusion": "Occlusion"}
AVERAGES = ("none", "heads", "layers", "both")
MOST_PINS = 4
MOST_OVERLAID = MOST_HEADS

#: Models to compare with the open one.
MODELS = {
    "moved": NORMS_MOVED,
    **{name: one.label for name, one in BUNDLED.items()},
    "scratch": "Untrained",
    "other": "Folder or Hub id",
}


@state.register
class Params:
    """The view of the open head, and the grid of all heads."""

    # Unset: the map of a text; a page, an image, a video or a sound itself.
    view: Param[str] = choice("", ("", *HEAD_VIEWS), shown="Map")
    words: Param[bool] = flag()
    between: Param[str] = choice("all", PAIRS)
    average: Param[str] = choice("none", AVERAGES)
    # Lines: heads over the open one, and the smallest weight with a line.
    overlay: Param[list[Head]] = heads(MOST_OVERLAID)
    minimum: Param[float] = number(0.0, 0.0, 1.0, url="least")
    # Text: what the selected tokens attend to, or which tokens attend to them.
    direction: Param[str] = choice("to", ("to", "from"))
    # Image: the weights over it, and the opacity of their colours.
    over_image: Param[str] = choice("attention", OVERLAYS, url="over_image")
    opacity: Param[float] = number(0.65, 0.0, 1.0, url="over_image_opacity")
    # Pinned heads; the measure that colours, sorts and filters the grid.
    pins: Param[list[Head]] = heads(MOST_PINS)
    measure: Param[str] = choice("", ("", *BY_NAME))
    # The word that the heads are ordered by; the measure, if there is one, has priority.
    word: Param[int | None] = whole_number(None)
    sort: Param[str] = choice("place", ("place", "falling", "rising"))
    keep: Param[tuple[float, float] | None] = span()
    badges: Param[bool] = flag(True)


@state.register
class SideB:
    """Side B; side A is the view itself."""

    what: Param[str] = choice("heads", COMPARED, url="compare")
    # Unset: the page chooses, the next head or the same head of the other model.
    layer_b: Param[int | None] = whole_number(None)
    head_b: Param[int | None] = whole_number(None)
    text_b: Param[str] = string(OTHER_SENTENCE)
    # The name of an image or a sound; "": the page chooses.
    input_b: Param[str] = string()
    model_b: Param[str] = choice("moved", MODELS)
    source_b: Param[str] = string()
    # A selected token that only side B has.
    i_b: Param[int | None] = whole_number(None)
    j_b: Param[int | None] = whole_number(None)


#: What the page shows of all heads: a small map of each, with one head large; or numbers about all of them.
PARTS = {
    "": "Small maps",
    "roles": "By type",
    "table": "All measures",
    "align": "Alignment",
    "corpus": "Over a corpus",
}
#: Part -> the question that its picture answers, but for the small maps.
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
class AllHeads:
    """What is shown of all heads, and its options."""

    part: Param[str] = choice("", PARTS, url="all_heads", shown="Small maps")
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
