"""The special tokens that a checkpoint's files name."""

from __future__ import annotations

from pathlib import Path

from encoder.errors import LoadError
from encoder.text_file import parse_json


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
