"""What somebody asks the search in words of their own: the entries whose meaning is nearest, by the bundled encoder.

An entry has several texts: all of it, its title, and each sentence of its detail. Its nearness is the mean of two
cosines with the question: that of the whole and that of its nearest text. The whole by itself hides one fitting
sentence among others; the nearest text by itself prefers short texts that share a word.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path

from encoder import EncoderError, search, similarity
from encoder.encoders.text import TextEncoder
from encoder.run import ModelSpec
from encoder.search import known
from pages.components.headers import FindAnswer, FindEntry, FindReason
from pages.core.stores import cache, model_store

MODEL = ModelSpec("minilm")
#: The vectors of all texts of the entries; `python -m docs.meanings` writes the file.
FILE = Path(__file__).with_name("meanings.safetensors")
#: Entries of an answer; of the first ones the words are shaded, which takes two forward passes each.
MOST, SHADED = 12, 5
#: An entry is left out whose nearness is smaller than this, or a smaller share of the first one's. For 60 questions
#: about these pages the first has 0.37 or more; for a recipe, an election or letters without a word, 0.30 or less.
LEAST, NEAR = 0.33, 0.55
#: Who asks wants to do something: a page and a control count more than a term that explains it, and than a step of a
#: lesson, whose words are those of a question. A setting is few words. Chosen by 10 questions; with these weights 9 of
#: 10 others are right, without them 7 (the long ones of `unseen` in tests/pages/newcomers.yml).
WEIGHT = {
    "Page": 1.05, "Control": 1.05, "Term": 0.95, "Lesson": 0.9, "Measure": 0.9, "Document": 0.9, "Setting": 0.75,
    "Example": 0.75,
}  # fmt: skip
#: Characters of a question that are compared.
LONGEST = 200
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
#: The name of a special token, which the tokenizer turns into this token itself: its vector says nothing of the name.
_SPECIAL = re.compile(r"\[([A-Z]+)\]")


@dataclass(frozen=True)
class Meanings:
    """The vectors of all texts, as `compared` has them.

    written: the texts as the entries have them; entries: of each text, its entry's number; whole: whether it is all of
    the entry; shown: the kind and title of each entry, by its number.
    """

    texts: search.Collection
    written: tuple[str, ...]
    entries: tuple[int, ...]
    whole: tuple[bool, ...]
    shown: tuple[tuple[str, str], ...]


def answer(entries: Sequence[FindEntry], version: Hashable, question: str) -> FindAnswer:
    """The nearest entries to a question, with the words that make them near; none where the encoder is not installed.

    version: changes when the entries change.
    """
    found: list[FindReason] = []
    asked = question[:LONGEST]
    try:
        model = model_store.model(MODEL)
        if not isinstance(model, TextEncoder):
            return {"typed": question, "found": found}
        meanings = cache.computed((version, "meanings"), lambda: _meanings(entries, model), heavy=True)
        for place, (entry, text) in enumerate(_nearest(meanings, model, compared(asked))[:MOST]):
            pieces, shares = _shaded(model, asked, text) if place < SHADED else ([text], [0.0])
            found.append({"entry": entry, "pieces": pieces, "shares": shares})
    except EncoderError:  # not installed, or nothing to compare: the search by words remains
        pass
    return {"typed": question, "found": found}


def texts_of(entry: FindEntry) -> Iterator[tuple[str, bool]]:
    """The texts of an entry, each with whether it is all of it."""
    title, detail, kind = entry["title"], entry["detail"], entry["kind"]
    if kind == "Lesson":  # its detail is the lesson's title and the number of the step
        yield f"{title}. {detail.rpartition(',')[0]}", True
        yield title, False
    elif kind in ("Setting", "Example"):
        yield f"{title}. {detail}", True
    else:
        yield f"{title}. {detail}", True
        yield title, False
        sentences = _SENTENCE.split(detail)
        if len(sentences) > 1:
            yield from ((sentence, False) for sentence in sentences if sentence)


def compared(text: str) -> str:
    """A text or a question as words only: "CLS" for "[CLS]"."""
    return _SPECIAL.sub(r"\1", text)


@once
def stored() -> known.Known:
    """The vectors of the file."""
    return known.from_bytes(FILE.read_bytes())


def _meanings(entries: Sequence[FindEntry], model: TextEncoder) -> Meanings:
    rows = [(number, *text) for number, entry in enumerate(entries) for text in texts_of(entry)]
    places, texts, whole = zip(*rows, strict=True)
    shown = tuple((entry["kind"], entry["title"]) for entry in entries)
    vectors = known.embed(model, [compared(text) for text in texts], stored())
    return Meanings(vectors, texts, places, whole, shown)


def _nearest(meanings: Meanings, model: TextEncoder, question: str) -> list[tuple[int, str]]:
    """(number of the entry, its nearest text), the nearest entry first, as far as `LEAST` and `NEAR`.

    Of entries that look the same, as settings of one name do, the nearest one counts.
    """
    best: dict[int, tuple[float, str]] = {}
    whole: dict[int, float] = {}
    for place, cosine in search.nearest(meanings.texts, model, question, len(meanings.texts)):
        entry = meanings.entries[place]
        best.setdefault(entry, (cosine, meanings.written[place]))  # the nearest comes first
        if meanings.whole[place]:
            whole[entry] = cosine
    shown = meanings.shown
    near = {
        entry: WEIGHT.get(shown[entry][0], 1.0) * (cosine + whole[entry]) / 2 for entry, (cosine, _) in best.items()
    }
    first = {shown[entry]: entry for entry in sorted(near, key=lambda entry: near[entry])}
    order = sorted(first.values(), key=lambda entry: -near[entry])
    return [(entry, best[entry][1]) for entry in order if near[entry] >= max(LEAST, NEAR * near[order[0]])]


def _shaded(model: TextEncoder, question: str, text: str) -> tuple[list[str], list[float]]:
    """The text in pieces, words and what is between them, and what each adds to the cosine with the question."""
    split = similarity.attribute(model, compared(question), compared(text), layer=model.config.n_layers)
    scores = similarity.word_scores(split)
    pieces, shares, at = [], [], 0
    for word, share in zip(scores.words_b, scores.b, strict=True):
        start = text.find(word, at)
        if start < 0:  # a word that the tokenizer changed
            continue
        pieces += [text[at:start], word]
        shares += [0.0, float(share)]
        at = start + len(word)
    return [*pieces, text[at:]], [*shares, 0.0]
