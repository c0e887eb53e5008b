"""The input of a run, by what the model takes: a sentence, an image, a sound. One registered value for each kind.

Everywhere in the pages, the `text` of a view is its sentence or, for another kind, the input's name: what stands in the
address. So caches, links and pages treat all inputs alike, and `cache.trace` asks here for what the name means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from encoder.layout import InputKind
from encoder.load import BUNDLED
from encoder.named_encoder import NamedEncoder


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


#: Kind of input -> its source; core/image_input.py registers images. Sentences are ViewParams.text and pair.
SOURCES: dict[InputKind, Source] = {}

#: What models of a kind take, in a sentence.
NOUNS: dict[InputKind, str] = {"text": "text", "image": "images", "sound": "sound"}


def kind_of(source: str, loaded: NamedEncoder | None) -> InputKind:
    """What a model takes: of a loaded one, else of a bundled name; any other is taken for text until it is loaded."""
    if loaded is not None:
        return loaded.takes
    return BUNDLED[source].takes if source in BUNDLED else "text"
