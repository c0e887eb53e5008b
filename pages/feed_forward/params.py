"""The values of the page Feed-forward in the address, next to layer, token, neuron and outcome."""

from pages.state import Param, choice, state

#: Neurons of the map that has a column for each; on a phone a column is 13 pixels wide.
MOST_ACTIVE = 24
NEURONS = {"most": f"{MOST_ACTIVE} most active", "all": "All neurons"}


@state.register
class Params:
    """neurons: which ones the map shows."""

    neurons: Param[str] = choice("most", NEURONS)
