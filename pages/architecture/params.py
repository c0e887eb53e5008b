"""The values of the page “Architecture” in the address."""

from dataclasses import dataclass

from pages.state.params import Param, choice, string
from pages.state.url_state import state


@state.register
@dataclass(frozen=True)
class Params:
    """The open part of the page, the contents of the blocks, and the open block."""

    part: Param[str] = choice("diagram", ("diagram", "stream", "cost"), url="show")
    says: Param[str] = choice("shape", ("shape", "parameters", "flops", "memory"))
    block: Param[str] = string(public="the name of a block of the diagram")
