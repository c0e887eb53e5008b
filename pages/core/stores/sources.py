"""The input of a run, by what the model takes: a sentence, an image, a sound. One registered value for each kind.

Everywhere in the pages, the `text` of a view is its sentence or, for another kind, the input's name: what stands in the
address. So caches, links and pages treat all inputs alike, and `cache.trace` asks here for what the name means.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from encoder.encoders.joint import JointEncoder
from encoder.encoders.named import NamedEncoder
from encoder.inputs.layout import InputKind
from encoder.load import BUNDLED


@dataclass(frozen=True)
class Source:
    """Where inputs of one kind come from.

    controls: draws the part of the sidebar, with the model; current: the name of the chosen input for a model; find:
    (model, name) -> what `model.trace` takes, raises EncoderError for a name without an input; title: the name for
    people; code: (model, name) -> an import and the Python expression of the input.
    """

    controls: Callable[[NamedEncoder], None]
    current: Callable[[NamedEncoder], str]
    find: Callable[[NamedEncoder, str], Any]
    title: Callable[[str], str]
    code: Callable[[NamedEncoder, str], tuple[str, str]]


#: Kind of input -> its source; core/inputs/image_input.py registers images. Sentences are ViewParams.text and pair.
SOURCES: dict[InputKind, Source] = {}

#: What models of a kind take, in a sentence. PAIR: both encoders of a model of images and text.
PAIR = "pair"
NOUNS = {"text": "text", "image": "images", "sound": "sound", PAIR: "images and text"}

Loaded = NamedEncoder | JointEncoder


def kinds_of(source: str, loaded: Loaded | None) -> tuple[InputKind, ...]:
    """What the encoders of a model take, one kind for each.

    Of a loaded one, else of a bundled name; any other is taken for one encoder of text until it is loaded.
    """
    if isinstance(loaded, JointEncoder):
        return loaded.text.takes, loaded.image.takes
    if loaded is not None:
        return (loaded.takes,)
    return BUNDLED[source].kinds if source in BUNDLED else ("text",)


def fitting(kinds: Sequence[InputKind], takes: Collection[str], wanted: str) -> InputKind:
    """Which of a model's encoders a page shows: the wanted one if the page takes its input, else the first that fits.

    kinds: `kinds_of`; takes: what the page takes. Where no encoder fits, the first one: the page says so.
    """
    shown = {"image" if kind == PAIR else kind for kind in takes}
    offered = [kind for kind in kinds if kind in shown] or list(kinds)
    return next((kind for kind in offered if kind == wanted), offered[0])
