"""The layout of the page: grid, large map and words, in this order for screen readers and narrow screens.

A wide page has them side by side, so that grid and map are seen without scrolling.
"""

from __future__ import annotations

#: Widths are those of the page without the sidebar.
STYLE = """
.st-key-heads-page, .st-key-heads-below { container-type: inline-size; }
.st-key-heads-grid, .st-key-heads-head, .st-key-heads-words { gap: 0.6rem; }
.st-key-heads-grid h2 { padding: 0 0 0.25rem; line-height: 1.2; }
/* Pin buttons show an icon; their text is for screen readers. */
.st-key-pin [data-testid="stMarkdownContainer"], [class*="st-key-unpin-"] [data-testid="stMarkdownContainer"] {
  position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%);
}
@container (min-width: 680px) {
  .st-key-heads-body {
    display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); grid-template-rows: auto 1fr;
    gap: 0.6rem 1.5rem; align-items: start;
  }
  /* The map stays in the window while the lists beside it are scrolled. */
  .st-key-heads-body > :nth-child(2) { grid-column: 2; grid-row: 1 / span 2; position: sticky; top: 4.5rem; }
  .st-key-heads-body > :nth-child(3) { grid-column: 1; grid-row: 2; }
}
@container (min-width: 560px) {
  [class*="st-key-heads-pins-"] { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem 1.5rem; }
}
@container (min-width: 840px) {
  .st-key-heads-pins-3 { grid-template-columns: repeat(3, minmax(0, 1fr)); }
}
@container (min-width: 1100px) {
  .st-key-heads-pins-4 { grid-template-columns: repeat(4, minmax(0, 1fr)); }
}
"""
