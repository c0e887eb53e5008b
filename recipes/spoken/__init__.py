"""Spoken digits: the recordings of Debian's espeak-ng, the training of "spoken-digits", and the held-out recordings.

`python -m recipes.spoken` trains the bundled model again; `recordings.held_out` are the examples on the screen.
"""
