"""Similarity of heads, what attention moves, rollout, the plane of queries and keys, deletion."""
