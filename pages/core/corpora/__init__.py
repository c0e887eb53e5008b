"""Atlases of corpora: which ones may be opened, and the line about a head in one."""
