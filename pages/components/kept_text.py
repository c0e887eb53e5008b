"""`kept_text`: texts that are too long for the address, kept by the browser's tab until it is closed."""

from collections.abc import Mapping

from encoder.export import wire

from . import assets

_render = assets.component("kept_text")


def kept_text(save: Mapping[str, str], *, key: str) -> None:
    """Save texts under their digests, for the next session of this tab (pages/state/kept.py); nothing is shown."""
    _render(key=key, data=wire.pack({"save": dict(save)}, {}))
