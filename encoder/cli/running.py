"""What a command finds: its options settled, its function called. The command line writes it; agents receive it."""

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from encoder.cli import inputs, writing
from encoder.cli.command import Command, Result, declared

COMMANDS = declared()
#: What a command calls with its options, or with each input that was run; gives its result or exit code.
Function = Callable[[Any], Any]


def found(command: Command, function: Function, options: argparse.Namespace) -> Iterable[Result] | int:
    """What a command finds with these options, or the exit code of one that writes by itself.

    Raises CommandError and EncoderError.
    """
    inputs.check_texts(options, command)
    options.command, options.inputs = command, inputs.files_of(options, command)
    if command.takes:
        inputs.settle(options, command)
    if command.formats:
        writing.settle(options, command)
    if getattr(options, "mean", False):
        from encoder.cli import means

        return means.over_texts(options)
    if command.takes == "each":
        return (replace(function(one), number=one.number) for one in inputs.traces(options))
    result: Iterable[Result] | int = function(options)
    return result
