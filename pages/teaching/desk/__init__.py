"""The teacher's desk, the invitation, and what a room adds to every page: its question and its line (in_room.py)."""
