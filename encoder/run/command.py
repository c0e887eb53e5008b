"""The command line that runs the same as a Run."""

import shlex
from collections.abc import Sequence
from typing import Any

from encoder.run.address import write_text
from encoder.run.values import TRAINED, ModelSpec, Run, Text


def place_options(run: Run) -> dict[str, Any]:
    """The options of a command that look at the same part of a run: name -> value."""
    own, place = run.input, run.place
    select = [one for one in (place.query,) if one is not None]
    found: dict[str, Any] = {"layer": place.layer, "head": place.head, "select": select}
    if isinstance(own, Text):
        found |= {"pair": own.pair, "pad_to": own.pad_to, "padding": own.padding}
    return {name: value for name, value in found.items() if is_given(value)}


def is_given(value: object) -> bool:
    """Whether an option has a value: 0 is one."""
    return value is not None and value is not False and value != []


def command(run: Run, verb: str = "trace") -> str:
    """The command `encoderscope VERB ...` for a run: its options where they can say it, else its address.

    verb: a command that runs one input by itself. Raises EncoderError for edits that only Python has.
    """
    own = run.input
    if not isinstance(own, Text) or not _has_options(run, own):
        return shlex.join(["encoderscope", verb, "--run", write_text(run)])
    model = {"norm": run.model.norm, "device": run.model.device}
    usual = {"norm": ModelSpec().norm, "device": ModelSpec().device}
    options = {name: value for name, value in model.items() if value != usual[name]} | place_options(run)
    if verb != "trace":
        options = {name: value for name, value in options.items() if name in ("norm", "device", "pair")}
    words = ["encoderscope", verb, run.model.source, "--text", run.text]
    for name, value in options.items():
        words.append(f"--{name.replace('_', '-')}")
        if value is not True:
            words.append(",".join(map(str, value)) if isinstance(value, list) else str(value))
    return shlex.join(words)


def of_texts(verb: str, model: ModelSpec, texts: Sequence[str], **options: Any) -> str:
    """The command `encoderscope VERB ...` for several texts; "" for a model that no option names.

    options: name without dashes, "_" for "-", -> value; those without a value are left out.
    """
    if model != ModelSpec(model.source, norm=model.norm, device=model.device) or model.source.startswith(TRAINED):
        return ""
    usual = ModelSpec()
    if model.norm != usual.norm:
        options["norm"] = model.norm
    words = ["encoderscope", verb, model.source, *(f"--text={text}" for text in texts)]
    for name, value in options.items():
        if is_given(value):
            words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}"))
    return shlex.join(words)


def _has_options(run: Run, own: Text) -> bool:
    """Whether the options of a command can name a run; its place aside, which only `trace` has options for."""
    model = ModelSpec(run.model.source, norm=run.model.norm, device=run.model.device)
    is_whole = own.window is None and run.target is None and not run.edits
    is_whole = is_whole and own.boxes is None and own.nodes is None and own.page is None
    return is_whole and run.model == model and not model.source.startswith(TRAINED)
