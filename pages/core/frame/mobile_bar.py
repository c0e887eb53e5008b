"""A bar above the page for phones, where the sidebar is closed: it shows the sentence and opens the sidebar.

Its script also makes Enter run the sentence, and makes each page one step of the browser's history.
"""

from __future__ import annotations

import html
from pathlib import Path

import streamlit as st

from encoder.export.javascript import joined

#: In a block: another run of the page may execute it again.
SCRIPT = "{" + joined(Path(__file__).with_suffix(".js")) + "}"


def bar(text: str, pair: str | None) -> None:
    """The sentence and a button that opens the sidebar; shown on screens where the sidebar is closed."""
    shown = text.strip() or "No text yet"
    shown = shown[:200] + (f" ⏐ {pair.strip()[:100]}" if pair else "")
    line = f'<span dir="auto">{html.escape(shown)}</span><button type="button">Change</button>'
    with st.container(key="mobile-bar"):
        st.html(f'<div class="enc-bar">{line}</div><script>{SCRIPT}</script>', unsafe_allow_javascript=True)


def script() -> None:
    """The script alone, for a page without a sentence of the sidebar."""
    st.html(f"<script>{SCRIPT}</script>", unsafe_allow_javascript=True)
