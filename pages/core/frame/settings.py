"""The drawer “Examples and settings”: sentences to try, colours, device, precision, and the memory in use."""

from collections.abc import Callable

import streamlit as st

from encoder.model.device import DTYPES, available_devices, memory_in_use
from pages.components.lazy import KEY, popover
from pages.core.stores import cache, sizes
from pages.core.view import View, ViewParams
from pages.core.view.view import COLOURS
from pages.state import state

_DEVICES = {"auto": "automatic", "cpu": "CPU", "cuda": "GPU (CUDA)", "mps": "GPU (MPS)"}


def check_device() -> None:
    """Another device than this machine has, in a link, gives a note."""
    device = state.newest(ViewParams.device)
    if device not in ("auto", *available_devices()):
        state.note(f"device={device}: this machine has {', '.join(available_devices())}. Shown: automatic.")
        state.put(ViewParams.device, "auto")


def controls(view: View | None, examples: Callable[[View | None], None] | None) -> None:
    """Examples; colours of the maps; where and with which precision the model runs; its size and memory.

    examples: draws them, and what else a sentence may be; None on a page without the sentence.
    """
    # Keys of their own: the search opens the drawer with the examples on a page that has them.
    title, key = ("Settings", "machine") if examples is None else ("Examples and settings", "settings")
    part = popover(title, key, icon=":material/settings:")
    if part is None:
        return
    with part:
        if examples is not None:
            with st.container(key=f"{KEY}input"):
                examples(view)
        state.bound(st.selectbox, ViewParams.colours, "Colours of the maps", COLOURS, format_func=str.title)
        offered = ("auto", *available_devices())
        state.bound(
            st.selectbox, ViewParams.device, "Device", offered, format_func=lambda name: _DEVICES.get(name, name)
        )
        state.bound(st.selectbox, ViewParams.dtype, "Precision", DTYPES, help="bfloat16 needs half the memory.")
        if view is not None:
            st.caption(_facts(view))


def _facts(view: View) -> str:
    """The model's name, size and device, and the memory in use."""
    model = view.loaded
    weights = sizes.model_bytes(model)
    megabytes = f"{weights / 1e6:,.0f}" if weights >= 1e6 else f"{weights / 1e6:.2g}"
    return (
        f"{model.name}: {model.n_parameters:,} parameters, {megabytes} MB of weights on {str(model.device).upper()}. "
        f"Memory in use: {memory_in_use(model.device) / 1e6:,.0f} MB, of it {cache.bytes_in_use() / 1e6:,.0f} MB for "
        "traces."
    )
