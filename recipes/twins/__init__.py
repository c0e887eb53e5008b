"""How the bundled twins were made: `python -m recipes.twins` trains twin-pre and twin-post and writes encoder/data.

`recipe` has the settings of every run, `corpus` the text and its vocabulary, `batches` rows and masks, `mlm` the model
and its training, `checkpoint` what survives an interruption, `finish` the files that ship.
"""
