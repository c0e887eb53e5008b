"""Training: the recipe of the bundled twins, small tasks trained live, gradients at initialisation.

`twins` is the command that trains and writes the twins (`corpus`, `rows`, `mlm`, `checkpoint`, `finish`); `curves`
reads what it recorded; `tasks` and `loop` train a small task while a page looks on; `gradients` measures Xiong et
al. 2020.
"""
