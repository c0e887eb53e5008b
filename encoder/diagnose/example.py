"""An answer to look at before there are vectors of another program: its fault is known, so nothing is searched."""

from __future__ import annotations

from collections.abc import Sequence

from encoder.diagnose import comparing
from encoder.diagnose.faults import Fault, ends
from encoder.diagnose.fingerprint import fingerprint
from encoder.diagnose.pipeline import Pipeline
from encoder.diagnose.verdict import Verdict
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError

#: Of these the first that changes the model's vectors.
FAULTS: tuple[Fault, ...] = (
    ends.OtherPooling("cls"), ends.OtherPooling("mean"), ends.NormaliseMissing(), ends.NormaliseExtra(),
)  # fmt: skip


def example(model: TextEncoder, texts: Sequence[str]) -> Verdict:
    """What `find` says of the vectors that this model gives with a fault that is known. Runs the model twice.

    Raises EncoderError for a model to which none of these faults makes a difference.
    """
    base = Pipeline.of(model)
    right = base.vectors(texts)
    for fault in FAULTS:
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
                fingerprint=fingerprint(model).id,
                texts=tuple(texts),
                theirs=theirs,
                right=right,
                explained=theirs,
            )
    raise EncoderError("No fault of the example changes the vectors of this model.")
