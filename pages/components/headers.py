"""What the browser gets of each component next to its arrays, as `encoder.drawing.headers` has it of the drawings."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from encoder.drawing.headers import StoredArrays
from pages.state.params import ZoomWindow


class PlotSelection(TypedDict):
    """Selected queries `i` and keys `j`."""

    i: list[int]
    j: list[int]


class NextHead(TypedDict):
    """How a plot draws another head by itself: by its maps, or by what a channel answers."""

    #: Key of the grid whose clicks choose the head, and the newest of them that this figure knows of.
    grid: str
    heard: int
    #: Key of the container whose heading names the head.
    named: str
    channel: NotRequired[str]
    maps: NotRequired[StoredArrays]
    #: The colours run to the largest weight, of all or of these rows and columns.
    scaleToMax: NotRequired[bool]
    words: NotRequired[list[list[int]] | None]
    #: The colours run to this weight at least.
    least: NotRequired[float]
    #: Plotly's colour scales of a map that ends at its largest weight, and of one that ends below it at `step` of its
    #: length.
    scales: NotRequired[list[Any]]
    step: NotRequired[float]


class Together(TypedDict):
    """Key of a container, and the name of its words that change with this figure."""

    key: str
    name: str


class FigureMessage(TypedDict):
    """A figure as JSON that points at arrays."""

    figure: Any
    selected: PlotSelection | None


class PlotHeader(FigureMessage):
    """A Plotly figure that answers to clicks, keys and zooms."""

    alt: str
    #: Pixels.
    height: int
    name: str
    #: The address of plotly.js.
    plotly: str
    #: The zoom; None: all is shown.
    window: ZoomWindow | None
    #: The newest zoom that Python knows of.
    zoomHeard: int
    zoomLinked: bool
    isHeard: bool
    modeBar: bool
    fill: bool
    shows: str | None
    together: Together | None
    nextHead: NextHead | None


class PatchHeader(TypedDict):
    """An image with a colour over each patch."""

    alt: str
    label: str
    #: Of each patch, row by row.
    names: list[str]
    #: Patches of a side of each of several pictures (the time steps of a video); 0: it is one picture.
    tile: int
    #: Row and column of the framed patch.
    selected: list[int] | None
    opacity: float
    #: The weight of the last colour.
    top: float
    #: Pixels of the drawing's side.
    size: int
    signed: bool
    heard: int


class BeamNode(TypedDict):
    """A candidate of beam search. parent: its place in the list; text: all up to it."""

    step: int
    parent: int | None
    label: str
    logP: float
    kept: bool
    ended: bool
    best: bool
    text: str


class BeamHeader(TypedDict):
    """The candidates of all steps."""

    alt: str
    nodes: list[BeamNode]


class RunHeader(TypedDict):
    """`curves.CurveRun`."""

    name: str
    colour: str
    dash: str
    status: str
    progress: float
    steps: int
    active: bool
    registers: int


class SampleHeader(TypedDict):
    """`curves.SampleSequence`."""

    tokens: Sequence[str]
    expected: Sequence[str]
    classes: Sequence[str]
    source: Sequence[int]
    labels: Sequence[str]


class CurvesRefresh(TypedDict):
    """What runs have come to since a reader's numbers; the arrays have the new ones."""

    runs: list[RunHeader]
    #: For each run how many losses, points and maps the reader had.
    seen: Sequence[Any]


class CurvesHeader(TypedDict):
    """Runs that train, and the sequence whose attention is shown."""

    runs: list[RunHeader]
    sample: SampleHeader
    #: Title of the maps.
    head: str
    #: Layer and head of the maps.
    place: tuple[int, int]
    #: Address of new numbers below the app's root, and its parameters.
    channel: str
    query: str
    name: str
    alt: str


class ByHandHeader(TypedDict):
    """One encoder layer with numbers that a reader changes."""

    #: `explain.by_hand.Inputs`, now and of the example.
    inputs: dict[str, Any]
    usual: dict[str, Any]
    #: Positions of the notes.
    notes: Any
    #: These inputs do not fit together.
    problem: bool
    #: The newest event that these inputs follow; not there, where the host answers at once.
    heard: NotRequired[int]


class DigitHeader(TypedDict):
    """A square to draw in. side: pixels of the bitmap."""

    side: int


class DrawnBox(TypedDict):
    """A box on a page: left, upper, right, lower, and its words."""

    words: str
    box: Sequence[int]


