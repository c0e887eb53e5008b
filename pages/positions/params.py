"""The address parameters of the page “Positions”."""

from pages.state import Param, choice, state


@state.register
class Params:
    """part: what the reverse order changes, or leaving out positions; the encoding, or the similarity of its positions.

    rows: which positions are drawn; encoding: that of the model, or sines and cosines for comparison; product: the
    similarity of two positions.
    """

    part: Param[str] = choice("order", ("order", "without", "encoding", "similar"), url="positions_part")
    rows: Param[str] = choice("sentence", ("sentence", "all"))
    encoding: Param[str] = choice("model", ("model", "sines"))
    product: Param[str] = choice("cosine", ("cosine", "dot"))
