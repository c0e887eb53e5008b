"""The bundled encoders of handwritten digits, and how they were made: `python -m recipes.digits`, `make digits`.

`data` has the images and what makes a digit of any picture, `training` the recipe and the training, `finish` writes
encoder/data/digits-pre, encoder/data/digits-post and the examples.
"""

from encoder.inputs.digits import as_digit, decode, encode, examples

__all__ = ["as_digit", "decode", "encode", "examples"]
