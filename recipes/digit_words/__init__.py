"""How "digit-words" was trained, the bundled pair of encoders of digits and captions: `make digits`.

`strokes` says how thick a digit is, `training` has the contrastive loss, `finish` writes encoder/data/digit-words.
`captions` has the captions; their templates, which the app shows, are in encoder/inputs.
"""
