"""Tokens of an atlas that are near to a vector, and those that a head treats in some way."""

from __future__ import annotations

import shutil
import tempfile

import numpy as np
import pytest

from encoder import EncoderError, corpus
from encoder.corpus import token_index
from encoder.corpus.token_search import Tokens
from encoder.errors import AtlasError


@pytest.fixture(scope="module")
def tokens(atlas) -> corpus.Tokens:
    return corpus.load_tokens(atlas, 3)


@pytest.mark.parametrize("layer", [0, 3])
def test_a_token_of_the_corpus_is_nearest_to_itself(atlas, model, texts, layer):
    tokens = corpus.load_tokens(atlas, layer)
    text, position = int(tokens.texts[7]), int(tokens.positions[7])
    trace = model.trace(texts[text])
    found = tokens.nearest(corpus.token_vector(trace, layer, position), 5)
    assert found[0].token == trace.tokens[position]
    assert found[0].cosine == pytest.approx(1.0, abs=1e-3)
    assert [hit.cosine for hit in found] == sorted((hit.cosine for hit in found), reverse=True)
    assert "[CLS]" not in tokens.vocabulary


def test_a_hit_names_its_characters_and_the_next_token(tokens, model, texts):
    for hit in tokens.nearest(tokens.vectors[3], len(tokens)):
        sentence = model.tokenize(texts[hit.text])
        assert sentence.tokens[hit.position] == hit.token
        assert sentence.offsets[hit.position] == (hit.start, hit.end)
        after = sentence.tokens[hit.position + 1]
        assert hit.following == (None if after == "[SEP]" else after)


def test_the_nearest_of_many_are_those_of_a_plain_search():
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(40_000, 24)).astype(np.float32)
    vectors[:300] = vectors[0] + 1e-3 * vectors[:300]  # so near that 16 bits confuse them
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    numbers = np.zeros(len(vectors), dtype=np.int32)
    behaviour = draw.integers(0, 256, (1, 1, 5, len(vectors)), dtype=np.uint8)
    tokens = Tokens(vectors, numbers, numbers, numbers, numbers, numbers, behaviour, ("a",), "random")
    query = vectors[5].astype(np.float32)
    cosines = vectors.astype(np.float32) @ (query / np.linalg.norm(query))
    plain = np.argsort(-cosines, kind="stable")
    assert [hit.place for hit in tokens.nearest(query, 200)] == plain[:200].tolist()
    assert tokens.mean_cosine(query) == pytest.approx(float(cosines.mean()), abs=1e-3)
    assert (tokens.count("a"), tokens.count("b")) == (40_000, 0)
    for least in (0.5, 0.99):
        behaves = behaviour[0, 0, 0] >= round(least * 255)
        where = corpus.Behaves(0, 0, "previous", least)
        expected = [place for place in plain.tolist() if behaves[place]][:200]
        assert [hit.place for hit in tokens.nearest(query, 200, where)] == expected


def test_a_head_chooses_among_the_tokens(tokens, model, texts):
    where = corpus.Behaves(1, 2, "previous", 0.3)
    chosen = np.flatnonzero(tokens.behaving(where))
    assert 0 < len(chosen) < len(tokens)
    for place in range(len(tokens)):
        position = int(tokens.positions[place])
        weight = float(model.trace(texts[tokens.texts[place]]).attention(1, 2)[position, position - 1])
        if abs(weight - 0.3) > 0.5 / 255:
            assert (weight > 0.3) == (place in chosen)
    same = tokens.token(0)
    assert same not in {hit.token for hit in tokens.nearest(tokens.vectors[0], 9, without=same)}
    assert len(tokens.nearest(tokens.vectors[0], 9, without="no such token")) == 9
    found = tokens.nearest(tokens.vectors[0], 4, where)
    assert {hit.place for hit in found} <= set(chosen.tolist())


def test_fewer_tokens_are_loaded_on_request(atlas):
    few = corpus.load_tokens(atlas, 3, most=10)
    assert 0 < len(few) < len(corpus.load_tokens(atlas, 3))


@pytest.fixture
def copied(atlas, tmp_path) -> corpus.Atlas:
    return corpus.open_atlas(shutil.copytree(atlas.folder, tmp_path / "atlas"))


def the_same(some: corpus.Tokens, other: corpus.Tokens) -> bool:
    """Whether both find the same; of equal cosines rounding decides, so these are compared."""
    where = corpus.Behaves(1, 2, "previous", 0.3)
    asked = [(other.vectors[place], 7, filtered) for place in (3, 40) for filtered in (None, where)]
    found = [[hit.cosine for one in asked for hit in tokens.nearest(*one)] for tokens in (some, other)]
    return len(some) == len(other) and found[0] == pytest.approx(found[1], abs=1e-6)


def test_an_index_opens_mapped_and_finds_the_same(copied, tokens):
    assert list(corpus.iter_index(copied, 3))[-1] == 1.0
    mapped = corpus.load_tokens(copied, 3)
    assert mapped.nbytes == 0 < tokens.nbytes
    assert the_same(mapped, tokens)
    assert (mapped.behaviour == tokens.behaviour).all()
    list(corpus.iter_index(copied, 3))
    (folder,) = (copied.folder / "index").iterdir()
    (folder / "graph.usearch").write_bytes(b"as an earlier version wrote")
    assert the_same(corpus.load_tokens(copied, 3), tokens)
    (folder / "codes.npy").write_bytes(b"")
    with pytest.raises(AtlasError, match="damaged"):
        corpus.load_tokens(copied, 3)
    list(corpus.iter_index(copied, 3))
    manifest = copied.folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace("sha256", "other", 1).replace('"other"', '"sha256"', 1) + " ")
    assert the_same(corpus.load_tokens(corpus.open_atlas(copied.folder), 3), tokens)  # the same content
    manifest.write_text(manifest.read_text().replace('"seed": 0', '"seed": 1'))
    with pytest.raises(AtlasError, match="another atlas"):
        corpus.load_tokens(corpus.open_atlas(copied.folder), 3)


def test_many_vectors_are_mapped_from_a_temporary_file(copied, tokens, monkeypatch, tmp_path):
    monkeypatch.setattr(token_index, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(AtlasError, match="do not fit"):
        corpus.load_tokens(copied, 3)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mapped = corpus.load_tokens(copied, 3)
    assert mapped.nbytes == 0
    assert the_same(mapped, tokens)
    assert [path.name for path in tmp_path.iterdir()] == ["atlas"]


def test_what_is_not_there_is_said(atlas, tokens, model):
    with pytest.raises(AtlasError, match="layer 2"):
        corpus.load_tokens(atlas, 2)
    with pytest.raises(AtlasError, match="layer 9"):
        corpus.token_vector(model.trace("a"), 9, 0)
    for where in (corpus.Behaves(9, 0, "previous", 0.5), corpus.Behaves(0, 0, "dog", 0.5)):
        with pytest.raises(AtlasError, match="choose"):
            tokens.nearest(tokens.vectors[0], 3, where)
    with pytest.raises(EncoderError):
        tokens.nearest(np.ones(3), 3)
