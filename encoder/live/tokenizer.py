"""What the page's tokenizer needs, of a tokenizer.json whose parts it knows; `browser/engine/tokenizer.js` reads it.

Parts have the names and fields of the library `tokenizers`. Any other part is refused by a sentence, since a text
that is split in another way gives numbers of another text.
"""

import json
from collections.abc import Iterator
from typing import Any

from encoder.errors import EncoderError, quoted
from encoder.inputs.tokenizer import Tokenizer
from encoder.live.bounds import INSTEAD, refusal

#: Of each part of the tokenizer, the kinds that the page knows, and the values that a field of these may have.
KNOWN: dict[str, dict[str, dict[str, tuple[Any, ...]]]] = {
    "normalizer": {
        "Sequence": {},
        "BertNormalizer": {},
        "Lowercase": {},
        "NFC": {},
        "NFD": {},
        "NFKC": {},
        "NFKD": {},
        "StripAccents": {},
        "Strip": {},
        "Prepend": {},
        "Precompiled": {},
        # An expression may mean another thing in the browser: only this one is known to mean the same.
        "Replace": {"pattern": ({"Regex": " {2,}"},)},
    },
    "pre_tokenizer": {
        "Sequence": {},
        "BertPreTokenizer": {},
        "WhitespaceSplit": {},
        "ByteLevel": {},
        "Metaspace": {"prepend_scheme": ("always", "never")},
    },
    "model": {
        "WordPiece": {},
        "WordLevel": {},
        "BPE": {
            "byte_fallback": (False, None),
            "dropout": (None, 0.0),
            "continuing_subword_prefix": (None, ""),
            "end_of_word_suffix": (None, ""),
        },
        "Unigram": {"byte_fallback": (False, None)},
    },
}


def described(tokenizer: Tokenizer, name: str) -> dict[str, Any]:
    """What `tokenizer.js` reads. name: of the model, for errors.

    before, after: [id, token] of what goes around a text; mask: the token that hides a word, or None. Raises
    EncoderError for a part that the page does not know.
    """
    backend = tokenizer.backend
    whole = json.loads(backend.to_str())
    for part in KNOWN:
        for one in _parts(whole[part]):
            _check(part, one, name)
    if tokenizer.fill_to is not None:
        raise refusal(name, "texts filled with padding")
    if tokenizer.label_prompt is not None:
        raise refusal(name, "texts with labels, which are split word by word")
    if backend.encode_special_tokens:
        raise refusal(name, "special tokens that are split as words")
    before, after = _around(tokenizer, name)
    return {
        "normalizer": whole["normalizer"],
        "pre_tokenizer": whole["pre_tokenizer"],
        "model": whole["model"],
        "added": [_added(tokenizer, one) for one in whole["added_tokens"]],
        "before": before,
        "after": after,
        "bytes": tokenizer.byte_level,
        "cut": tokenizer.cut_side,
        "mask": tokenizer.mask_token,
    }


def _parts(part: Any) -> Iterator[dict[str, Any]]:
    """A part of a tokenizer.json and the parts in it."""
    if part is None:
        return
    yield part
    for inner in part.get("normalizers", part.get("pretokenizers", [])):
        yield from _parts(inner)


def _check(part: str, one: dict[str, Any], name: str) -> None:
    """Raise EncoderError for a kind of part, or a field of it, that the page does not know."""
    kind, title = str(one.get("type")), part.replace("_", "-")
    if kind not in KNOWN[part]:
        known = ", ".join(kind for kind in KNOWN[part] if kind != "Sequence")
        raise EncoderError(
            f"{name} has the {title} {quoted(kind)} in its tokenizer, and a page knows {known}: {INSTEAD}."
        )
    for field, values in KNOWN[part][kind].items():
        is_text = field == "pattern" and "String" in one[field]
        if one.get(field) not in values and not is_text:
            raise EncoderError(
                f"{name} has the {title} {kind} with {field} = {quoted(one.get(field))} in its tokenizer, which a page "
                f"does not know: {INSTEAD}."
            )


def _added(tokenizer: Tokenizer, token: dict[str, Any]) -> dict[str, Any]:
    """An added token; one that is looked for in the normalised text is normalised itself, as the library does."""
    normalizer = tokenizer.backend.normalizer
    is_changed = token["normalized"] and normalizer is not None
    return token | {"sought": normalizer.normalize_str(token["content"]) if is_changed else token["content"]}


def _around(tokenizer: Tokenizer, name: str) -> tuple[list[list[Any]], list[list[Any]]]:
    """The special tokens before and after a text."""
    one = tokenizer.encode("a")
    inside = [at for at, special in enumerate(one.special) if not special]
    if not inside or any(one.special[inside[0] : inside[-1] + 1]) or set(one.segments) != {0}:
        raise refusal(name, "special tokens inside a text, or a text that is not segment 0")
    tokens = [[number, token] for number, token in zip(one.ids, one.tokens, strict=True)]
    return tokens[: inside[0]], tokens[inside[-1] + 1 :]
