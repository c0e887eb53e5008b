"""The values of the page “By hand” in the address."""

from pages.state import Param, choice, state, string


@state.register
class Params:
    """The open part of the page, and the changed numbers."""

    part: Param[str] = choice("calculation", ("calculation", "notes"), url="worked")
    inputs: Param[str] = string(url="hand", public="numbers of the example")
