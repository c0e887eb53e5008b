"""How the bundled encoders of handwritten digits were trained: `python -m recipes.digits`, `make digits`.

`training` has the recipe, `finish` writes encoder/data/digits-pre and encoder/data/digits-post. The images are in
encoder/inputs/digits.py.
"""
