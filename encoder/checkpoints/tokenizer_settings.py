"""What a folder's files say of its tokenizer, as transformers 5 puts them together: settings, special and added tokens.

tokenizer_config.json comes first. With its `added_tokens_decoder`, special_tokens_map.json and added_tokens.json are
not read; without it, they are, and then the added tokens of tokenizer.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import read_json

if TYPE_CHECKING:
    import tokenizers

FILE = "tokenizer_config.json"
#: The special tokens that every tokenizer may have, in the order in which they are added.
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
#: Flags of an added token.
FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "special")


@dataclass(frozen=True)
class TokenizerSettings:
    """The settings of a tokenizer.

    values: by name; added: the added tokens by id; named: special tokens by name, those of NAMED and of the model's own
    (a boundary of images); extra: special tokens without a name.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    added: Mapping[int, tokenizers.AddedToken] = field(default_factory=dict)
    named: Mapping[str, str | tokenizers.AddedToken] = field(default_factory=dict)
    extra: tuple[str | tokenizers.AddedToken, ...] = ()

    def flag(self, name: str, default: bool | None) -> bool | None:
        """True or false; null where the default is null. Raises LoadError for another value."""
        value = self.values.get(name, default)
        if value is None and default is None:
            return None
        if not isinstance(value, bool):
            raise wrong(name, value, "specify true or false")
        return value

    def whole(self, name: str, default: int) -> int:
        """A whole number. Raises LoadError for another value."""
        value = self.values.get(name, default)
        if type(value) is not int:
            raise wrong(name, value, "specify a whole number")
        return value

    def names(self, name: str) -> list[str] | None:
        """A list of texts, or None. Raises LoadError for another value."""
        value = self.values.get(name)
        if value is not None and (not isinstance(value, list) or not all(isinstance(one, str) for one in value)):
            raise wrong(name, value, "specify a list of names")
        return value


def wrong(name: str, value: Any, why: str) -> LoadError:
    """The error for a setting that cannot be followed."""
    return LoadError(f"{FILE} has {name}={quoted(value)}: {why}.")


def read_tokenizer_settings(
    folder: Path, overrides: Mapping[str, Any], in_json: Mapping[int, tokenizers.AddedToken]
) -> TokenizerSettings:
    """Read the files. overrides: settings that come before them; in_json: the added tokens of tokenizer.json.

    Raises LoadError for special or added tokens of another form.
    """
    path = folder / FILE
    values = {**(read_json(path) if path.is_file() else {}), **overrides}
    if "additional_special_tokens" in values and not values.get("extra_special_tokens"):
        values["extra_special_tokens"] = values.pop("additional_special_tokens")
    specific = {key: one for key, one in values.items() if key.endswith("_token") and key not in NAMED}
    specific = {key: one for key, one in specific.items() if isinstance(one, str)}
    if isinstance(values.get("extra_special_tokens"), dict):
        specific |= {key: as_token(key, one) for key, one in values.pop("extra_special_tokens").items()}
    if "added_tokens_decoder" in values:
        added = _of_decoder(values["added_tokens_decoder"])
    else:
        values |= _of_map(folder, values, overrides)
        if isinstance(values.get("extra_special_tokens"), dict):
            specific |= {key: as_token(key, one) for key, one in values.pop("extra_special_tokens").items()}
        extra = _extra(values)
        special = {str(as_token(key, values[key])) for key in NAMED if values.get(key) is not None}
        added = _of_added_tokens(folder, special | {str(one) for one in extra}) | dict(in_json)
    by_text = {str(token.content): token for token in added.values()}
    named = {key: as_token(key, values[key]) for key in NAMED if values.get(key) is not None}
    named = {key: by_text.get(str(one), one) for key, one in named.items()}
    return TokenizerSettings(values, added, named | specific, _extra(values))


def as_token(name: str, value: Any) -> str | tokenizers.AddedToken:
    """A special token: a text, or an object with its flags. Raises LoadError for another value."""
    from tokenizers import AddedToken

    if isinstance(value, str | AddedToken):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("content"), str):
        raise wrong(name, value, "specify the text of a token")
    flags = {key: bool(value[key]) for key in FLAGS if key in value}
    return AddedToken(value["content"], **flags)


def _extra(values: Mapping[str, Any]) -> tuple[str | tokenizers.AddedToken, ...]:
    found = values.get("extra_special_tokens") or ()
    if not isinstance(found, list | tuple):
        raise wrong("extra_special_tokens", found, "specify a list of tokens")
    return tuple(as_token("extra_special_tokens", one) for one in found)


def _of_decoder(decoder: Any) -> dict[int, tokenizers.AddedToken]:
    """The entries of added_tokens_decoder, by id."""
    if not isinstance(decoder, dict) or not all(isinstance(one, dict) for one in decoder.values()):
        raise wrong("added_tokens_decoder", decoder, "specify an object with a token for each id")
    try:
        return {int(token_id): as_token("added_tokens_decoder", one) for token_id, one in decoder.items()}  # type: ignore[misc]
    except ValueError:
        raise wrong("added_tokens_decoder", decoder, "specify whole numbers as ids") from None


def _of_map(folder: Path, values: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """What special_tokens_map.json says, unless an override says something."""
    path = folder / "special_tokens_map.json"
    if not path.is_file():
        return {}
    found = {key: one for key, one in read_json(path).items() if not overrides.get(key)}
    for key, one in found.items():
        if isinstance(one, dict) and key != "extra_special_tokens":
            found[key] = as_token(key, one | {"special": True})
    if isinstance(found.get("extra_special_tokens"), list):
        before = list(values.get("extra_special_tokens") or ())
        found["extra_special_tokens"] = before + [one for one in found["extra_special_tokens"] if one not in before]
    return found


def _of_added_tokens(folder: Path, special: set[str]) -> dict[int, tokenizers.AddedToken]:
    """The tokens of added_tokens.json, by id. special: those that are special."""
    from tokenizers import AddedToken

    path = folder / "added_tokens.json"
    entries = read_json(path) if path.is_file() else {}
    if not all(type(token_id) is int for token_id in entries.values()):
        raise LoadError(f"added_tokens.json in {folder.name} has ids that are not whole numbers: correct it.")
    return {
        token_id: AddedToken(token, normalized=token not in special, special=token in special)
        for token, token_id in entries.items()
    }
