"""Divergence of heads, norm-weighted attention, rollout, the plane of queries and keys, deletion."""
