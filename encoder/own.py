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
import traceback
from collections.abc import Callable, Container
from typing import Any

from encoder import disk
from encoder.errors import EncoderError, is_out_of_memory, quoted

FILE = "ENCODERSCOPE_OWN"


@functools.cache
def load() -> None:
    """Run the file, once in a process. Raises EncoderError where it is missing or fails; the next call tries again."""
    if not (file := os.environ.get(FILE)):
        return
    try:
        disk.check_regular(file)
        runpy.run_path(file)
    except OSError as error:
        raise EncoderError(f"{file} cannot be read ({error.strerror or error}): correct it, or unset {FILE}.") from None
    except (Exception, SystemExit) as error:
        raise EncoderError(f"{file} fails{_said(error, file)}: correct it, or unset {FILE}.") from error


def call(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a user's function gives. Raises EncoderError, which names its line, for whatever it raises or if it exits.

    name: how a sentence calls it ("the outcome 'norm'").
    """
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            raise
        code = getattr(function, "__code__", None)
        said = _said(error, None if code is None else code.co_filename)
        raise EncoderError(f"{name[:1].upper()}{name[1:]} fails{said}: correct the function.") from error


def gave(name: str, function: Callable[..., Any], found: object, wanted: str) -> EncoderError:
    """The error for a value of a user's function that is not `wanted`."""
    shape = getattr(found, "shape", None)
    what = type(found).__name__ if shape is None else f"shape {tuple(shape)}"
    code = getattr(function, "__code__", None)
    line = "" if code is None else f" (line {code.co_firstlineno} of {os.path.basename(code.co_filename)})"
    return EncoderError(f"{name[:1].upper()}{name[1:]}{line} gives {what}: return {wanted}.")


def _said(error: BaseException, file: str | None) -> str:
    """Where and why: the last line of the user's file that the error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if file is not None and one.filename == file] or frames[-1:]
    line = error.lineno if isinstance(error, SyntaxError) else own[-1].lineno if own else None
    try:
        why = str(error)
    except Exception:  # an error of the user's own class
        why = ""
    at = "" if line is None else f" at line {line}"
    return f"{at} ({type(error).__name__}{f': {quoted(why)[1:-1]}' if why else ''})"


def check_name(name: str, taken: Container[str] = ()) -> None:
    """Raise EncoderError for a name that cannot be in a link, or is one of `taken`."""
    if not name.isidentifier():
        raise EncoderError(
            f"{quoted(name)} cannot be a name in links: use letters, digits and _, and begin with a letter."
        )
    if name in taken:
        raise EncoderError(f"The name {quoted(name)} is taken: choose another.")
