"""Models that were trained here: the server keeps the newest for all sessions, each by an id that nobody can guess."""

import copy
import dataclasses
import secrets

import streamlit as st

import encoder
from encoder.model.device import DTYPES, pick_device
from pages.core.stores.byte_cache import CACHE_MB, ByteCache

#: Bytes of the models trained here that the server keeps for all sessions together, the newest.
TRAINED_BYTES = CACHE_MB * 1_000_000 // 3
_TRAINED_MODELS = ByteCache(TRAINED_BYTES)
_OWN_MODELS = "_trained_models"


def keep_model(model: encoder.TextEncoder) -> str:
    """Keep a model that this session trained; returns the id that a ModelSpec or a link names it by.

    Nobody can guess the id. Whoever has the link can open the model while the server runs and has room for it.
    """
    name = secrets.token_urlsafe(9)
    _TRAINED_MODELS.get(name, lambda: model, lambda made: 4 * made.n_parameters)
    st.session_state.setdefault(_OWN_MODELS, {})[name] = model.name
    return name


def kept_models() -> dict[str, str]:
    """The models that this session trained and kept: id -> name on the screen."""
    return dict(st.session_state.get(_OWN_MODELS, {}))


def kept_model(name: str, device: str, dtype: str) -> encoder.TextEncoder:
    """The model of an id, on this device and with this number type. Raises LoadError if it is gone."""

    def gone() -> encoder.TextEncoder:
        raise encoder.LoadError(
            "The server no longer has this trained model: it keeps the newest ones until it restarts. Train it again "
            "on the page “Train a small encoder”, or open the file that you saved there."
        )

    model = _TRAINED_MODELS.get(name, gone, lambda _: 0)
    target, numbers = pick_device(device), DTYPES[dtype]
    if (target, numbers) == (model.device, model.encoder.dtype):
        return model
    return dataclasses.replace(model, encoder=copy.deepcopy(model.encoder).to(device=target, dtype=numbers))
