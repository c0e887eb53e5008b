"""An answer to look at before there are vectors of another program: its fault is known, so nothing is searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from encoder.diagnose import comparing
from encoder.diagnose.faults import FAULTS, Clues, Fault
from encoder.diagnose.fingerprint import fingerprint
from encoder.diagnose.pipeline import Pipeline
from encoder.diagnose.verdict import Verdict
from encoder.errors import EncoderError

#: Of these the first that changes the model's vectors.
TOLD = ("image-crop", "channel-order", "sound-rate", "pooling", "normalise-missing", "normalise-extra")


def example_of(base: Pipeline, texts: Sequence[str]) -> Verdict:
    """What the search says of vectors with one of TOLD. Raises EncoderError where none of them changes the vectors."""
    right = base.vectors(texts)
    for fault in _told(base, Clues(texts, right)):
        try:
            theirs = fault.apply(base).vectors(texts)
        except EncoderError:  # the model cannot have this fault
            continue
        if theirs.shape == right.shape and comparing.largest(right, theirs) > comparing.SAME:
            return Verdict(
                verdict="fault",
                difference=0.0,
                difference_without=comparing.largest(right, theirs),
                faults=(fault,),
                fingerprint=fingerprint(base.model, base.front.prompt).id,
                texts=tuple(texts),
                theirs=theirs,
                right=right,
                explained=theirs,
                takes=base.model.takes,
                prompt=base.front.prompt,
            )
    raise EncoderError("No fault of the example changes the vectors of this model.")


def _told(base: Pipeline, clues: Clues) -> Iterator[Fault]:
    for name in TOLD:
        if base.model.takes in FAULTS[name].takes:
            yield from FAULTS[name].candidates(base, clues)
