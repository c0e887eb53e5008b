"""The values of the page “Attention by hand” in the address."""

from pages.state.params import Param, choice, string
from pages.state.url_state import state


@state.register
class Params:
    """The open part of the page, and the changed numbers."""

    part: Param[str] = choice("calculation", ("calculation", "notes"), url="worked")
    inputs: Param[str] = string(url="hand", public="numbers of the example")
