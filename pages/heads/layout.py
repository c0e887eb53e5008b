"""The layout of the page: grid, large map and words, in this order for screen readers and narrow screens.

A wide page has them side by side, so that grid and map are seen without scrolling.
"""

from __future__ import annotations
