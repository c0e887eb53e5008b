"""Text -> ids, padding, display labels, words from word pieces. The tokenizer itself is Hugging Face's `tokenizers`.

Shapes: T tokens, B batch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from encoder.errors import LoadError, TextError

if TYPE_CHECKING:
    import tokenizers


@dataclass(frozen=True)
class Tokenized:
    """One text (or pair) as tokens. All sequences have length T.

    tokens: as in the vocabulary ("##ing", "Ġcat"); labels: as shown to a person; words: index of the word a token
    belongs to, counted through both sentences, -1 for special tokens; segments: 0 or 1; special: True for [CLS] and its
    like; offsets: (start, end) characters in its sentence; n_full: tokens before anything was cut.
    """

    text: str
    pair: str | None
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    words: tuple[int, ...]
    segments: tuple[int, ...]
    special: tuple[bool, ...]
    offsets: tuple[tuple[int, int], ...]
    n_full: int

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def cut(self) -> bool:
        """Whether the text was longer than what is here."""
        return self.n_full > len(self.ids)


@dataclass(frozen=True)
class TextWindow:
    """A stretch of a long text, tokenized: special tokens are put around it, and its words count from 0.

    tokens: (first, one past the last) among the whole text's tokens, special ones not counted; characters: the same
    among its characters. The sentence's own offsets are characters of the whole text, too. slides: of a pair, which
    sentence these are of, 0 or 1; the other is in every window.
    """

    sentence: Tokenized
    tokens: tuple[int, int]
    characters: tuple[int, int]
    slides: int = 0


@dataclass(frozen=True)
class Batch:
    """Padded inputs: ids, segments [B, T] long; mask [B, T] bool, True: a real token; None where nothing is padded."""

    ids: Tensor
    segments: Tensor
    mask: Tensor | None


class Tokenizer:
    """A tokenizer that never truncates nor pads by itself, and is never changed after it is made: safe in threads."""

    def __init__(self, backend: tokenizers.Tokenizer, special: dict[str, str] | None = None) -> None:
        backend.no_truncation()
        backend.no_padding()
        self.backend = backend
        self.special = special or {}
        candidates = (self.special.get("pad_token"), "[PAD]", "<pad>")
        known = (token for token in candidates if token is not None and backend.token_to_id(token) is not None)
        self.pad_token = next(known, "[PAD]")
        self.pad_id = backend.token_to_id(self.pad_token)
        self.byte_level = any("ByteLevel" in repr(part) for part in (backend.pre_tokenizer, backend.decoder))

    @classmethod
    def from_file(cls, path: Path) -> Tokenizer:
        """Read `tokenizer.json`. Raises LoadError where it is not one."""
        import tokenizers

        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise LoadError(f"{path.name} is not a tokenizer that can be read ({error}): fetch it anew.") from error
        return cls(backend, read_special_tokens(path.parent))

    def lower_cased(self) -> Tokenizer:
        """The same tokenizer, which turns every text into lower case first."""
        import tokenizers

        backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        before = tokenizers.normalizers.Lowercase()
        after = backend.normalizer
        backend.normalizer = before if after is None else tokenizers.normalizers.Sequence([before, after])
        return Tokenizer(backend, self.special)

    @property
    def vocab_size(self) -> int:
        """Ids run from 0 to this number, added tokens included."""
        return self.backend.get_vocab_size(with_added_tokens=True)

    @property
    def mask_token(self) -> str | None:
        """The token that stands for a hidden word, where the vocabulary has one."""
        for token in (self.special.get("mask_token"), "[MASK]", "<mask>"):
            if token is not None and self.backend.token_to_id(token) is not None:
                return token
        return None

    @property
    def unk_token(self) -> str | None:
        """The token that stands for what the vocabulary has no pieces for, where there is one."""
        for token in (self.special.get("unk_token"), "[UNK]", "<unk>"):
            if token is not None and self.backend.token_to_id(token) is not None:
                return token
        return None

    @property
    def mask_id(self) -> int | None:
        """The id of `mask_token`."""
        token = self.mask_token
        return None if token is None else self.backend.token_to_id(token)

    def token(self, token_id: int) -> str:
        """Entry of the vocabulary."""
        return self.backend.id_to_token(token_id) or f"[{token_id}]"

    def encode(self, text: str, pair: str | None = None, max_tokens: int | None = None) -> Tokenized:
        """Tokens of a text, or of a text and its pair, special tokens included, cut from the end to `max_tokens`.

        A pair is cut sentence by sentence, the longer one first. Raises TextError when max_tokens leaves no room for a
        single token of text.
        """
        text = readable(text)
        pair = None if pair is None else readable(pair)
        first = self.backend.encode(text, add_special_tokens=False)
        second = None if pair is None else self.backend.encode(pair, add_special_tokens=False)
        n_special = self.backend.num_special_tokens_to_add(second is not None)
        n_full = len(first) + (len(second) if second is not None else 0) + n_special
        if max_tokens is not None and n_full > max_tokens:
            room = max_tokens - n_special
            if room < (1 if second is None else 2):
                raise TextError(f"max_tokens={max_tokens} leaves no room beside {n_special} special tokens.")
            n_first, n_second = _share(room, len(first), 0 if second is None else len(second))
            first.truncate(n_first)
            if second is not None:
                second.truncate(n_second)
        # Taken before post-processing, which empties both, and would shift byte-level offsets past a space once more.
        n_first = len(first)
        places = [*first.offsets, *(second.offsets if second is not None else ())]
        return self._finish(self.backend.post_process(first, second, True), places, text, pair, n_first, n_full)

    def windows(
        self, text: str, max_tokens: int, stride: int | None = None, pair: str | None = None
    ) -> list[TextWindow]:
        """A text of any length -> windows of `max_tokens` tokens, special ones included, `stride` after one another.

        stride: in tokens of text, by default half of what a window holds. Every token of the text is in a window; the
        last window may be shorter; a text that fits, and an empty one, gives one window.
        pair: the longer of the two slides; the other, like a question beside its passage (Devlin et al. 2019, SQuAD),
        stands whole in every window, or is cut where it would leave less than a quarter of the room.
        Raises TextError for a stride that leaves tokens out or does not move, and where there is no room for text.
        """
        text, pair = readable(text), None if pair is None else readable(pair)
        n_special = self.backend.num_special_tokens_to_add(pair is not None)
        room = max_tokens - n_special
        if room < (1 if pair is None else 2):
            raise TextError(f"max_tokens={max_tokens} leaves no room beside {n_special} special tokens.")
        typed = (text,) if pair is None else (text, pair)
        whole = [self.backend.encode(sentence, add_special_tokens=False) for sentence in typed]
        n_full = sum(map(len, whole)) + n_special
        slides = max(range(len(typed)), key=lambda which: len(whole[which]))
        n_kept = 0
        if pair is not None:
            n_kept = min(len(whole[1 - slides]), room - max(1, room // 4))
            room -= n_kept
        stride = max(1, room // 2) if stride is None else stride
        if not 1 <= stride <= room:
            raise TextError(f"stride={stride}: choose 1 to {room}, the tokens of text that a window holds.")
        whole[slides].truncate(room, stride=room - stride)  # what this library calls stride is the overlap
        found = []
        for index, part in enumerate((whole[slides], *whole[slides].overflowing)):
            both = [part]
            if pair is not None:  # encoded anew, as post-processing empties what it takes
                kept = self.backend.encode(typed[1 - slides], add_special_tokens=False)
                kept.truncate(n_kept)
                both.insert(1 - slides, kept)
            offsets = [list(one.offsets) for one in both]  # taken before post-processing, as in `encode`
            encoding = self.backend.post_process(both[0], None if pair is None else both[1], True)
            places = [place for own in offsets for place in own]
            sentence = self._finish(encoding, places, text, pair, len(offsets[0]), n_full)
            first, own = index * stride, offsets[slides]
            characters = (own[0][0], own[-1][1]) if own else (0, 0)
            found.append(TextWindow(sentence, (first, first + len(own)), characters, slides))
        return found

    def _finish(
        self,
        encoding: tokenizers.Encoding,
        places: list[tuple[int, int]],
        text: str,
        pair: str | None,
        n_first: int,
        n_full: int,
    ) -> Tokenized:
        special = tuple(bool(added) for added in encoding.special_tokens_mask)
        own = iter(places)
        offsets = tuple((0, 0) if is_special else next(own) for is_special in special)
        # Counted, not read from encoding.sequence_ids: post_process leaves None for the first sentence of a pair.
        content = 0
        sequences: list[int | None] = []
        for is_special in special:
            sequences.append(None if is_special else int(content >= n_first))
            content += not is_special
        sources = [(pair or "") if sequence == 1 else text for sequence in sequences]
        return Tokenized(
            text=text,
            pair=pair,
            ids=tuple(encoding.ids),
            tokens=tuple(encoding.tokens),
            labels=tuple(
                token if is_special else display_label(token, source[start:end], self.byte_level)
                for token, is_special, source, (start, end) in zip(
                    encoding.tokens, special, sources, offsets, strict=True
                )
            ),
            words=_words(encoding.word_ids, sequences),
            segments=tuple(encoding.type_ids),
            special=special,
            offsets=offsets,
            n_full=n_full,
        )

    def batch(
        self, sentences: Sequence[Tokenized], device: torch.device | str = "cpu", pad_to: int | None = None
    ) -> Batch:
        """Pad on the right to `pad_to`, by default to the longest: B sentences -> [B, T].

        Raises TextError for no sentence at all, and for one that is longer than `pad_to`.
        """
        if not sentences:
            raise TextError("There is no sentence to trace: give at least one.")
        longest = max(len(sentence) for sentence in sentences)
        if pad_to is not None and pad_to < longest:
            raise TextError(
                f"pad_to={pad_to}: this text is {longest:,} tokens, and padding only adds: choose {longest:,} or more, "
                "or a shorter text."
            )
        longest = longest if pad_to is None else pad_to
        padded = any(len(sentence) < longest for sentence in sentences)
        pad = self.pad_id if self.pad_id is not None else 0

        def fill(rows: list[tuple[int, ...]], value: int) -> Tensor:
            return torch.tensor([list(row) + [value] * (longest - len(row)) for row in rows], device=device)

        ids = fill([sentence.ids for sentence in sentences], pad)
        segments = fill([sentence.segments for sentence in sentences], 0)
        lengths = torch.tensor([len(sentence) for sentence in sentences], device=device)
        mask = torch.arange(longest, device=device) < lengths.unsqueeze(-1) if padded else None
        return Batch(ids, segments, mask)


def readable(text: str) -> str:
    """The text with a sign in place of each lone surrogate, which is no character. TextError for what is no text."""
    if not isinstance(text, str):
        several = "; for several texts there is trace_batch" if isinstance(text, list | tuple) else ""
        raise TextError(f"A text is needed (a str), not {type(text).__name__}{several}.")
    return text.encode("utf-8", "replace").decode("utf-8")


def _share(room: int, n_first: int, n_second: int) -> tuple[int, int]:
    """Split `room` between two sentences: each keeps its own length while it can, the longer gives way."""
    if n_second == 0:
        return min(room, n_first), 0
    half = room // 2
    if n_first <= half:
        return n_first, room - n_first
    if n_second <= room - half:
        return room - n_second, n_second
    return half, room - half


def _words(word_ids: list[int | None], sequence_ids: list[int | None]) -> tuple[int, ...]:
    """Word index per token, counted on through a second sentence; -1 for special tokens."""
    seen: dict[tuple[int | None, int | None], int] = {}
    return tuple(
        -1 if sequence is None or word is None else seen.setdefault((sequence, word), len(seen))
        for word, sequence in zip(word_ids, sequence_ids, strict=True)
    )


#: White space that would not be seen on an axis -> what is shown in its place.
VISIBLE = str.maketrans({" ": "␣", "\n": "⏎", "\r": "⏎", "\t": "⇥", "\u00a0": "␣", "\u3000": "␣"})


def display_label(token: str, covered: str, byte_level: bool = False) -> str:
    """What a person reads on an axis. covered: the characters of the text that the token stands for, all or in part.

    Word pieces keep their "##"; byte-level and unigram tokens lose the mark of the space before them. A token that is
    only a part of a character (an emoji in four bytes) shows the character and "…"; white space is made visible.
    """
    part = False
    if byte_level:
        text = token_text(token)
        part = text is None
        token = covered if text is None else text
    elif "▁" in token:
        token = token.replace("▁", " ")
    label = token.strip() or token.translate(VISIBLE)
    return f"{label}…" if part else label


def byte_characters() -> dict[str, int]:
    """Character -> byte in byte-level vocabularies (Radford et al. 2019).

    Printable bytes are their own Latin-1 characters; the others take the characters from 256 on, in order, so that a
    space is "Ġ" and a line's end "Ċ".
    """
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + index): byte for index, byte in enumerate(others)}


BYTE_OF = byte_characters()


def token_text(token: str) -> str | None:
    """The text that a byte-level token stands for; None where its bytes are no whole characters."""
    if any(character not in BYTE_OF for character in token):
        return token  # an added token, which is text as it is
    try:
        return bytes(BYTE_OF[character] for character in token).decode("utf-8")
    except UnicodeDecodeError:
        return None


def read_special_tokens(folder: Path) -> dict[str, str]:
    """Names of the special tokens from a checkpoint's `special_tokens_map.json` or `tokenizer_config.json`."""
    found: dict[str, str] = {}
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        path = folder / name
        if not path.is_file():
            continue
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise LoadError(f"{name} is not JSON: {error}") from error
        if not isinstance(entries, dict):
            raise LoadError(f"{name} holds no JSON object ({{...}}).")
        for key, value in entries.items():
            if key.endswith("_token") and isinstance(value, dict):
                value = value.get("content")
            if key.endswith("_token") and isinstance(value, str):
                found[key] = value
    return found
