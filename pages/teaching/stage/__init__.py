"""What a class sees: the wall for a projector, the ballot on a phone, and what an answer rests on (exhibit.py)."""
