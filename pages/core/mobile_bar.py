"""A bar above the page for phones, where the sidebar is closed: it shows the sentence and opens the sidebar.

Its script also makes Enter run the sentence, and makes each page one step of the browser's history.
"""

from __future__ import annotations

import html

import streamlit as st

#: Streamlit closes the sidebar up to this width by itself.
STYLE = """
.enc-bar { display: flex; gap: 0.75rem; align-items: center; border-radius: 0.5rem; padding: 0.4rem 0.6rem;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
.enc-bar span { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; display: -webkit-box;
  -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow-wrap: anywhere; }
.enc-bar button { flex: none; padding: 0.3rem 0.7rem; border-radius: 0.5rem; color: inherit;
  border: 1px solid color-mix(in srgb, currentColor 35%, transparent); background: transparent;
  font: inherit; cursor: pointer; }
@media (min-width: 769px) { .stElementContainer:has(.enc-bar) { display: none; } }
"""

#: Streamlit's text area runs on Ctrl+Enter; people press Enter. When a visitor opens a page, Streamlit pushes the
#: address without the view, which is added a moment later. Without this script, the first Back would lead from the
#: whole address to the one without the view, and nothing would change.
SCRIPT = """
if (!window.__encoderscopeFrame) {
  window.__encoderscopeFrame = true;
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    if (!(field instanceof HTMLTextAreaElement) || !/^(Sentence|Second sentence)$/.test(field.ariaLabel ?? "")) return;
    event.preventDefault();
    event.stopPropagation();
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }));
  }, true);
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.(".enc-bar button")) return;
    const opener = document.querySelector('[data-testid="stExpandSidebarButton"]');
    (opener?.querySelector("button") ?? opener)?.click();
  });
  let bare = false;   // a page was just opened, and its address does not hold the view yet
  const push = history.pushState.bind(history);
  history.pushState = (state, unused, url) => {
    const next = new URL(url ?? location.href, location.href);
    const other = next.pathname !== location.pathname;
    if (bare && !other && !location.search) history.replaceState(state, unused, url);
    else push(state, unused, url);
    bare = other && !next.search;
  };
  for (const act of ["pointerdown", "keydown", "popstate"]) window.addEventListener(act, () => { bare = false; }, true);
}
"""


def bar(text: str, pair: str | None) -> None:
    """The sentence and a button that opens the sidebar; shown on screens where the sidebar is closed."""
    shown = text.strip() or "No text yet"
    shown = shown[:200] + (f" ⏐ {pair.strip()[:100]}" if pair else "")
    line = f'<span dir="auto">{html.escape(shown)}</span><button type="button">Change</button>'
    st.html(f'<div class="enc-bar">{line}</div><script>{SCRIPT}</script>', unsafe_allow_javascript=True)
