"""`find`: a search over everything that can be opened, in a dialog; Ctrl K or a button of the class opens it."""

from collections.abc import Callable, Mapping, Sequence

from encoder.drawing import wire

from . import assets, events
from .headers import FindEntry, FindHeader

#: The class of the buttons that open the dialog.
OPENER = "enc-find-opener"
_render = assets.component("find")


def find(entries: Sequence[FindEntry], *, key: str, on_open: Callable[[str, Mapping[str, str]], None]) -> None:
    """Offer `entries`.

    The dialog adds heads such as “L3 H1”. on_open: gets page and values of the chosen entry before the page runs again;
    a browser may send any.
    """

    def opened() -> None:
        chosen = events.state(key).get("open")
        page, values = (chosen.get("page"), chosen.get("values")) if isinstance(chosen, Mapping) else (None, None)
        if isinstance(page, str) and isinstance(values, Mapping):
            on_open(page, {name: text for name, text in values.items() if isinstance(text, str)})

    header: FindHeader = {"entries": list(entries), "opener": OPENER}
    _render(
        key=key,
        data=wire.pack(header, {}),
        on_open_change=opened,
    )
