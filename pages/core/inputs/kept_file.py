"""What was read from an uploaded file, kept in the session: Streamlit drops a file when its page is left."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from encoder import EncoderError
from encoder.inputs.read import FORMATS
from pages.components.button import button
from pages.components.lazy import expander
from pages.core.words import plain
from pages.state.url_state import state, touch

V = TypeVar("V")
#: Endings of the files that `encoder.inputs.read` reads, and of those with columns.
ENDINGS = [one.removeprefix(".") for one in FORMATS]
TABLES = [one for one in ENDINGS if one != "txt"]
#: Sentences about what was left out that a page lists.
LISTED = 50


def upload(label: str, key: str, of: str, endings: Sequence[str], most: int) -> UploadedFile | None:
    """A widget for one file. of: the key of `read`, which forgets what it kept when the visitor changes the file.

    Raises EncoderError for a file of more than `most` bytes: the browser's own check can be passed by.
    """
    given = st.file_uploader(
        label,
        key=key,
        type=list(endings),
        max_upload_size=-(-most // 10**6),
        on_change=lambda: _forget(of),
    )
    if given is not None and given.size > most:
        raise EncoderError(f"{given.name[:80]} has {given.size:,} bytes, and at most {most:,} are read: split it.")
    return given


def upload_many(
    label: str, key: str, of: str, endings: Sequence[str], most: int, most_files: int
) -> list[UploadedFile]:
    """A widget for files in the order of their names. of, most: as of `upload`.

    Raises EncoderError for more than `most_files`, for a file of more than `most` bytes, and for two of one name.
    """
    given = st.file_uploader(
        label,
        key=key,
        type=list(endings),
        max_upload_size=-(-most // 10**6),
        accept_multiple_files=True,
        on_change=lambda: _forget(of),
    )
    found = sorted(given, key=lambda file: file.name)
    if len(found) > most_files:
        raise EncoderError(f"{len(found):,} files, and the limit is {most_files:,}: send fewer.")
    for place, file in enumerate(found):
        if file.size > most:
            raise EncoderError(f"{file.name[:80]} has {file.size:,} bytes, and at most {most:,} are read: shrink it.")
        if place and file.name == found[place - 1].name:
            raise EncoderError(f"Two files are named {file.name[:80]}: rename one of them.")
    return found


def read(key: str, *files: UploadedFile | None, make: Callable[..., V]) -> V | None:
    """`make(*files)`, once; None while a file is missing. The result stays when the visitor comes back to the page.

    Errors of `make` are raised, in each run: nothing is kept then.
    """
    kept = st.session_state.get(_name(key))
    given = [file for file in files if file is not None]
    if len(given) == len(files):
        ids = tuple(file.file_id for file in given)
        if kept is None or kept[0] != ids:
            more = f" and {len(given) - 1} more" if len(given) > 1 else ""
            kept = st.session_state[_name(key)] = (ids, f"{given[0].name}{more}", make(*given))
        return kept[2]  # type: ignore[no-any-return]
    if kept is None or given:
        return None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Open: **{plain(kept[1])}**", width="content")
        button("Close", "close", f"{key}:close", lambda: st.session_state.pop(_name(key), None), type="tertiary")
    return kept[2]  # type: ignore[no-any-return]


def typed_lines(key: str, height: int, start: str = "", label: str = "One text a line", **more: Any) -> str:
    """A field for one text a line, which keeps its text on other pages: Streamlit drops a widget's value there.

    After Back, a browser shows a field as it was before the server filled it.
    """
    if key not in st.session_state or state.has_moved():
        st.session_state[key] = st.session_state.get(key, st.session_state.get(f"{key}:kept", start))
    typed = st.session_state[f"{key}:kept"] = st.text_area(label, key=key, height=height, on_change=touch, **more)
    return typed


def formats(*columns: str) -> str:
    """Which files a widget accepts, for its label: "CSV, TSV, JSONL or Parquet with the columns text and label"."""
    return f"CSV, TSV, JSONL or Parquet with the column{'s' * (len(columns) > 1)} {' and '.join(columns)}"


def say_left_out(problems: Sequence[str], total: int, used: str, key: str) -> None:
    """How many rows of a file were left out, and the first of them by number. used: what happens to the others."""
    if not total:
        return
    st.warning(f"Left out: {total:,}. The others are {used}.", icon=":material/rule:")
    if (part := expander("What was left out", key)) is not None:
        lines = [f"- {plain(problem)}" for problem in problems[:LISTED]]
        more = total - len(lines)
        part.markdown("\n".join(lines + ([f"- and {more:,} more"] if more else [])))


def _forget(key: str) -> None:
    """Forget what was read of a file that the visitor changes. For callbacks."""
    touch()
    st.session_state.pop(_name(key), None)


def _name(key: str) -> str:
    return f"_file:{key}"
