"""`python -m docs.placeholders` puts the values of placeholders.toml into the files that wait for them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_suffix(".toml")
ROOT = LIST.parents[1]


@dataclass(frozen=True)
class Placeholder:
    """what: in words; written: in the files until then; value: of the owner, or ""; files: paths from the root."""

    what: str
    written: str
    value: str
    files: tuple[str, ...]


def placeholders() -> list[Placeholder]:
    """The list."""
    rows = tomllib.loads(LIST.read_text(encoding="utf-8"))["placeholder"]
    return [Placeholder(row["what"], row["written"], row["value"], tuple(row["files"])) for row in rows]


def filled(text: str, found: list[Placeholder]) -> str:
    """A text with the values that the owner has written."""
    for one in found:
        if one.value:
            text = text.replace(one.written, one.value)
    return text


def main() -> None:
    """Fill in what has a value."""
    found = placeholders()
    for name in {name for one in found for name in one.files}:
        file = ROOT / name
        file.write_text(filled(file.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
