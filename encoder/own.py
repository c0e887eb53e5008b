"""Your own measures, outcomes and functions: a Python file that registers them, which every process runs at its start.

    encoder.measure.register("first", lambda trace: trace.attentions[..., 0].mean(-1))
    encoder.causal.register("norm", lambda model, plain: lambda outputs: outputs.norm(dim=(-1, -2)))
    encoder.edits.register("half", lambda value: value / 2)

The variable ENCODERSCOPE_OWN names the file, or `encoderscope app --own FILE`. Then the names are on the pages, in
links, in atlases and in the command line. The file runs with the rights of the process: name one that you trust.
"""

import functools
import os
import runpy
from collections.abc import Container

from encoder.errors import EncoderError

FILE = "ENCODERSCOPE_OWN"


@functools.cache
def load() -> None:
    """Run the file, once in a process. Raises EncoderError where it is missing or fails; the next call tries again."""
    if not (file := os.environ.get(FILE)):
        return
    try:
        runpy.run_path(file)
    except Exception as error:
        raise EncoderError(f"{file} fails ({type(error).__name__}: {error}): correct it, or unset {FILE}.") from error


def check_name(name: str, taken: Container[str] = ()) -> None:
    """Raise EncoderError for a name that cannot be in a link, or is one of `taken`."""
    if not name.isidentifier():
        raise EncoderError(f"{name!r} cannot be a name in links: use letters, digits and _, and begin with a letter.")
    if name in taken:
        raise EncoderError(f"The name {name!r} is taken: choose another.")
