"""The command line that runs the same as a Run."""

import shlex

from encoder.run.address import write_text
from encoder.run.values import TRAINED, ModelSpec, Run, Text


def command(run: Run, verb: str = "trace") -> str:
    """The command `encoderscope VERB ...` for a run: its options where they can say it, else its address.

    verb: a command that runs one input. Raises EncoderError for edits that only Python has.
    """
    own, place = run.input, run.place
    if not isinstance(own, Text) or not _has_options(run, own):
        return shlex.join(["encoderscope", verb, "--run", write_text(run)])
    words = ["encoderscope", verb, run.model.source, "--text", run.text]
    words += [] if run.pair is None else ["--pair", run.pair]
    words += [] if run.model.norm == "trained" else ["--norm", run.model.norm]
    words += [] if run.model.device == "auto" else ["--device", run.model.device]
    if verb == "trace":
        pad_to = None if own.pad_to is None else str(own.pad_to)
        words += [] if pad_to is None else ["--pad-to", pad_to, *(["--padding"] if own.padding else [])]
        words += [] if place.layer is None else ["--layer", str(place.layer)]
        words += [] if place.head is None else ["--head", str(place.head)]
        words += [] if place.query is None else ["--select", str(place.query)]
    return shlex.join(words)


def _has_options(run: Run, own: Text) -> bool:
    """Whether the options of a command can name a run; its place aside, which only `trace` has options for."""
    model = ModelSpec(run.model.source, norm=run.model.norm, device=run.model.device)
    is_whole = own.window is None and not run.edits and run.target is None
    return is_whole and run.model == model and not model.source.startswith(TRAINED)
