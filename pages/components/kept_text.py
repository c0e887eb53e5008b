"""`kept_text`: texts that are too long for the address, kept by the browser's tab until it is closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from encoder.export import wire

from . import assets, events

#: Among the names asked for: the address before the open page, as the part after "?".
VIEW = "view"
_render = assets.component("kept_text")


def kept_text(
    save: Mapping[str, str], want: Sequence[str], *, key: str, on_found: Callable[[Mapping[str, str | None]], None]
) -> None:
    """Save texts under their names, and ask for others; the page shows nothing.

    on_found: gets name -> text of those asked for, None where the browser has none, before the page runs again.
    """

    def found() -> None:
        value = events.state(key).get("found")
        texts = value.get("texts") if isinstance(value, Mapping) else None
        texts = texts if isinstance(texts, Mapping) else {}
        on_found({name: text if isinstance(text, str) else None for name in want for text in [texts.get(name)]})

    _render(key=key, data=wire.pack({"save": dict(save), "want": list(want)}, {}), on_found_change=found)
