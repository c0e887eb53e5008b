"""The input of a run, by what the model accepts: a sentence, an image, a video, a sound. One `Input` for each kind.

Everywhere in the pages, the `text` of a view is its sentence or, for another kind, the input's name: what the address
has. So caches, links and pages treat all inputs alike, and ask here for what the name means.
"""

from collections.abc import Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from encoder.checkpoints import BUNDLED
from encoder.encoders.joint import JointEncoder
from encoder.encoders.named import NamedEncoder
from encoder.inputs.layout import InputKind


class Input:
    """Inputs of one kind, here sentences: a sentence is its own name. `FileInput` has the others."""

    kind: ClassVar[InputKind] = "text"

    def find(self, model: NamedEncoder, name: str) -> Any:
        """What `model.trace` accepts, for this session. Raises EncoderError for a name without an input."""
        return name

    def given(self, model: NamedEncoder, name: str) -> Any:
        """The same for all sessions: what a name means never depends on who asks. Raises EncoderError."""
        return name

    def title(self, name: str) -> str:
        """The name for people."""
        return name

    def names(self, model: NamedEncoder) -> dict[str, str]:
        """Name -> title of the inputs that can be chosen; none where they are typed."""
        return {}

    def code(self, model: NamedEncoder, name: str) -> tuple[str, str]:
        """An import, and the Python expression of the input."""
        return "", repr(name)

    def picture(self, name: str) -> Any:
        """The image of a page of this name; None where it is not here."""
        return None

    def shown(self, model: NamedEncoder, name: str) -> np.ndarray | None:
        """The input as a picture, uint8 [H, W, 3], where it is one."""
        return None


class MapsInput(Input):
    """The tokens of a file of attention maps, which is all that such a file can show."""

    kind: ClassVar[InputKind] = "maps"
    name: ClassVar[str] = "file"

    def find(self, model: NamedEncoder, name: str) -> None:
        return None

    given = find

    def current(self, model: NamedEncoder) -> str:
        """The one input that there is."""
        return self.name

    def title(self, name: str) -> str:
        return "the tokens of the file"

    def names(self, model: NamedEncoder) -> dict[str, str]:
        return {self.name: self.title(self.name)}

    def code(self, model: NamedEncoder, name: str) -> tuple[str, str]:
        return "", ""

    def controls(self, model: NamedEncoder) -> None:
        """Nothing: the row has no input for such a file."""


#: Kind of input -> its inputs; image_input.py, video_input.py and sound_input.py of core/inputs add theirs.
SOURCES: dict[InputKind, Input] = {"text": Input(), "maps": MapsInput(), "cross": MapsInput()}


def of(model: NamedEncoder) -> Input:
    """The inputs that a model accepts."""
    return SOURCES[model.takes]


#: What models of a kind take, in a sentence. PAIR: both encoders of a model of images and text.
PAIR = "pair"
NOUNS = {
    "text": "text",
    "image": "images",
    "video": "videos",
    "sound": "sound",
    "maps": "attention maps",
    "cross": "cross-attention maps",
    PAIR: "images or sound, and text",
}

Loaded = NamedEncoder | JointEncoder


def kinds_of(source: str, loaded: Loaded | None) -> tuple[InputKind, ...]:
    """What the encoders of a model take, one kind for each.

    Of a loaded one, else of a bundled name; any other is taken for one encoder of text until it is loaded.
    """
    if loaded is not None:
        return tuple(loaded.towers)
    return BUNDLED[source].kinds if source in BUNDLED else ("text",)


def fitting(kinds: Sequence[InputKind], takes: Collection[str], wanted: str) -> InputKind:
    """Which of a model's encoders a page shows: the wanted one if the page accepts its input, else the first that fits.

    kinds: `kinds_of`; takes: what the page accepts. Where no encoder fits, the first one: the page says so.
    """
    if PAIR in takes and len(kinds) > 1:  # its captions are typed on the page
        return next(kind for kind in kinds if kind != "text")
    shown = set(takes)
    offered = [kind for kind in kinds if kind in shown] or list(kinds)
    return next((kind for kind in offered if kind == wanted), offered[0])
