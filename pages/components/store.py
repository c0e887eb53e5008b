"""What the browser keeps: `store`, arrays that a component draws; `kept_text`, texts too long for the address.

A component's data is one message. If the browser has the whole message already, Streamlit sends its hash only. So
large arrays that stay the same are apart from the values that change. A tab keeps its texts until it is closed.
"""

import hashlib
from collections.abc import Mapping

import numpy as np

from encoder.drawing import wire
from encoder.drawing.headers import StoredArrays

from . import assets
from .headers import KeptTextHeader

_store, _kept_text = map(assets.component, ("store", "kept_text"))


def store(arrays: Mapping[str, np.ndarray], *, key: str, digest: str | None = None) -> StoredArrays:
    """Send arrays (dtypes of `wire`) under a name; the page shows nothing.

    digest: identifies these arrays under this name; if unset, a digest of their bytes.
    Returns {"name", "digest"}, for the header of the other component, which finds the arrays in the browser by them.
    """
    if digest is None:
        digest = hashlib.blake2b(wire.pack({}, arrays), digest_size=12).hexdigest()
    label: StoredArrays = {"name": key, "digest": digest}
    _store(key=key, data=wire.pack(label, arrays))
    return label


def kept_text(save: Mapping[str, str], *, key: str) -> None:
    """Save texts under their digests, for the next session of this tab (pages/state/kept.py); nothing is shown."""
    header: KeptTextHeader = {"save": dict(save)}
    _kept_text(key=key, data=wire.pack(header, {}))
