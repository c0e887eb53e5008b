"""Small tasks trained live, gradients at initialisation, and the recorded curves of the bundled twins.

`tasks` and `settings` describe a run, `loop` trains it while a page polls it, `run_view` is a run at one time,
`progress` has what is new since then, `single_file` saves it, `recorded` has finished runs; `gradients` measures what
Xiong et al. 2020 bound; `curves` reads what `recipes/twins` recorded.
"""

from encoder.train import curves, gradients, loop, progress, recorded, run_view, settings, single_file, tasks

__all__ = ["curves", "gradients", "loop", "progress", "recorded", "run_view", "settings", "single_file", "tasks"]


def __dir__() -> list[str]:
    return __all__
