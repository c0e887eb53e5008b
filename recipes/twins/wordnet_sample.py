"""The bundled sample of WordNet 3.0: `python -m recipes.twins.wordnet_sample` writes it again, byte for byte the same.

It has labelled texts for probes (`encoder.probe`) and example sentences to search. WordNet's own files are found as for
the twins (`corpus.find_wordnet`). Every choice follows a hash of the text, so no run differs from another.
"""

import argparse
import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from encoder.probe.tasks import FOLDER, SAMPLE
from recipes.twins.corpus import FILES, CorpusError, find_wordnet, stable_number

#: The lexicographer files 00 to 44, as WordNet's manual page lexnames(5WN) lists them.
LEXNAMES = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition "
    "noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object noun.person "
    "noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape noun.state "
    "noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition "
    "verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social "
    "verb.stative verb.weather adj.ppl"
).split()
POS = {"n": "noun", "v": "verb", "a": "adjective", "s": "adjective", "r": "adverb"}
#: Texts of each task: glosses of each lexicographer file, glosses and words of each part of speech, examples to search.
GLOSSES, GLOSSES_OF_POS, WORDS_OF_POS, EXAMPLES = 40, 200, 150, 4_000
#: Sentences of one word at most, so that no word rules the task.
OF_ONE_WORD = 6


@dataclass(frozen=True)
class Synset:
    """One entry. words: its lemmas; gloss: its definition; examples: its sentences."""

    lexname: str
    pos: str
    words: tuple[str, ...]
    gloss: str
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A text with its label; start, end: the characters of the word that the label belongs to, -1 for all."""

    task: str
    text: str
    label: str
    start: int = -1
    end: int = -1


def synsets(folder: Path) -> Iterator[Synset]:
    """All entries of the four files (format: wndb(5WN))."""
    for name in FILES:
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            if not line[:1].isdigit() or "|" not in line:
                continue
            data, note = line.split("|", 1)
            fields = data.split()
            words = tuple(re.sub(r"\(\w+\)$", "", fields[4 + 2 * n]) for n in range(int(fields[3], 16)))
            note = note.replace("`", "'")
            gloss = " ".join(note.split('"', 1)[0].split()).rstrip("; ")
            examples = tuple(" ".join(one.split()).strip("; ") for one in re.findall(r'"([^"]+)"', note))
            yield Synset(LEXNAMES[int(fields[1])], POS[fields[2]], words, gloss, examples)


def rows(found: Iterable[Synset]) -> Iterator[Row]:
    """The whole sample."""
    kept = list(found)
    glosses = {one.gloss: one for one in kept if one.gloss.count(" ") >= 2 and len(one.gloss) <= 160}
    for task, count, label_of in (("lexname", GLOSSES, "lexname"), ("pos", GLOSSES_OF_POS, "pos")):
        by_label: dict[str, list[str]] = defaultdict(list)
        for gloss, one in glosses.items():
            by_label[getattr(one, label_of)].append(gloss)
        for label in sorted(by_label):
            for gloss in first(by_label[label], count, task):
                yield Row(task, gloss, label)
    yield from words_in_sentences(kept)
    yield from examples(kept)


def examples(found: Iterable[Synset]) -> Iterator[Row]:
    """Sentences to search, each with the part of speech of the word that it illustrates; "" where it has several."""
    pos_of: dict[str, set[str]] = defaultdict(set)
    for one in found:
        for example in one.examples:
            if example.count(" ") >= 3 and len(example) <= 160:
                pos_of[example].add(one.pos)
    for example in first(pos_of, EXAMPLES, "example"):
        several = len(pos_of[example]) > 1
        yield Row("example", example, "" if several else next(iter(pos_of[example])))


def words_in_sentences(found: Iterable[Synset]) -> Iterator[Row]:
    """Words that are several parts of speech, each in an example of that sense: only the sentence tells which."""
    uses: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        for word in one.words:
            if not re.fullmatch(r"[a-z]{2,}", word):
                continue
            for example in one.examples:
                places = list(re.finditer(rf"\b{word}\b", example))
                if len(places) == 1 and example.count(" ") >= 2 and len(example) <= 160:
                    uses[word][one.pos].append(Row("word_pos", example, one.pos, *places[0].span()))
    candidates: dict[str, list[Row]] = defaultdict(list)
    for word, by_pos in uses.items():
        if len(by_pos) < 2:
            continue
        for pos, some in by_pos.items():
            by_text = {row.text: row for row in some}
            candidates[pos] += [by_text[text] for text in first(by_text, OF_ONE_WORD // len(by_pos), word)]
    seen: set[str] = set()
    for pos in sorted(candidates):
        by_text = {row.text: row for row in candidates[pos] if row.text not in seen}
        chosen = first(by_text, WORDS_OF_POS, "word_pos")
        seen |= set(chosen)
        yield from (by_text[text] for text in chosen)


def first(texts: Iterable[str], count: int, purpose: str) -> list[str]:
    """`count` texts in the order of their hashes."""
    return sorted(texts, key=lambda text: (stable_number(f"{purpose} {text}"), text))[:count]


def write(folder: Path, target: Path) -> pd.DataFrame:
    """Write the sample of WordNet's `folder` to `target`."""
    table = pd.DataFrame([dataclasses.asdict(row) for row in rows(synsets(folder))]).astype(
        {"start": "int16", "end": "int16"}
    )
    target.mkdir(parents=True, exist_ok=True)
    table.to_parquet(target / SAMPLE, index=False, compression="zstd", compression_level=19)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wordnet", type=Path, help="WordNet's folder, the one that holds data.noun")
    parser.add_argument("--cache", type=Path, default=Path("wordnet"), help="where a fetched WordNet is kept")
    parser.add_argument("--to", type=Path, default=FOLDER)
    options = parser.parse_args()
    try:
        table = write(find_wordnet(options.wordnet, options.cache), options.to)
    except CorpusError as error:
        parser.exit(1, f"{error}\n")
    print(table.groupby("task").agg(texts=("text", "size"), labels=("label", "nunique")).to_string())


if __name__ == "__main__":
    main()
