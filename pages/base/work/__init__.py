"""Who computes when: pages that are drawn, long passes, long work with progress, the log."""
