"""Texts that are too long for the address, which names them by a digest: the session keeps the newest, for Back.

After a reload the session is new, and the browser's tab has them (pages/components/kept_text.py).
"""

from __future__ import annotations

import hashlib
from urllib.parse import quote

import streamlit as st

from pages.core import limits

#: What comes before the name of such a value in the address: "kept_text" is the digest of the text.
KEPT = "kept_"
#: Texts that a session keeps.
MOST = 8
_TEXTS = "_view_kept_texts"


def too_long(text: str) -> bool:
    """Whether a text is too long for the address."""
    # A character takes 12 signs of the address at most.
    return 12 * len(text) > limits.LINK_TEXT.value and len(quote(text)) > limits.LINK_TEXT.value


def digest(text: str) -> str:
    """The name of a text in the address."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def keep(text: str) -> str:
    """Keep a text in the session, with the newest others; returns its digest."""
    texts = st.session_state.setdefault(_TEXTS, {})
    name = digest(text)
    texts[name] = texts.pop(name, text)
    for old in list(texts)[:-MOST]:
        del texts[old]
    return name


def text_of(name: str) -> str | None:
    """The text of a digest, None where the session does not have it."""
    return st.session_state.get(_TEXTS, {}).get(name)
