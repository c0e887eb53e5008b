"""The parts of a text that are left out together: words first, else phrases, sentences, or neighbours of these.

A word is what stands between two blanks, so that a number, a code or a name stays whole. Writing without blanks is
divided as the tokenizer divides it.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from encoder.inputs.text import Tokenized

Level = Literal["word", "phrase", "sentence", "passage"]

#: A longer chunk without a blank is divided as the tokenizer divides it.
LONGEST_WORD = 40
#: Writing that has no blanks between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_PHRASE_ENDS = re.compile(r"[,;:.!?)\]\u3001\u3002\uff0c\uff01\uff1f][\"'\u201d\u2019)\]]*$")
#: Marks around a word that its label leaves out.
_MARKS = ",;:.!?\"'()[]\u201c\u201d\u2018\u2019\u3001\u3002\uff0c\uff01\uff1f"
_SENTENCE_ENDS = re.compile(r"[.!?\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*$")


@dataclass(frozen=True)
class Part:
    """Tokens that are left out together. tokens: their places; span: (first, one past the last) character."""

    label: str
    tokens: tuple[int, ...]
    span: tuple[int, int]


def words(sentence: Tokenized, first: int = 0, side: int | None = None) -> list[Part]:
    """The words of a tokenized text, in its order. Special tokens belong to none.

    first: the character at which the text begins, behind a prompt; side: of a pair, the text that counts, 0 or 1.
    """
    text = (sentence.pair or "") if side == 1 else sentence.text
    found: dict[object, list[int]] = {}
    chunk_of = _chunks(text)
    for place, (begin, end) in enumerate(sentence.offsets):
        if sentence.special[place] or sentence.words[place] < 0 or (side or 0) != _side(sentence, place):
            continue
        while begin < end and text[begin].isspace():  # some tokenizers count the blank before a word
            begin += 1
        if begin < first:
            continue
        chunk = chunk_of[begin] if begin < len(chunk_of) else -1
        whole = chunk >= 0
        found.setdefault((True, chunk) if whole else (False, sentence.words[place]), []).append(place)
    return [_part(sentence, text, tokens) for tokens in sorted(found.values())]


def parts(sentence: Tokenized, most: int, first: int = 0, side: int | None = None) -> tuple[list[Part], Level]:
    """At most `most` parts: words, else phrases, else sentences, else passages of neighbouring sentences.

    A phrase ends at a mark, or where it has a multiple of the words that an even division would give it.
    """
    text = (sentence.pair or "") if side == 1 else sentence.text
    found = words(sentence, first, side)
    if len(found) <= most:
        return found, "word"
    even = -(-len(found) // most)
    for longest in (even, 2 * even, 4 * even):
        larger = _joined(text, found, _PHRASE_ENDS, longest)
        if len(larger) <= most:
            return larger, "phrase"
    larger = _joined(text, found, _SENTENCE_ENDS, len(found))
    if len(larger) <= most:
        return larger, "sentence"
    step = -(-len(larger) // most)
    groups = [larger[at : at + step] for at in range(0, len(larger), step)]
    return [_merged(text, group) for group in groups], "passage"


def sentences(sentence: Tokenized, first: int = 0) -> list[Part]:
    """The sentences of a tokenized text; a line's end closes one, too."""
    found = words(sentence, first)
    return _joined(sentence.text, found, _SENTENCE_ENDS, len(found))


def cut_at(sentence: Tokenized) -> str:
    """The words at which a text was cut, the last ones that the model accepts; "" for a text that is whole."""
    if not sentence.cut:
        return ""
    end = max(end for _, end in sentence.offsets)
    return " ".join(sentence.text[max(0, end - 80) : end].split()[1:])


def _chunks(text: str) -> list[int]:
    """For each character the number of its chunk between blanks; -1 where the tokenizer's words count."""
    found = [-1] * len(text)
    for number, match in enumerate(re.finditer(r"\S+", text)):
        if len(match.group()) <= LONGEST_WORD and not _UNSPACED.search(match.group()):
            found[match.start() : match.end()] = [number] * (match.end() - match.start())
    return found


def _side(sentence: Tokenized, place: int) -> int:
    """0, or 1 for a token of the pair; models without segments mark the pair by the order of their offsets."""
    if sentence.pair is None:
        return 0
    if any(sentence.segments):
        return sentence.segments[place]
    before = [sentence.offsets[at][0] for at in range(place + 1) if sentence.words[at] >= 0]
    return int(any(later < earlier for earlier, later in pairwise(before)))


def _part(sentence: Tokenized, text: str, tokens: list[int]) -> Part:
    begin, end = min(sentence.offsets[at][0] for at in tokens), max(sentence.offsets[at][1] for at in tokens)
    begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    written = text[begin:end].strip()
    label = written.strip(_MARKS) or written or sentence.labels[tokens[0]]
    return Part(label, tuple(tokens), (begin, end))


def _joined(text: str, found: list[Part], ends: re.Pattern[str], longest: int) -> list[Part]:
    """Neighbours up to an end, a new line or `longest` of them."""
    groups: list[list[Part]] = [[]]
    for place, part in enumerate(found):
        groups[-1].append(part)
        following = found[place + 1].span[0] if place + 1 < len(found) else None
        new_line = following is not None and "\n" in text[part.span[1] : following]
        full = len(groups[-1]) >= longest
        if following is not None and (new_line or full or ends.search(text[slice(*part.span)])):
            groups.append([])
    return [_merged(text, group) for group in groups if group]


def _merged(text: str, group: list[Part]) -> Part:
    begin, end = group[0].span[0], group[-1].span[1]
    return Part(" ".join(text[begin:end].split()), tuple(at for part in group for at in part.tokens), (begin, end))
