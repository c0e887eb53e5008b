"""`store`: arrays that a component draws and that seldom change, as a message of their own.

A component's data is one message. If the browser has the whole message already, Streamlit sends its hash only. So
large arrays that stay the same are apart from the values that change.
"""

import hashlib
from collections.abc import Mapping

import numpy as np

from encoder.export import wire

from . import assets

_render = assets.component("store")


def store(arrays: Mapping[str, np.ndarray], *, key: str, digest: str | None = None) -> dict[str, str]:
    """Send arrays (dtypes of `wire`) under a name; the page shows nothing.

    digest: identifies these arrays under this name; if unset, a digest of their bytes.
    Returns {"name", "digest"}, for the header of the other component, which finds the arrays in the browser by them.
    """
    if digest is None:
        digest = hashlib.blake2b(wire.pack({}, arrays), digest_size=12).hexdigest()
    label = {"name": key, "digest": digest}
    _render(key=key, data=wire.pack(label, arrays))
    return label
