"""Which checkpoints a visitor may name: all on one's own machine, the operator's folder on a shared server."""

from __future__ import annotations

import os

import streamlit as st

from encoder.errors import LoadError

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def for_one_person() -> bool:
    """Whether the app answers this machine alone, so that whoever uses it may read its files anyway."""
    return os.environ.get("ENCODERSCOPE_SHARED") != "1" and st.get_option("server.address") in _LOOPBACK


def models_root() -> str | None:
    """The folder whose sub-folders the operator offers, or None."""
    return os.environ.get("ENCODERSCOPE_MODELS_ROOT") or None


def source_help() -> str:
    """What may be typed as a folder or Hub id here."""
    if models_root():
        return "A folder's name below the models folder of this server: " + ", ".join(offered_folders() or ["(empty)"])
    if for_one_person():
        return "A local folder in Hugging Face's layout (config.json, model.safetensors, tokenizer.json), or a Hub id."
    return "This server is shared and offers the bundled model and encoders from scratch."


def without_root(sentence: str) -> str:
    """A sentence about a checkpoint as a visitor may read it: where the operator's folder lies is left out."""
    root = models_root()
    if root is None:
        return sentence
    home = os.path.realpath(root)
    return sentence.replace(f"{home}{os.sep}", "").replace(home, os.path.basename(home))


def offered_folders() -> list[str]:
    """Names of the operator's checkpoints."""
    root = models_root()
    if root is None or not os.path.isdir(root):
        return []
    return sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and not entry.name.startswith("."))


def allowed_source(name: str) -> str:
    """What `encoder.load` is to be given for the name that was typed. Raises LoadError where it is not offered."""
    from encoder.load import inside

    name = name.strip()
    if not name:
        raise LoadError("Type a folder or a Hub id such as org/name in the sidebar, or choose the bundled model.")
    root = models_root()
    if root is not None:
        return str(inside(root, name))
    if not for_one_person():
        raise LoadError(
            f"{name!r} is not offered: this server is shared, so it reads no folders that visitors name. Its operator "
            "can offer models with --models-root; on your own machine any folder or Hub id works."
        )
    return name
