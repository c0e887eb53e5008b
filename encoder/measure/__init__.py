"""Numbers about a trace: measures and roles of heads, similarity, what attention moves, rollout, norms.

Pure functions on traces and on attention maps. Maps are walked through chunk by chunk, so that long texts fit.
What needs pandas or scikit-learn imports them when it is called.
"""
