"""The command `completion`: what a shell asks when the reader presses Tab."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from encoder.cli.command import Command, Option, option

#: The first word of a shell's question; the words that are typed follow.
ASK = "__complete"
SCRIPTS = {
    "bash": """_encoderscope() {
  local IFS=$'\\n'
  COMPREPLY=($(encoderscope __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _encoderscope encoderscope""",
    "zsh": """#compdef encoderscope
_encoderscope() {
  local -a found
  found=("${(@f)$(encoderscope __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -a found || _files
}
compdef _encoderscope encoderscope""",
    "fish": """function __encoderscope
  encoderscope __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null
end
complete -c encoderscope -a '(__encoderscope)'""",
}


def candidates(words: Sequence[str], commands: Mapping[str, Command]) -> list[str]:
    """What the last word may become: a command, an option, its value, or a model; nothing: a file."""
    *before, word = words or [""]
    command = commands.get(" ".join(before[:2])) or commands.get(" ".join(before[:1]))
    if command is None:
        after = " ".join([*before, ""]) if before else ""
        found = [name.removeprefix(after).split()[0] for name in commands if name.startswith(after)]
    else:
        found = _of(command, before)
    return [one for one in dict.fromkeys(found) if one.startswith(word)]


def _of(command: Command, before: Sequence[str]) -> list[str]:
    """The values of the option before, if it has some; else the options, and models where MODEL is missing."""
    last = next((one for one in command.every_option if before[-1] in one.flags), None)
    if last is not None and last.settings.get("action") != "store_true":
        return _choices(last)
    places = [choice for one in command.options if not one.flags for choice in _choices(one)]
    found = [*places, "--help", *(flag for one in command.every_option for flag in one.flags)]
    if command.takes and len(before) == len(command.name.split()):
        from encoder.load.bundled import BUNDLED

        found = [*BUNDLED, *found]
    return found


def _choices(one: Option) -> list[str]:
    return [str(choice) for choice in one.settings.get("choices") or ()]


def show_script(options: argparse.Namespace) -> int:
    """Print the script of a shell."""
    print(SCRIPTS[options.shell])
    return 0


COMMANDS = (
    Command(
        "completion", "print the script that completes commands and options in your shell", "completion bash",
        show_script, about="Print the script of a shell. bash: add `source <(encoderscope completion bash)` to "
        "~/.bashrc; zsh: the same with zsh to ~/.zshrc; fish: save it as ~/.config/fish/completions/encoderscope.fish.",
        options=(option("shell", choices=tuple(SCRIPTS), metavar="SHELL", default=None, help="bash, zsh or fish"),),
    ),
)  # fmt: skip
