"""Checkpoints from the Hugging Face Hub, where there is a network."""

from __future__ import annotations

import re
from pathlib import Path

from encoder.errors import LoadError

#: What a checkpoint folder needs; never a pickle.
WANTED = ["*.json", "*.safetensors", "vocab.txt", "merges.txt", "*/config.json"]
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def looks_like_hub_id(name: str) -> bool:
    """Whether `name` has the form org/name."""
    return _HUB_ID.fullmatch(name) is not None and ".." not in name


def download(name: str) -> Path:
    """Hub id -> local folder, from the Hub's cache where it was fetched before. Raises LoadError in one sentence."""
    import huggingface_hub
    from huggingface_hub import errors

    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=WANTED))
    except errors.GatedRepoError as error:
        raise LoadError(
            f"{name} asks for an agreement on the Hub first: accept it there, log in, and try again."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise LoadError(
            f"The Hub has no public model {name!r}: check the spelling, or log in for a private one."
        ) from error
    except (OSError, errors.HfHubHTTPError, errors.LocalEntryNotFoundError) as error:
        raise LoadError(
            f"The Hub cannot be reached, so {name} cannot be fetched: download the folder where there is a network, "
            "copy it here and give its path instead."
        ) from error
    except Exception as error:  # httpx's own errors are no OSError, and the library to come may raise others
        raise LoadError(f"{name} could not be fetched from the Hub ({type(error).__name__}): {error}") from error
