"""What the browser gets of each drawing next to its arrays: the header of a block (`wire`), which JavaScript reads.

JavaScript is checked against these types: `python -m tests.javascript_types` writes them as TypeScript.
"""

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypedDict

#: A river of the model's picture: of the encoder, or of its decoder.
Side = Literal["encoder", "decoder"]
#: What a click on a row of an open part selects; "": nothing.
RowPlace = Literal["", "component", "key", "neuron", "head", "query", "source"]
#: A token, or a class, and its probability.
Share = tuple[str, float]
#: Label, number, what it is made of, the component, token or neuron that it belongs to (-1: none), what a click
#: selects.
PartRow = tuple[str, float, str, int, RowPlace]
#: Name, number, recomputed number, largest difference, whether they agree, how many numbers were compared.
PartCheck = tuple[str, float, float, float, bool, int]


class FigureHeader(TypedDict):
    """A Plotly figure of one map."""

    #: `data` and `layout`.
    figure: Any
    #: Of a downloaded picture.
    name: str
    #: A sentence for screen readers.
    alt: str
    #: Token positions of the rows and of the columns, which a click selects.
    places: Sequence[Sequence[int]]
    #: Pixels.
    height: int


class LinesHeader(TypedDict):
    """Attention as lines between R queries and C keys, of N heads."""

    tokens: list[str]
    #: None: the same tokens.
    keyTokens: list[str] | None
    #: Of queries and of keys: position -> name, where it is not the label.
    names: list[dict[int, str]]
    #: N names of heads, and their colours.
    labels: list[str]
    colours: Sequence[str]
    #: Selected rows and columns.
    queries: list[int]
    keys: list[int]
    #: The smallest weight of a line.
    threshold: float
    name: str
    alt: str


class TextHeader(TypedDict):
    """A text of U units, shaded by weights."""

    #: Pieces of text with the unit of each, -1: none.
    paragraphs: list[list[tuple[str, int]]]
    labels: list[str]
    #: Units.
    selected: list[int]
    special: list[int]
    #: "to": the shaded units are keys; "from": queries.
    direction: Literal["to", "from"]
    scaleToMax: bool
    log: bool
    name: str
    alt: str


class StoredArrays(TypedDict):
    """The label of arrays that come by themselves, once (pages/components/store.py)."""

    name: str
    digest: str


class GridHeader(TypedDict):
    """All heads as small maps, L layers down and H heads across."""

    #: Numbers of the rows and of the columns.
    layers: list[int]
    heads: list[int]
    #: Layer and head with the outline, and those with a pin.
    selected: list[int] | None
    pinned: list[list[int]]
    #: "L0H3" -> a word or two.
    badges: dict[str, str]
    #: A badge -> what it means, for the label of a head.
    badgeTitles: NotRequired[dict[str, str]]
    #: A badge -> its letter, on maps without room for words.
    badgeMarks: NotRequired[dict[str, str]]
    #: The share of a map's side at which the second sentence of a pair begins.
    divide: float | None
    #: The number of consecutive heads that share keys and values; 0: each has its own.
    sharing: int
    #: Row and column of each head to draw; None: all.
    order: list[list[int]] | None
    measureLabel: str
    #: The values of an empty and of a full bar.
    measureRange: list[float]
    name: str
    alt: str
    #: Where the maps are, if they are not in this block.
    maps: NotRequired[StoredArrays]
    #: The key of the container with the open head, which a click scrolls to.
    leadsTo: NotRequired[str | None]
    #: The newest event that the host knows of.
    heard: NotRequired[int]
    #: Another text than before: the old picture fades over the new one.
    shows: NotRequired[str | None]


class ModelSwitch(TypedDict):
    """A switch of the model's picture."""

    name: str
    label: str
    title: NotRequired[str]
    on: bool


class ModelSwitches(TypedDict):
    """Switches in the bar, and power buttons of the open layer."""

    bar: list[ModelSwitch]
    power: list[ModelSwitch]


