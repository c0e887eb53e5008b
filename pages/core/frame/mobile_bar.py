"""A bar above the page for phones, where the sidebar is closed: it shows the sentence and opens the sidebar."""

from __future__ import annotations

import html

import streamlit as st


def bar(text: str, pair: str | None) -> None:
    """The sentence and a button that opens the sidebar; shown on screens where the sidebar is closed."""
    shown = text.strip() or "No text yet"
    shown = shown[:200] + (f" ⏐ {pair.strip()[:100]}" if pair else "")
    line = f'<span dir="auto">{html.escape(shown)}</span><button type="button">Change</button>'
    with st.container(key="mobile-bar"):
        st.html(f'<div class="enc-bar">{line}</div>')
