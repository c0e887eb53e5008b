"""Models, traces and derived values, kept and shared by all sessions."""
