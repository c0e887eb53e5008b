"""The limits of a server and of one's own machine: a page of `make docs`, from the table that the app uses."""

from pages.base.access import limits

HEADING = """# Limits

Before a text runs, its memory and work are estimated. `pages/base/access/limits.py` is this table; a variable of the
environment changes a limit where one is named."""
#: What other modules bound: (what, on a shared server, on one's own machine, what changes it).
ELSEWHERE = (
    ("one uploaded file", "64 MB", "the same", "`server.maxUploadSize` of Streamlit"),
    ("an image; a sound", "20 MB, 50 million pixels; 20 MB, 30 seconds", "the same", "-"),
)


def row(limit: limits.Limit) -> tuple[str, str, str, str]:
    """The cells of a limit."""
    usual = f"{limit.usual:,} {limit.unit}".strip()
    own = limit.own_said or "the same" if limit.own is None else f"{limit.own:,} {limit.unit}".strip()
    return limit.what, usual, own, f"`{limit.variable}`" if limit.variable else "-"


def text() -> str:
    """The table as Markdown."""
    rows = [*map(row, limits.TABLE), *ELSEWHERE]
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    head = ["| limit | on a shared server | on one's own machine | change |", "|---|---|---|---|"]
    return "\n".join([HEADING, "", *head, *lines]) + "\n"
