"""`python -m docs.keys` writes the table of keys into docs/models.md."""

from pathlib import Path

from encoder.checkpoints.keys import keys

FILE = Path(__file__).with_name("models.md")
BEGIN, END = "<!-- keys -->", "<!-- end of keys -->"


def table() -> str:
    """The keys of a folder's files as Markdown, a row for each."""
    rows = [f"| `{key.file}` | `{key.name}` | {key.decision} | {key.remark} |" for key in keys()]
    return "\n".join(["| file | key | decision | remark |", "|---|---|---|---|", *rows])


def written(text: str) -> str:
    """The document with the table of today."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    FILE.write_text(written(FILE.read_text(encoding="utf-8")), encoding="utf-8")
