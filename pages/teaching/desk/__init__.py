"""The teacher's desk, and what a room adds to every page: the face of a screen and its line (in_room.py)."""
