"""A run: what is opened, what goes in, what is changed, and which part is shown.

    >>> from encoder.run import ModelSpec, Run, Text
    >>> run = Run(ModelSpec("minilm"), Text("A cat sat."))
    >>> run.trace().tokens[1]
    'a'

`values` has the frozen values, `address` writes and reads them as a link does, `code` and `command` print the Python
lines and the command line that run the same.
"""

from encoder.run.untrained import Untrained
from encoder.run.values import DECODER, TRAINED, UNTRAINED, Media, ModelSpec, Place, Run, Text

__all__ = ["DECODER", "TRAINED", "UNTRAINED", "Media", "ModelSpec", "Place", "Run", "Text", "Untrained"]
