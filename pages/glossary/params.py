"""The values of the page Glossary in the address."""

from encoder.words.glossary import BY_KEY
from encoder.words.references import BY_KEY as REFERENCES
from pages.state import Param, choice, state


@state.register
class Params:
    """The selected term, and the selected reference; "": none."""

    term: Param[str] = choice("", ("", *BY_KEY))
    source: Param[str] = choice("", ("", *REFERENCES), url="cited")
