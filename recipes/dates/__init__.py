"""How the bundled translators of dates and number words were trained: `python -m recipes.dates`, `make dates`.

`phrasings` writes examples, `training` has the recipe, `finish` writes encoder/data/dates-pre and dates-post. What the
right output is, and which words give it, is in encoder/measure/dates.py.
"""
