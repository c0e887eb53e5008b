"""The bundled pair of encoders of digits and captions, "digit-words", and how it was made: `make digits`.

`captions` has the captions and their words, `strokes` how thick a digit is, `training` the contrastive loss and the
training, `finish` writes encoder/data/digit-words. `python -m recipes.digit_words` trains it again.
"""

from encoder.inputs.captions import TEMPLATES, UNSEEN_TEMPLATES, filled

__all__ = ["TEMPLATES", "UNSEEN_TEMPLATES", "filled"]
