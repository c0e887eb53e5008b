"""The `encoderscope` command: finds the command that the words name, runs it, and gives its exit code.

A command is a value (`command.Command`) of commands.toml. Streamlit and torch are not imported here.
"""

import argparse
import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from encoder import own
from encoder.cli import completion, inputs, running, writing
from encoder.cli.command import (
    FAILED,
    MISUSED,
    PROGRAM,
    STOPPED,
    Command,
    CommandError,
    Parser,
    exit_codes,
    narrow,
    near,
)
from encoder.errors import EncoderError
from encoder.version import __version__

COMMANDS = running.COMMANDS


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: this process's own) and return the exit code.

    0: done. 1: an error, printed as one sentence. 2: wrong usage. 130: Ctrl-C. After `app`: the server's exit code.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words[:1] == [completion.ASK]:
            with contextlib.suppress(EncoderError):
                own.load()
            print("\n".join(completion.candidates(words[1:], COMMANDS)))
            return 0
        if words in (["-h"], ["--help"], ["help"]):
            print(overview())
            return 0
        if words == ["--version"]:
            print(f"{PROGRAM} {__version__}")
            return 0
        own.load()
        command, rest = _found(words)
        return run(command, Parser(command).parse_intermixed_args(rest))
    except (CommandError, EncoderError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return MISUSED if isinstance(error, inputs.Misuse) else FAILED
    except KeyboardInterrupt:
        print(f"{PROGRAM}: stopped.", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        _drop_output()
        return 0
    except OSError as error:  # a name that is too long for a file, for example
        name = "" if error.filename is None else f": {str(error.filename)[:80]}"
        print(f"{PROGRAM}: {error.strerror or error}{name}", file=sys.stderr)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            _drop_output()
        return FAILED


def run(command: Command, options: argparse.Namespace) -> int:
    """Run a command with its options, and write what it found."""
    found = running.found(command, function(command), options)
    return found if isinstance(found, int) else writing.write(found, options)


def function(command: Command) -> running.Function:
    """The function that commands.toml names for a command."""
    module, _, name = command.function.rpartition(".")
    named: running.Function = getattr(import_module(f"encoder.cli.{module}"), name)
    return named


def _drop_output() -> None:
    """What was not written is lost: Python would try again at its end, and print another error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _found(words: Sequence[str]) -> tuple[Command, list[str]]:
    """The command that the words begin with, and the others; `app` where they begin with an option.

    Raises Misuse for an unknown command.
    """
    if not words or words[0].startswith("-"):
        return COMMANDS["app"], list(words)
    for length in (2, 1):
        name = " ".join(words[:length])
        if name in COMMANDS:
            return COMMANDS[name], list(words[length:])
    actions = [name for name in COMMANDS if name.startswith(f"{words[0]} ")]
    if actions and words[1:] in (["-h"], ["--help"]):
        print(overview(actions))
        raise SystemExit(0)
    name = " ".join(words[: 2 if actions else 1])
    known = f"; choose one of {', '.join(actions)}" if actions else f"; {PROGRAM} --help lists all"
    raise inputs.Misuse(f"no command {name[:60]!r}{near(name, [*COMMANDS]) or known}")


def overview(names: Sequence[str] = ()) -> str:
    """The help of all commands, or of some."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {COMMANDS[name].help}" for name in names or COMMANDS]
    return "\n".join(
        narrow(line, "    ")
        for line in [
            f"usage: {PROGRAM} COMMAND MODEL (--text TEXT | --texts FILE | --file FILE | -) [--out FILE] [OPTIONS]",
            "",
            "See what a transformer encoder does with a sentence.",
            "",
            "commands:",
            *lines,
            "",
            f"Without a command `app` runs: `{PROGRAM} --port 8600` is `{PROGRAM} app --port 8600`.",
            f"`{PROGRAM} COMMAND --help` lists the options of a command, with an example. {exit_codes()}",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
