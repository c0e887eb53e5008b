"""Heads over a whole corpus: every measure of every head, with intervals, examples and labels; an atlas on the disk.

    >>> atlas = corpus.build(model, ["a cat", "the dog ran"], "atlas")    # or Source("reviews.csv", labels=("stars",))
    >>> atlas = corpus.open_atlas("atlas")                    # later; corpus.iter_build yields the progress of a build
    >>> mean, error = atlas.array("previous"), atlas.array("previous", "se")    # [L, H] each
    >>> len(atlas.examples(2, 5, "previous"))
    2
    >>> corpus.over(model, ["a cat", "a dog"], causal.ablate_each_head).mean.shape    # any numbers of a text
    (6, 12)

`rows` says where texts come from, and `encoder.inputs.read` reads them; `watcher` and `batch` measure texts of one
length; `block` and `totals` add them up in any order; `staging` keeps a build that was ended; `tables` writes the atlas
and `atlas` opens it; `over` does so with any numbers of a text; `token_search` finds tokens, `token_index` maps them;
`on_ray` runs blocks on several machines.
"""

from encoder.corpus.atlas import Atlas, Difference, Example, bundled_atlases, difference, open_atlas, standing
from encoder.corpus.building import Progress, build, in_process, iter_build
from encoder.corpus.on_ray import Cluster
from encoder.corpus.over import OverTexts, over
from encoder.corpus.plan import Settings, model_about
from encoder.corpus.rows import BUNDLED, POS, Source
from encoder.corpus.token_index import iter_index, load_tokens
from encoder.corpus.token_search import Behaves, TokenHit, Tokens, token_vector
from encoder.inputs.read import FORMATS

__all__ = [
    "BUNDLED", "FORMATS", "POS", "Atlas", "Behaves", "Cluster", "Difference", "Example", "OverTexts", "Progress",
    "Settings", "Source", "TokenHit", "Tokens", "build", "bundled_atlases", "difference", "in_process", "iter_build",
    "iter_index", "load_tokens", "model_about", "open_atlas", "over", "standing", "token_vector",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
