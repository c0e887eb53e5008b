"""How "digit-words" was trained, the bundled pair of encoders of digits and captions: `make digits`.

`strokes` says how thick a digit is, `training` has the contrastive loss, `finish` writes encoder/data/digit-words.
The captions and their words are in encoder/inputs/captions.py.
"""
