"""The views of a trace as objects: a head as a map, lines or text, all heads as small maps, and the whole model.

A view has its numbers as a table and its picture. `encoder.export` has the public names.
"""
