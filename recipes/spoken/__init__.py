"""How "spoken-digits" was trained, on digits that Debian's espeak-ng says: `python -m recipes.spoken`, `make digits`.

The held-out recordings, which the app plays, are in encoder/inputs/spoken_digits.py.
"""
