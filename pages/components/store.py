"""`store`: arrays that a component draws and that stay as they are while the rest of what it draws changes.

A component's data is one message. Streamlit sends a message that the browser has already by its hash alone, but only if
all of it is the same. So what is large and stays lies in a message of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import streamlit as st

from . import assets, wire

_render = st.components.v2.component(
    "encoderscope_store", js=assets.script("store"), css=assets.style("store"), isolate_styles=False
)


def store(arrays: Mapping[str, np.ndarray], *, key: str, digest: str | None = None) -> dict[str, str]:
    """Send arrays (dtypes of `wire`) under a name; nothing is seen of it on the page.

    digest: tells these arrays from others under this name; unset, one of their bytes.

    Returns:
        {"name", "digest"}: by these the other component, in whose header they go, finds the arrays in the browser.
    """
    if digest is None:
        digest = hashlib.blake2b(wire.pack({}, arrays), digest_size=12).hexdigest()
    label = {"name": key, "digest": digest}
    _render(key=key, data=wire.pack(label, arrays))
    return label
