"""The frame of every page: bar, search, input, settings, presentation."""
