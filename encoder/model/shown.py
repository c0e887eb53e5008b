"""Shown: what a notebook displays of an object is a picture, which `encoder.export` draws."""

import importlib


class Shown:
    """A mixin. The picture's module is imported by its name and when it is needed: exports are made of all others."""

    def _repr_html_(self) -> str:
        html: str = importlib.import_module("encoder.export.display").html(self)
        return html
