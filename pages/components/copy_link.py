"""`copy_link`: shows the address of the view and copies it, with or without the user's text."""

from collections.abc import Mapping, Sequence

from encoder.drawing import wire

from . import assets
from .headers import CopyLinkHeader

_render = assets.component("copy_link")


def copy_link(query: Mapping[str, str], typed: Sequence[str], *, key: str, note: str = "", network: str = "") -> None:
    """Draws the link of this page with these values, and buttons that copy it.

    Copying works over plain http, too. The browser adds the host and the page's path: only it knows of a proxy.

    query: name -> value of everything in the link. typed: the names of the user's text; the second button leaves them
    out. key: the widget's key. note: a sentence below the link. network: this
    machine's address in the network: a browser on this machine then offers a second link, which a phone opens.
    """
    header: CopyLinkHeader = {"query": dict(query), "typed": list(typed), "note": note, "network": network}
    _render(key=key, data=wire.pack(header, {}))