class InputHeader(TypedDict):
    """The input as a whole, next to the rows of the model's picture."""

    kind: str
    #: The query whose weights colour it; None: a mean.
    of: int | None
    #: Of a text: its tokens, unless there are too many; of a video, all of them.
    labels: NotRequired[list[str]]
    #: Of an image, or of a video as a sheet of frames: its rows and columns of patches, their tokens row by row, its
    #: data, and whether it is drawn with smoothing; patches of a side of a frame, 0 for an image.
    rows: NotRequired[int]
    columns: NotRequired[int]
    patches: NotRequired[list[int]]
    tile: NotRequired[int]
    uri: NotRequired[str]
    smooth: NotRequired[bool]
    #: Of a sound: start, end and band of each token, and the seconds of all.
    spans: NotRequired[list[tuple[float, float, int | None] | None]]
    seconds: NotRequired[float]


class PairEnd(TypedDict):
    """The other input of a pair, and the cosine of the two vectors."""

    name: str
    cosine: float


class PartStrip(TypedDict):
    """A whole vector of an open part. array: its name; role: "q", "k", "v", "neuron" or ""."""

    name: str
    array: str
    role: str


class PartHeader(TypedDict):
    """One part for the selected tokens: `model_parts.Opened`."""

    title: str
    said: str
    value: float
    formulas: list[str]
    notation: str
    component: int | None
    #: Of strips with the role "neuron".
    neuron: int | None
    #: The number of a full bar; None: the largest of the rows; 0: no bars.
    full: float | None
    heading: str
    chosen: int | None
    rows: list[PartRow]
    checks: list[PartCheck]
    strips: list[PartStrip]


class PartsOf(TypedDict):
    """The tokens, by their positions, whose parts came with the picture."""

    query: int
    key: int
    source: int | None


class ModelHeader(TypedDict):
    """The whole model as one picture. Positions count in the whole input, `query` and `key` in the window."""

    # --- the window
    #: Names of its tokens.
    labels: list[str]
    #: Position of its first token, and the number of all tokens.
    first: int
    count: int
    #: The window that the host was asked for; None: it is around the query.
    asked: int | None
    #: Pixels of a token's row.
    row: int

    # --- what is selected
    layer: int
    head: int
    query: int | None
    key: int | None

    # --- the model
    layers: int
    heads: int
    sublayers: list[str]
    norm: Literal["pre", "post"]
    #: The parts that are a norm, and what the model's norms are called.
    norms: list[str]
    normName: str
    #: The kind of input: "text", "image" or "sound".
    takes: str
    #: The keys that a query of the open layer is compared with: "all", "earlier" or "near" ones.
    sees: str
    #: Names of the stages of the residual stream.
    stages: list[str]
    width: int
    neuronCount: int
    #: Of scores.
    scale: float
    pooling: str | None
    model: str
    name: str
    alt: str
    #: Tokens that the tokenizer added.
    special: list[str]
    input: InputHeader

    # --- what the model is for
    classes: list[Share]
    pair: PairEnd | None

    # --- the second river
    side: NotRequired[Side]
    decoder: NotRequired["ModelHeader"]
    isDecoder: NotRequired[bool]
    #: Tokens of the output that were given to the decoder.
    starts: NotRequired[int]
    #: The window of the input, its first position, and the number of all its tokens.
    inputLabels: NotRequired[list[str]]
    inputFirst: NotRequired[int]
    inputCount: NotRequired[int]
    #: Of each token: position, name and weight of the token of the input that it attends to most.
    strongest: NotRequired[list[tuple[int, str, float]]]
    #: The token that follows each one, and the most probable ones there.
    outputs: NotRequired[list[Share]]
    next: NotRequired[list[list[Share]]]

    # --- the open part
    part: NotRequired[str]
    parts: NotRequired[dict[str, PartHeader]]
    partsOf: NotRequired[PartsOf]
    #: Whether its numbers are checked, and why they are not although that was wanted.
    check: NotRequired[bool]
    checkSaid: NotRequired[str]
    #: What a reader may change in it.
    options: NotRequired[list[ModelSwitch]]

    # --- of the page
    switches: NotRequired[ModelSwitches]
    #: Heads of the open layer that are off.
    off: NotRequired[list[int]]
    #: What the edits do to the end of the picture: a sentence, and lines next to the vector.
    effect: NotRequired[str]
    ending: NotRequired[list[str]]
    #: The residual stream as curves.
    curves: NotRequired[bool]
