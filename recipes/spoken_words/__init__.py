"""How "spoken-words" was trained, the bundled pair of encoders of spoken digits and captions: `make digits`.

`captions` has the captions, `training` the pair and its loss, `finish` writes encoder/data/spoken-words. The voices are
those of recipes/spoken.
"""
