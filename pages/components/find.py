"""`find`: a search over everything that can be opened, in a dialog; Ctrl K or a button of the class opens it.

`ask` is its other half, a component without a picture: it sends a question and passes on its answer, so that the
entries are not sent again.
"""

from collections.abc import Callable, Mapping, Sequence

from encoder.drawing import wire

from . import assets, events
from .headers import AskHeader, FindAnswer, FindEntry, FindHeader

#: The class of the buttons that open the dialog.
OPENER = "enc-find-opener"
_render = assets.component("find")
_render_ask = assets.component("ask")


def packed(entries: Sequence[FindEntry]) -> bytes:
    """What `find` sends: the same for all visitors, so it is made once."""
    header: FindHeader = {"entries": list(entries), "opener": OPENER}
    return wire.pack(header, {})


def find(entries: bytes, *, key: str, on_open: Callable[[str, Mapping[str, str]], None]) -> None:
    """Offer the entries, as `packed` gives them.

    The dialog adds heads such as “L3 H1”. on_open: gets page and values of the chosen entry before the page runs again;
    a browser may send any.
    """

    def opened() -> None:
        chosen = events.state(key).get("open")
        page, values = (chosen.get("page"), chosen.get("values")) if isinstance(chosen, Mapping) else (None, None)
        if isinstance(page, str) and isinstance(values, Mapping):
            on_open(page, {name: text for name, text in values.items() if isinstance(text, str)})

    _render(key=key, data=entries, on_open_change=opened)


def ask(answer: FindAnswer | None, *, here: str, key: str, on_ask: Callable[[str], None]) -> None:
    """Send what is typed in the search, and show its answer there.

    answer: to the last question, None without one; here: the folder of the open page; on_ask: gets the next question
    before this part of the page runs again.
    """

    def asked() -> None:
        sent = events.state(key).get("ask")
        typed = sent.get("typed") if isinstance(sent, Mapping) else None
        if isinstance(typed, str) and typed.strip():
            on_ask(typed)

    header: AskHeader = {"here": here, "answer": answer}
    _render_ask(key=key, data=wire.pack(header, {}), on_ask_change=asked)
