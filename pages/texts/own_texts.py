"""Which texts a link means: it holds the number and a digest of a visitor's own texts, never the texts.

So a place in a link is never that of another text. Where the texts are not here, a sentence asks for them.
"""

import hashlib
from collections.abc import Sequence

import streamlit as st

from pages.state import not_chosen, state
from pages.texts.params import Params

#: In the session: the mark of the texts that were ranked last, and how often the address had been read then.
_LAST, _READ = "texts-own", "texts-own-read"
#: What a link says of texts by their places.
_OF_PLACES = {Params.place: None, Params.against: None, Params.matches: ""}


def mark(texts: Sequence[str]) -> str:
    """The number of the texts and the beginning of a digest: "10-3f5a0c1b9d2e"."""
    return f"{len(texts)}-{hashlib.sha256(chr(0).join(texts).encode('utf-8', 'replace')).hexdigest()[:12]}"


def are_here(texts: Sequence[str], *, is_bundled: bool) -> bool:
    """Whether the address means these texts; otherwise a sentence asks for the others.

    The address gets the mark of the visitor's own texts, but not in a run that Back or Forward caused: a changed
    address would be a new entry, and Back would lead nowhere.
    """
    here, asked = "" if is_bundled else mark(texts), state.newest(Params.own)
    last, was_read = st.session_state.get(_LAST, ""), st.session_state.get(_READ)
    st.session_state[_READ] = not_chosen.asked()[0]
    by_address = was_read != st.session_state[_READ]
    if asked not in ("", here, last):
        if is_bundled or by_address:
            missing(asked)
            return False
        state.put_all(_OF_PLACES)
        st.info("These are other texts than the link’s. So the first hit is selected.")
    if asked != here and not by_address:
        state.put(Params.own, here)
    st.session_state[_LAST] = here
    return True


def missing(asked: str) -> None:
    """The sentence about a link whose texts are not here, and the way to the example texts."""
    st.warning(
        f"This link was made with {_many(asked)}texts of its own, which it does not hold. Paste them under Your "
        "texts, or open their file there.",
        icon=":material/content_paste:",
    )
    st.button("Use the example texts", key="texts:without-own", on_click=_without)


def _without() -> None:
    state.put_all({**_OF_PLACES, Params.own: ""})


def note() -> str:
    """What the link leaves out, for the export panel; "" for texts that every visitor has."""
    own = state.get(Params.own)
    if not own:
        return ""
    return (
        f"The link does not hold your {_many(own)}texts: who opens it is asked for them. For other "
        "people, save the HTML report, which contains the ranking."
    )


def _many(own: str) -> str:
    """The number in a mark, for a sentence; "" for what a link has that is not a mark."""
    number = own.partition("-")[0]
    return f"{int(number):,} " if number.isascii() and number.isdigit() and len(number) < 9 else ""
