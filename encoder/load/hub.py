"""Checkpoints from the Hugging Face Hub, where there is a network; those fetched before are there without one."""

from __future__ import annotations

import re
from pathlib import Path

from encoder.errors import LoadError

#: What a checkpoint folder needs; never a pickle.
WANTED = ["*.json", "*.safetensors", "vocab.txt", "merges.txt", "*/vocab.txt", "*/merges.txt"]
#: Exports for other programs, which some repositories hold beside the weights.
UNWANTED = ["onnx/*", "openvino/*", "coreml/*", "checkpoint-*"]
#: How long to wait for the Hub's first answer. A network that swallows packets would otherwise be waited for for ever.
PATIENCE_SECONDS = 5.0
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def looks_like_hub_id(name: str) -> bool:
    """Whether `name` has the form org/name."""
    return _HUB_ID.fullmatch(name) is not None and ".." not in name


#: Models that were on the Hub before it had organisations, by how their names begin.
_MOVED = {
    "bert-": "google-bert", "roberta-": "FacebookAI", "xlm-roberta-": "FacebookAI", "distilbert-": "distilbert",
    "albert-": "albert", "camembert-": "almanach", "electra-": "google", "all-": "sentence-transformers",
    "mpnet-": "microsoft", "ModernBERT-": "answerdotai", "vit-": "google",
}  # fmt: skip


def full_hub_id(name: str) -> str | None:
    """The Hub id that a name without its organisation is known by, or None."""
    if re.fullmatch(r"[\w.-]+", name) is None:
        return None
    found = [f"{organisation}/{name}" for start, organisation in _MOVED.items() if name.startswith(start)]
    return found[0] if found else None


def download(name: str) -> Path:
    """Hub id -> local folder, from the Hub's cache where it was fetched before. Raises LoadError in one sentence."""
    import huggingface_hub
    from huggingface_hub import errors

    try:
        huggingface_hub.HfApi().repo_info(name, timeout=PATIENCE_SECONDS)  # snapshot_download asks without a limit
    except errors.GatedRepoError as error:
        raise LoadError(
            f"{name} asks for an agreement on the Hub first: accept it there, log in, and try again."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise LoadError(
            f"The Hub has no public model {name!r}: check the spelling, or log in for a private one."
        ) from error
    except Exception as error:  # no network, offline mode, a proxy, the Hub itself: each library layer has its own
        return cached(name, error)
    try:
        found = huggingface_hub.snapshot_download(
            name, allow_patterns=WANTED, ignore_patterns=UNWANTED, etag_timeout=PATIENCE_SECONDS
        )
    except Exception as error:
        raise LoadError(
            f"{name} could not be fetched from the Hub as a whole ({type(error).__name__}: {error}): try again."
        ) from error
    return Path(found)


def cached(name: str, why: Exception) -> Path:
    """The folder that was fetched before. Raises LoadError where it was not, caused by `why` there is no network."""
    import huggingface_hub

    try:
        return Path(
            huggingface_hub.snapshot_download(
                name, allow_patterns=WANTED, ignore_patterns=UNWANTED, local_files_only=True
            )
        )
    except Exception:  # not there, or only a part of it
        raise LoadError(
            f"The Hub cannot be reached, so {name} cannot be fetched: download the folder where there is a network, "
            "copy it here and give its path instead."
        ) from why
