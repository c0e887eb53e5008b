"""Measures of a trace: measures and types of heads, similarity, norm-weighted attention, rollout, norms.

Functions of traces and attention maps without side effects. They read maps chunk by chunk, so that long texts fit.
pandas and scikit-learn are imported only when a function needs them.
"""