class BoxesHeader(TypedDict):
    """A page on which boxes are drawn."""

    boxes: list[DrawnBox]
    #: The largest coordinate.
    largest: int
    #: Height of the page as a share of its width.
    aspect: float
    heard: int


class FindEntry(TypedDict):
    """What the search opens.

    page: "" for the open one; values: of the address; control: the key of what it then opens or focuses, "" for none;
    steps: what to do then, where the control does not say it.
    """

    kind: str
    title: str
    detail: str
    page: str
    values: dict[str, str]
    control: str
    steps: list[str]


class FindReason(TypedDict):
    """An entry near to a question, by its number, and why: its text in pieces, and what each adds to the cosine."""

    entry: int
    pieces: list[str]
    shares: list[float]


class FindAnswer(TypedDict):
    """What is near to a question, nearest first. typed: the question."""

    typed: str
    found: list[FindReason]


class AskHeader(TypedDict):
    """The open page, and the answer to the last question of the search."""

    here: str
    answer: FindAnswer | None


class FindHeader(TypedDict):
    """The address of all that the search finds (a list of FindEntry), and the class of the buttons that open it."""

    path: str
    opener: str


class SketchHeader(TypedDict):
    """A row of attention to draw."""

    #: T names of the keys.
    labels: list[str]
    #: Another question gets fresh sliders.
    question: str
    button: str


class GestureHeader(TypedDict):
    """What is to be done by hand. `does` says which of the other fields there are; questions/gestures.py makes them."""

    does: Literal["aim", "sort", "softmax", "paint", "mask", "cut"]
    #: Tokens, or letters of a word.
    labels: NotRequired[list[str]]
    #: Of a query that is aimed: keys in the plane, the one that is aimed at, its least weight, the largest component.
    keys: NotRequired[list[list[float]]]
    target: NotRequired[int]
    goal: NotRequired[float]
    farthest: NotRequired[float]
    #: Of a softmax that is filled.
    scores: NotRequired[list[float]]
    #: Of tokens that are sorted.
    weights: NotRequired[dict[str, float]]
    #: An answer that was given before, None for none, and the right one, which ends the gesture.
    given: NotRequired[Any]
    truth: NotRequired[Any]
    #: Whose answer it is, for the legend: "your answer".
    whose: NotRequired[str]


class KeptTextHeader(TypedDict):
    """Texts by their digests."""

    save: Mapping[str, str]


class CopyLinkHeader(TypedDict):
    """The values of a link, the names of the reader's texts among them, and a sentence.

    network: this machine's address in the network, "" if other machines do not reach the app.
    """

    query: dict[str, str]
    typed: list[str]
    note: str
    network: str


class StripButton(TypedDict):
    """A button of the room's strip. name: what the event has; title: its help; pressed: of one that is on or off."""

    name: str
    label: str
    title: NotRequired[str]
    pressed: NotRequired[bool]
    primary: NotRequired[bool]


class RoomHeader(TypedDict):
    """How this visitor is in a room."""

    code: str
    #: What this run has read.
    version: int
    #: Whether the browser asks for a run although it knows of no newer version.
    stale: bool
    #: The student's seat and the answers that wait for the store, as JSON; the teacher's key. The browser keeps them.
    member: str
    waiting: NotRequired[str]
    key: str
    #: Whether the strip shows the counts, and among them the answers.
    desk: bool
    asks_class: bool
    #: A screen for the whole class: of the line only the clock is drawn.
    wall: bool
    #: The line, and what is wrong, or "".
    words: str
    note: str
    #: Seconds that are left; below 0: since its end.
    timer: float | None
    spotlight: bool
    #: The room store does not answer: the browser asks again.
    asks: bool
    #: No line.
    hidden: bool


class StripHeader(RoomHeader):
    """The same, and the buttons at the end of the line."""

    buttons: list[StripButton]


class RefreshHeader(TypedDict):
    """The counter of the room's news that this run has read."""

    activity: int


class DoorHeader(TypedDict):
    """The open room and its key, "" without one; left: the browser forgets the student's seat."""

    code: str
    secret: str
    left: bool


class RoomMessage(TypedDict, total=False):
    """A message of the room's stream. closed, lost, missing: from the browser itself, the end of room or connection; a
    server without rooms."""

    version: int
    activity: int
    here: int
    follow: int
    answers: int
    away: bool
    closed: Literal[True]
    lost: Literal[True]
    missing: Literal[True]
