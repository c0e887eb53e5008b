"""The values of the page “Pre/post-norm” in the address."""

from pages.state import Param, choice, state

SIDES = ("heads", "stream")


@state.register
class Params:
    """Which part is open."""

    sides: Param[str] = choice("heads", SIDES)
