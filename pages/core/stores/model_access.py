"""Which checkpoints a visitor may open: any on their own machine, those of the operator's folder on a shared server."""

import os

from encoder.checkpoints import inside
from encoder.checkpoints.places import MAPS_ENDINGS
from encoder.errors import LoadError
from pages.base.access import visitors
from pages.core.words.markdown import plain


def models_root() -> str | None:
    """The operator's folder of models, or None."""
    return os.environ.get("ENCODERSCOPE_MODELS_ROOT") or None


def source_help() -> str:
    """Help text: which folders or Hub ids a visitor may type here."""
    if models_root():
        names = ", ".join(plain(name) for name in offered_folders()) or "(empty)"
        return f"The name of a folder in this server's models folder: {names}"
    if visitors.for_one_person():
        return (
            "A local folder in Hugging Face's layout (config.json, model.safetensors, tokenizer.json), a Hub id, or "
            "a file of attention maps."
        )
    return "This server is shared. It offers the bundled models and untrained encoders."


def without_root(sentence: str) -> str:
    """An error text for visitors: it does not tell where the operator's folder is."""
    root = models_root()
    if root is None:
        return sentence
    home = os.path.realpath(root)
    return sentence.replace(f"{home}{os.sep}", "").replace(home, os.path.basename(home))


def offered_folders() -> list[str]:
    """The names of the operator's checkpoints."""
    root = models_root()
    if root is None or not os.path.isdir(root):
        return []
    return sorted(
        entry.name
        for entry in os.scandir(root)
        if (entry.is_dir() or entry.name.endswith(MAPS_ENDINGS)) and not entry.name.startswith(".")
    )


def allowed_source(name: str) -> str:
    """The argument of `encoder.load` for a typed name. Raises LoadError if the server does not offer it."""
    name = name.strip()
    if not name:
        raise LoadError("No model is named: type a folder or a Hub id such as org/name, or choose a bundled model.")
    root = models_root()
    if root is not None:
        return str(inside(root, name))
    if not visitors.for_one_person():
        raise LoadError(
            f"This server does not offer {name!r}: it is shared and opens no folder that a visitor names. Its operator "
            "can offer models with --models-root. On your own machine any folder or Hub id works."
        )
    return name
