"""Shown: what a notebook displays of an object is a picture, a table or facts."""

from encoder import verbs


class Shown:
    """A mixin. What is displayed is registered by type in `encoder.export.display`."""

    def _repr_html_(self) -> str:
        return verbs.above.html(self)
