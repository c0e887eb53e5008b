"""Atlases of corpora: opened, built for a session, removed."""
