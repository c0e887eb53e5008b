"""Lessons, questions whose answers are computed, and a class in a room."""
