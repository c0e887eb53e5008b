"""The keys of a folder's files and what happens with each: a page of `make docs`."""

from encoder.checkpoints.keys import keys

HEADING = """# Keys of a folder

The reader decides key by key, as transformers 5 and sentence-transformers 6 do: it follows a key, names it in
`model.notes`, refuses the folder, or the key has no effect."""


def text() -> str:
    """The keys as Markdown, a row for each."""
    rows = [f"| `{key.file}` | `{key.name}` | {key.decision} | {key.remark} |" for key in keys()]
    return "\n".join([HEADING, "", "| file | key | decision | remark |", "|---|---|---|---|", *rows]) + "\n"
