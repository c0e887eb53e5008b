"""The limits of a server and of one's own machine: a page of `make docs`, from the table that the app uses."""

import tomllib

from encoder.cli.app_location import find_app
from encoder.inputs import image_files, sound, video
from pages.base.access import limits

HEADING = """# Limits

Before a text runs, its memory and work are estimated. `pages/base/access/limits.py` is this table; a variable of the
environment changes a limit where one is named."""
#: Bytes of an image or a video, and of a sound.
IMAGE_MB, SOUND_MB = image_files.MOST_BYTES // 10**6, sound.MOST_BYTES // 10**6
#: Megabytes of any uploaded file, as Streamlit is told.
UPLOAD_MB = tomllib.loads((find_app().parent / ".streamlit/config.toml").read_text("utf-8"))["server"]["maxUploadSize"]
#: What other modules bound: (what, on a shared server, on one's own machine, what changes it).
ELSEWHERE = (
    ("one uploaded file", f"{UPLOAD_MB} MB", "the same", "`server.maxUploadSize` of Streamlit"),
    ("an image", f"{IMAGE_MB} MB, {image_files.MOST_PIXELS // 10**6} million pixels", "the same", "-"),
    ("a video", f"{IMAGE_MB} MB, {video.MOST_FRAMES:,} frames", "the same", "-"),
    ("a sound", f"{SOUND_MB} MB, {sound.MOST_SECONDS:g} seconds", "the same", "-"),
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
