"""Checkpoints from the Hugging Face Hub. Earlier downloads work without a network."""

import re
from pathlib import Path
from typing import Any

from encoder.errors import LoadError, quoted

#: The files that a checkpoint needs; never a pickle.
WANTED = ["*.json", "*.safetensors", "vocab.txt", "merges.txt", "*/vocab.txt", "*/merges.txt"]
#: Exports for other programs, which some repositories contain next to the weights.
UNWANTED = ["onnx/*", "openvino/*", "coreml/*", "checkpoint-*"]
#: How long to wait for the Hub's first answer. A network that drops packets would otherwise never end the wait.
PATIENCE_SECONDS = 5.0


def looks_like_hub_id(name: str) -> bool:
    """Whether `name` has the form org/name."""
    return re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", name) is not None and ".." not in name


#: Start of a name -> organisation, for models that were on the Hub before it had organisations.
_MOVED = {
    "bert-": "google-bert", "roberta-": "FacebookAI", "xlm-roberta-": "FacebookAI", "distilbert-": "distilbert",
    "albert-": "albert", "camembert-": "almanach", "electra-": "google", "all-": "sentence-transformers",
    "mpnet-": "microsoft", "ModernBERT-": "answerdotai", "vit-": "google",
}  # fmt: skip


def full_hub_id(name: str) -> str | None:
    """The Hub id of a name without its organisation, or None."""
    if re.fullmatch(r"[\w.-]+", name) is None:
        return None
    found = [f"{organisation}/{name}" for start, organisation in _MOVED.items() if name.startswith(start)]
    return found[0] if found else None


def download(name: str) -> Path:
    """Hub id -> local folder, downloaded or from the Hub's cache. Raises LoadError."""
    import huggingface_hub
    from huggingface_hub import errors

    try:
        huggingface_hub.HfApi().repo_info(name, timeout=PATIENCE_SECONDS)  # snapshot_download asks without a limit
    except errors.GatedRepoError as error:
        raise LoadError(f"{name} needs an agreement on the Hub: accept it there, log in, and try again.") from error
    except errors.RepositoryNotFoundError as error:
        raise LoadError(
            f"The Hub has no public model {quoted(name)}: check the spelling, or log in for a private one."
        ) from error
    except Exception as error:  # no network, offline mode, a proxy, the Hub: each library layer has its own error
        return cached(name, error)
    try:
        return snapshot(name, etag_timeout=PATIENCE_SECONDS)
    except Exception as error:
        raise LoadError(
            f"The download of {name} from the Hub is incomplete ({type(error).__name__}: {error}): try again."
        ) from error


def snapshot(name: str, **options: Any) -> Path:
    """The files of a Hub id that a checkpoint needs, as a folder."""
    import huggingface_hub

    return Path(huggingface_hub.snapshot_download(name, allow_patterns=WANTED, ignore_patterns=UNWANTED, **options))


def cached(name: str, why: Exception) -> Path:
    """The folder of an earlier download. Raises LoadError if there is none; `why` is the network's error."""
    try:
        return snapshot(name, local_files_only=True)
    except Exception:  # it is missing or incomplete
        raise LoadError(
            f"The Hub cannot be reached to download {name}: download the folder on a machine with a network, copy it "
            "here, and specify its path."
        ) from why
