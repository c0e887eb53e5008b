"""Attention maps of a text of any length: whole, with every option of a page, or in parts and blocks of tokens."""
