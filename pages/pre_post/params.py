"""The values of the page “Pre/post-norm” in the address."""

from pages.state import Param, choice, flag, state

SIDES = ("heads", "stream", "curves")


@state.register
class Params:
    """Which part is open, and the curves that are drawn."""

    sides: Param[str] = choice("heads", SIDES)
    curve: Param[str] = choice("held_out_accuracy", ("held_out_accuracy", "held_out_loss", "loss", "gradient_norm"))
    depth: Param[str] = choice("deep", ("all", "shallow", "deep"))
    clock: Param[bool] = flag()
