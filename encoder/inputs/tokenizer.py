"""Tokenizer: text -> ids, sliding windows and padded batches. Hugging Face's `tokenizers` does the splitting.

Shapes: B batch, T tokens.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from encoder.errors import LoadError, TextError, quoted
from encoder.inputs.json_file import check_regular, read_special_tokens
from encoder.inputs.label_prompt import LabelPrompt
from encoder.inputs.nodes import Node, Span, TagTable, checked, nodes_of_tokens, spans_of, words_as_nodes
from encoder.inputs.text import Batch, TextWindow, Tokenized, readable
from encoder.inputs.token_labels import display_label
from encoder.inputs.tokenizer_bounds import MOST_GROWTH, growth_of, panics_raised

if TYPE_CHECKING:
    import tokenizers


@dataclass(frozen=True)
class _Given:
    """A text to tokenize. pieces: of it, which are tokenized one by one, or None; nodes: of which they are, or None."""

    text: str
    pieces: list[Span] | None = None
    nodes: tuple[Node, ...] | None = None


class Tokenizer:
    """A tokenizer that neither cuts nor pads unless asked. It never changes, so threads can share it.

    fill_to: each text gets padding tokens up to this number, to which every token attends (SigLIP); None: none.
    most_characters: of a text, None: any; a server bounds it, since the library takes several hundred bytes of memory
    for each. segmented: whether the second text of a pair is segment 1, else all is segment 0; cut_side: the end at
    which a text that is too long is cut, "right" or "left". label_prompt: splits a text into words that are tokenized
    one by one; tags: makes numbers of the paths of nodes, which are tokenized one by one; None for both: a text is
    tokenized as a whole.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        special: dict[str, str] | None = None,
        fill_to: int | None = None,
        most_characters: int | None = None,
        *,
        segmented: bool = True,
        cut_side: str = "right",
        label_prompt: LabelPrompt | None = None,
        tags: TagTable | None = None,
    ) -> None:
        backend.no_truncation()
        backend.no_padding()
        self.backend = backend
        self.special = special or {}
        self.pad_token = self._first_known("pad_token", "[PAD]", "<pad>") or "[PAD]"
        self.pad_id = backend.token_to_id(self.pad_token)
        self.fill_to, self.most_characters = fill_to, most_characters
        self.segmented, self.cut_side, self.label_prompt, self.tags = segmented, cut_side, label_prompt, tags
        self.byte_level = any("ByteLevel" in repr(part) for part in (backend.pre_tokenizer, backend.decoder))

    @classmethod
    def from_file(cls, path: Path) -> Tokenizer:
        """Read `tokenizer.json`. Raises LoadError for a file that is not a tokenizer."""
        import tokenizers

        try:
            check_regular(path)
            with panics_raised():
                backend = tokenizers.Tokenizer.from_file(str(path))
                normalizer = backend.normalizer
                growth = 1 if normalizer is None else growth_of(json.loads(normalizer.__getstate__()))
        except LoadError:
            raise
        except Exception as error:  # the library raises bare Exception
            raise LoadError(
                f"{path.name} is not a readable tokenizer ({quoted(str(error))}): download it again."
            ) from error
        if growth > MOST_GROWTH:
            raise LoadError(
                f"{path.name} can make a text {quoted(growth)} times longer, and at most {MOST_GROWTH} is allowed: "
                "choose another checkpoint."
            )
        made = cls(backend, read_special_tokens(path.parent))
        try:
            made.encode("a"), made.encode("a", "b")
        except Exception as error:
            raise LoadError(
                f"{path.name} cannot split a text of one letter ({quoted(str(error))}): download it again."
            ) from error
        return made

    def lower_cased(self) -> Tokenizer:
        """The same tokenizer, which first turns every text into lower case."""
        import tokenizers

        backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        backend.encode_special_tokens = self.backend.encode_special_tokens
        lower = tokenizers.normalizers.Lowercase()
        normalizer = backend.normalizer
        backend.normalizer = lower if normalizer is None else tokenizers.normalizers.Sequence([lower, normalizer])
        return self._but(backend=backend)

    def without_ends(self) -> Tokenizer:
        """The same tokenizer without special tokens around a text."""
        import tokenizers

        backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        backend.encode_special_tokens = self.backend.encode_special_tokens
        backend.post_processor = tokenizers.processors.TemplateProcessing(
            single="$A:0", pair="$A:0 $B:1", special_tokens=[]
        )
        return self._but(backend=backend)

    def keeping(self, markers: Iterable[str]) -> Tokenizer:
        """The same tokenizer, in which each marker of the vocabulary, or its first word, is one token in any text."""
        import tokenizers

        backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        backend.encode_special_tokens = self.backend.encode_special_tokens
        for marker in filter(str.strip, markers):
            known = (one for one in (marker, marker.split(None, 1)[0]) if backend.token_to_id(one) is not None)
            token = next(known, None)
            if token is not None and backend.encode(token, add_special_tokens=False).tokens != [token]:
                backend.add_special_tokens([tokenizers.AddedToken(token, normalized=False, special=True)])
        return self._but(backend=backend)

    def naming(self, special: dict[str, str]) -> Tokenizer:
        """The same tokenizer with more special tokens by name; its own come first."""
        return self._but(special=special | self.special)

    def filled_to(self, n_tokens: int | None) -> Tokenizer:
        """The same tokenizer with `fill_to`. Raises LoadError for a vocabulary without a padding token."""
        if n_tokens is not None and self.pad_id is None:
            raise LoadError("This model's texts are filled up with padding, and its tokenizer names no padding token.")
        return self._but(fill_to=n_tokens)

    def bounded(self, most_characters: int) -> Tokenizer:
        """The same tokenizer with `most_characters`."""
        return self._but(most_characters=most_characters)

    def word_by_word(self, prompt: LabelPrompt | None) -> Tokenizer:
        """The same tokenizer, which tokenizes word by word, as `prompt` splits a text; None: as a whole."""
        return self._but(label_prompt=prompt)

    def node_by_node(self, tags: TagTable | None) -> Tokenizer:
        """The same tokenizer, which tokenizes the nodes of a text one by one, with their paths; None: as a whole."""
        return self._but(tags=tags)

    def _but(self, **changes: Any) -> Tokenizer:
        """The same tokenizer with other settings."""
        names = ("backend", "special", "fill_to", "most_characters", "segmented", "cut_side", "label_prompt", "tags")
        return Tokenizer(**{name: getattr(self, name) for name in names} | changes)

    @property
    def vocab_size(self) -> int:
        """Number of ids, added tokens included."""
        return self.backend.get_vocab_size(with_added_tokens=True)

    @property
    def mask_token(self) -> str | None:
        """The token that hides a word, or None where the vocabulary has none."""
        return self._first_known("mask_token", "[MASK]", "<mask>")

    @property
    def unk_token(self) -> str | None:
        """The token for text outside the vocabulary, or None where there is none."""
        return self._first_known("unk_token", "[UNK]", "<unk>")

    @property
    def mask_id(self) -> int | None:
        """The id of `mask_token`."""
        token = self.mask_token
        return None if token is None else self.backend.token_to_id(token)

    def _first_known(self, kind: str, *usual: str) -> str | None:
        for token in (self.special.get(kind), *usual):
            if token is not None and self.backend.token_to_id(token) is not None:
                return token
        return None

    def token(self, token_id: int) -> str:
        """The vocabulary's entry for an id."""
        return self.backend.id_to_token(token_id) or f"[{token_id}]"

    def encode(
        self,
        text: str,
        pair: str | None = None,
        max_tokens: int | None = None,
        nodes: Sequence[Node] | None = None,
    ) -> Tokenized:
        """Tokens of a text, or of a text and its pair, special tokens included, cut at `max_tokens`.

        An empty pair is none. A pair is cut at the ends of both texts, the longer one first. nodes: of the text, or of
        the second one (`inputs.nodes`). Raises TextError when `max_tokens` leaves no room for text, and for nodes that
        do not fit.
        """
        texts = self._given(text, pair, nodes)
        encodings = [self._encode(part) for part in texts]
        n_full = sum(map(len, encodings)) + self._n_special(len(texts))
        if max_tokens is not None and n_full > max_tokens:
            lengths = _share(self._room(max_tokens, len(texts)), [len(encoding) for encoding in encodings])
            for encoding, length in zip(encodings, lengths, strict=True):
                encoding.truncate(length, direction=self.cut_side)
        return self._filled(self._finish(encodings, texts, n_full), max_tokens)

    def of_ids(self, ids: Sequence[int]) -> Tokenized:
        """Tokens that a decoder wrote: their text, and where each is in it. A token that begins with a space begins a
        word."""
        added = {one for one, token in self.backend.get_added_tokens_decoder().items() if token.special}
        special = tuple(one in added for one in ids)
        plain = [one for one, skip in zip(ids, special, strict=True) if not skip]
        ends = [len(self.backend.decode(plain[: n + 1])) for n in range(len(plain))]
        text, places, words, labels, n_words = self.backend.decode(plain), [], [], [], -1
        starts = iter(zip([0, *ends], ends, strict=False))
        for one, skip in zip(ids, special, strict=True):
            start, end = (0, 0) if skip else next(starts)
            covered, token = text[start:end], self.token(one)
            if not skip:
                n_words += n_words < 0 or covered[:1].isspace()
            places.append((start + len(covered) - len(covered.lstrip()), end) if covered.strip() else (start, end))
            words.append(-1 if skip else n_words)
            labels.append(token if skip else display_label(token, covered, self.byte_level))
        zeros = (0,) * len(special)
        return Tokenized(
            text=text,
            pair=None,
            ids=tuple(ids),
            tokens=tuple(map(self.token, ids)),
            labels=tuple(labels),
            words=tuple(words),
            segments=zeros,
            special=special,
            offsets=tuple(places),
            n_full=len(special),
        )

    def windows(
        self,
        text: str,
        max_tokens: int,
        stride: int | None = None,
        pair: str | None = None,
        nodes: Sequence[Node] | None = None,
    ) -> list[TextWindow]:
        """A text of any length -> windows of at most `max_tokens` tokens, special tokens included.

        stride: tokens of text from the start of one window to the start of the next, by default half of what a window
        contains. The windows cover every token; a text that fits, or is empty, gives one window.
        pair: the longer text slides; every window contains the other, as a question next to its passage (Devlin et al.
        2019, SQuAD). The other text is cut where it would leave less than a quarter of the room. nodes: of `encode`.
        Raises TextError for a stride that leaves out tokens or is below 1, and when there is no room for text.
        """
        texts = self._given(text, pair, nodes)
        room = self._room(max_tokens, len(texts))
        encodings = [self._encode(part) for part in texts]
        n_full = sum(map(len, encodings)) + self._n_special(len(texts))
        slides = int(len(encodings[-1]) > len(encodings[0]))
        n_fixed = 0
        if len(texts) == 2:
            n_fixed = min(len(encodings[1 - slides]), room - max(1, room // 4))
            room -= n_fixed
        stride = max(1, room // 2) if stride is None else stride
        if not 1 <= stride <= room:
            raise TextError(f"stride={stride} does not fit: choose 1 to {room}, the tokens of text in a window.")
        sliding = encodings[slides]
        sliding.truncate(room, stride=room - stride)  # the library's "stride" is the overlap
        found = []
        for index, part in enumerate([sliding, *sliding.overflowing]):
            parts = [part]
            if len(texts) == 2:  # encoded again, since `_finish` empties what it takes
                fixed = self._encode(texts[1 - slides])
                fixed.truncate(n_fixed)
                parts.insert(1 - slides, fixed)
            offsets = self._offsets(part, texts[slides])
            first = index * stride
            found.append(
                TextWindow(
                    sentence=self._filled(self._finish(parts, texts, n_full), max_tokens),
                    tokens=(first, first + len(offsets)),
                    characters=(offsets[0][0], offsets[-1][1]) if offsets else (0, 0),
                    slides=slides,
                )
            )
        return found

    def _given(self, text: str, pair: str | None, nodes: Sequence[Node] | None) -> list[_Given]:
        """One or two readable texts: an empty pair is none. The last one has the nodes."""
        second = "" if pair is None else readable(pair)
        texts = [readable(text), second] if second else [readable(text)]
        if self.tags is None:
            if nodes is not None:
                raise TextError("This tokenizer has no table of tags: leave the nodes out.")
            prompt = self.label_prompt
            return [_Given(one, None if prompt is None else prompt.words(one)) for one in texts]
        known = words_as_nodes(texts[-1]) if nodes is None else checked(nodes)
        first = [_Given(one, [(0, len(one))]) for one in texts[:-1]]
        return [*first, _Given(texts[-1], spans_of(texts[-1], known), known)]

    def _encode(self, given: _Given) -> tokenizers.Encoding:
        text, most = given.text, self.most_characters
        if most is not None and len(text) > most:
            raise TextError(
                f"This text has {len(text):,} characters, and at most {most:,} are shown: use a part of it."
            )
        try:
            with panics_raised():
                if given.pieces is None:
                    return self.backend.encode(text, add_special_tokens=False)
                pieces = [text[start:end] for start, end in given.pieces]
                return self.backend.encode(pieces, is_pretokenized=True, add_special_tokens=False)
        except Exception as error:  # the library raises bare Exception
            raise TextError(
                f"The tokenizer cannot split this text ({quoted(str(error))}): change it, or choose another model."
            ) from error

    def _words_of(self, encoding: tokenizers.Encoding, given: _Given) -> list[int | None]:
        """The word of each token. The library takes a piece for a word, and a node may have many."""
        splits = self.backend.pre_tokenizer
        if given.nodes is None or splits is None:
            return encoding.word_ids
        starts = []
        for start, end in given.pieces or ():
            starts += [start + at for _, (at, _) in splits.pre_tokenize_str(given.text[start:end])]
        return [bisect_right(starts, start) for start, _ in self._offsets(encoding, given)]

    def _offsets(self, encoding: tokenizers.Encoding, given: _Given) -> list[tuple[int, int]]:
        """(start, end) characters of the text for each token. The library counts from the start of a piece."""
        if (pieces := given.pieces) is None:
            return encoding.offsets
        starts = (pieces[piece][0] for piece in encoding.word_ids if piece is not None)
        return [(at + start, at + end) for at, (start, end) in zip(starts, encoding.offsets, strict=True)]

    def _n_special(self, n_texts: int) -> int:
        return self.backend.num_special_tokens_to_add(n_texts == 2)

    def _room(self, max_tokens: int, n_texts: int) -> int:
        """Tokens of text that fit next to the special ones. Raises TextError for less than one for each text."""
        n_special = self._n_special(n_texts)
        if max_tokens < n_special + n_texts:
            raise TextError(
                f"max_tokens={max_tokens} leaves no room next to {n_special} special tokens: choose "
                f"{n_special + n_texts} or more."
            )
        return max_tokens - n_special

    def _finish(self, encodings: list[tokenizers.Encoding], texts: list[_Given], n_full: int) -> Tokenized:
        """Add the special tokens. The library empties `encodings` as it does so."""
        # Read before that: afterwards, byte-level offsets would be one space too far.
        places = [
            (which, place, word)
            for which, encoding in enumerate(encodings)
            for place, word in zip(
                self._offsets(encoding, texts[which]), self._words_of(encoding, texts[which]), strict=True
            )
        ]
        with panics_raised():
            whole = self.backend.post_process(encodings[0], encodings[1] if len(encodings) == 2 else None, True)
        special = tuple(bool(added) for added in whole.special_tokens_mask)
        # Counted, not read from whole.sequence_ids, which gives None for the first text of a pair.
        if len(special) - sum(special) != len(places):
            raise TextError("The tokenizer repeats or drops parts of a text: choose another model.")
        remaining = iter(places)
        text_of: list[int | None] = []
        offsets, labels, words = [], [], []
        for token, is_special in zip(whole.tokens, special, strict=True):
            which, (start, end), word = (None, (0, 0), None) if is_special else next(remaining)
            text_of.append(which)
            offsets.append((start, end))
            words.append(word)
            covered = "" if which is None else texts[which].text[start:end]
            labels.append(token if which is None else display_label(token, covered, self.byte_level))
        found = Tokenized(
            text=texts[0].text,
            pair=texts[1].text if len(texts) == 2 else None,
            ids=tuple(whole.ids),
            tokens=tuple(whole.tokens),
            labels=tuple(labels),
            words=_words(words, text_of),
            segments=tuple(whole.type_ids) if self.segmented else (0,) * len(whole.type_ids),
            special=special,
            offsets=tuple(offsets),
            n_full=n_full,
            nodes=texts[-1].nodes,
        )
        return found if self.tags is None else replace(found, places=self._places(found, self.tags))

    def _places(self, sentence: Tokenized, tags: TagTable) -> tuple[tuple[int, ...], ...]:
        """The path of each token's node, as numbers."""
        paths = [tags.place(path) for _, path in sentence.nodes or ()]
        return tuple(tags.nowhere if node is None else paths[node] for node in nodes_of_tokens(sentence))

    def _filled(self, sentence: Tokenized, max_tokens: int | None) -> Tokenized:
        """The sentence with padding up to `fill_to`, or to `max_tokens` if that is less."""
        if self.fill_to is None or self.pad_id is None:
            return sentence
        n_tokens = self.fill_to if max_tokens is None else min(self.fill_to, max_tokens)
        return sentence.filled(self.pad_token, self.pad_id, n_tokens)

    def batch(
        self, sentences: Sequence[Tokenized], device: torch.device | str = "cpu", pad_to: int | None = None
    ) -> Batch:
        """Pad B texts on the right to `pad_to` tokens, by default to the longest: [B, T].

        Raises TextError for no text at all, and for a text longer than `pad_to`.
        """
        if not sentences:
            raise TextError("No text to trace: specify at least one.")
        n_tokens = max(len(sentence) for sentence in sentences)
        if pad_to is not None:
            if pad_to < n_tokens:
                raise TextError(
                    f"This text has {n_tokens:,} tokens, more than pad_to={pad_to}: choose {n_tokens:,} or more, or a "
                    "shorter text."
                )
            n_tokens = pad_to
        pad = self.pad_id if self.pad_id is not None else 0

        def fill(rows: list[tuple[int, ...]], value: int) -> Tensor:
            return torch.tensor([list(row) + [value] * (n_tokens - len(row)) for row in rows], device=device)

        ids = fill([sentence.ids for sentence in sentences], pad)
        segments = fill([sentence.segments for sentence in sentences], 0)
        mask = None
        if any(len(sentence) < n_tokens for sentence in sentences):
            lengths = torch.tensor([len(sentence) for sentence in sentences], device=device)
            mask = torch.arange(n_tokens, device=device) < lengths.unsqueeze(-1)
        placed = next((sentence.places for sentence in sentences if sentence.places is not None), None)
        if placed is None:
            return Batch(ids, segments, mask)
        nowhere = (0,) * len(placed[0])
        rows = [sentence.places or (nowhere,) * len(sentence) for sentence in sentences]
        ends = [sentence.nowhere if sentence.places else nowhere for sentence in sentences]
        places = [[*row, *[end] * (n_tokens - len(row))] for row, end in zip(rows, ends, strict=True)]
        return Batch(ids, segments, mask, torch.tensor(places, device=device))


def _share(room: int, lengths: list[int]) -> list[int]:
    """Cut one or two texts to `room` tokens: a text keeps its length while it can, the longer one is cut first."""
    if len(lengths) == 1:
        return [min(room, lengths[0])]
    first, second = lengths
    half = room // 2
    if first <= half:
        return [first, room - first]
    if second <= room - half:
        return [room - second, second]
    return [half, room - half]


def _words(word_ids: list[int | None], text_of: list[int | None]) -> tuple[int, ...]:
    """Word index of each token, counted on through a second text; -1 for special tokens."""
    numbers: dict[tuple[int, int], int] = {}
    words = []
    for word, text in zip(word_ids, text_of, strict=True):
        words.append(-1 if text is None or word is None else numbers.setdefault((text, word), len(numbers)))
    return tuple(words)
