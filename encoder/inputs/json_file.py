"""Files of text in a checkpoint's folder, from anywhere: only regular files, of a bounded size, are read."""

import errno
import json
from pathlib import Path
from typing import Any

from encoder import disk
from encoder.errors import LoadError

#: A larger file of text is refused unread. A vocabulary of 250,000 words, with its merges, has 17 MB.
MOST_BYTES = 200_000_000
#: The same for JSON, which takes many times its size in memory while it is read, and ten seconds for these.
JSON_BYTES = 30_000_000


def check_regular(path: Path, most: int = MOST_BYTES) -> None:
    """Raise LoadError for a pipe or a device, and for a file of more than `most` bytes; OSError for no file.

    Opening a pipe would wait for ever. A sparse file has any size and takes no room on the disk.
    """
    try:
        disk.check_regular(path, most)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EISDIR, errno.EFBIG):
            raise
        raise LoadError(f"{path.name} in {path.parent.name}: {error.strerror}. Copy the checkpoint again.") from None


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file in UTF-8. Raises LoadError for what `check_regular` refuses, and for another encoding."""
    try:
        check_regular(path, most)
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LoadError(
            f"{path.name[:80]} in {path.parent.name[:80]} cannot be opened ({error.strerror}): check its name and its "
            "permissions."
        ) from error
    except UnicodeError as error:
        raise LoadError(
            f"{path.name} in {path.parent.name} is not text in UTF-8, as JSON and vocabularies are: download it again."
        ) from error


def parse_json(path: Path) -> Any:
    """The JSON value in a file. Raises LoadError for anything else."""
    text = read_text(path, JSON_BYTES)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LoadError(
            f"{path.name} in {path.parent.name} is not readable JSON ({error}): download it again."
        ) from error


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object. Raises LoadError for a missing file, or another content."""
    if not path.exists():
        raise LoadError(
            f"{path.parent} is not a checkpoint, since it has no {path.name}: choose a folder in Hugging Face's layout."
        )
    value = parse_json(path)
    if not isinstance(value, dict):
        raise LoadError(f"{path.name} in {path.parent.name} has no JSON object ({{...}}): download it again.")
    return value


def read_special_tokens(folder: Path) -> dict[str, str]:
    """The special tokens that `special_tokens_map.json` or `tokenizer_config.json` name."""
    found: dict[str, str] = {}
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        path = folder / name
        if not path.is_file():
            continue
        entries = parse_json(path)
        if not isinstance(entries, dict):
            raise LoadError(f"{name} has no JSON object ({{...}}): download it again.")
        for key, value in entries.items():
            if key.endswith("_token") and isinstance(value, dict):
                value = value.get("content")
            if key.endswith("_token") and isinstance(value, str):
                found[key] = value
    return found


def safetensors_texts(content: bytes) -> dict[str, str]:
    """The texts in the header of a safetensors file. Raises ValueError where there are none."""
    found = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__", {})
    if not isinstance(found, dict):
        raise ValueError("its header holds no text")
    return found
