"""What a question of a lesson may be: a page of `make docs`, from the classes and functions that the app uses."""

import inspect
from dataclasses import fields

from pages.teaching.questions import KINDS, QUANTITIES, Question

HEADING = """# Questions of lessons

[Lessons](../lessons.md) shows a whole lesson. `layer`, `head` and `text` of a quantity replace those of the view."""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def text() -> str:
    """The kinds of questions with their fields, then the quantities with their arguments, as Markdown."""
    shared = {one.name for one in fields(Question)}
    lines = [HEADING, "", "## Kinds", "", f"Every question may have {', '.join(f'`{one}`' for one in sorted(shared))}."]
    lines += ["", "| kind | further fields | what it asks |", "|---|---|---|"]
    for name, kind in KINDS.items():
        own = ", ".join(f"`{one.name}`" for one in fields(kind) if one.name not in shared)
        lines.append(f"| `{name}` | {own} | {_cell((kind.__doc__ or '').partition(chr(10) * 2)[0])} |")
    lines += ["", "## Quantities", "", "| quantity | arguments | formula |", "|---|---|---|"]
    for name, quantity in QUANTITIES.items():
        given = ", ".join(f"`{one}`" for one in list(inspect.signature(quantity.function).parameters)[1:])
        formula = f"`{_cell(quantity.formula)}`" if quantity.formula else ""
        lines.append(f"| `{name}` | {given or 'none'} | {formula} |")
    return "\n".join(lines) + "\n"
