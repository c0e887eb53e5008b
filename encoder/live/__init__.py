"""A model that computes in the reader's browser: its files, what they may hold, and the pages around them.

`browser/` is the engine and its pages, in JavaScript; `site` writes a folder of them for any web server.
"""
