"""The frame of every page: navigation, sidebar, settings, presentation, the bar of narrow screens."""
