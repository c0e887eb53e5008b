"""Collections: vectors, exact search, the plane, files."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch

from encoder import EncoderError, TextEncoder, search

TEXTS = ("A kitten rested on a rug.", "Stocks fell sharply.", "dog", "The cat sat on the mat.", "Prices rose again.")


@pytest.fixture(scope="module")
def collection(minilm: TextEncoder) -> search.Collection:
    return search.embed(minilm, TEXTS)


def test_vectors_keep_the_order_of_their_texts(minilm: TextEncoder, collection: search.Collection):
    assert collection.texts == TEXTS
    alone = torch.cat([minilm.embed(text) for text in TEXTS]).numpy()
    np.testing.assert_allclose(collection.vectors, alone, atol=1e-5)


def test_the_nearest_have_the_largest_cosine(minilm: TextEncoder, collection: search.Collection):
    found = search.nearest(collection, minilm, "a sleeping cat", k=3)
    query = minilm.embed("a sleeping cat")[0].double().numpy()
    cosines = collection.vectors.astype(float) @ query / np.linalg.norm(query)
    assert [place for place, _ in found] == np.argsort(-cosines)[:3].tolist()
    assert [cosine for _, cosine in found] == pytest.approx(np.sort(cosines)[::-1][:3], abs=1e-5)
    assert {found[0][0], found[1][0]} == {0, 3}
    assert len(collection.nearest(query, k=99)) == len(TEXTS)
    assert collection.nearest(7 * query, k=1)[0][1] == pytest.approx(found[0][1], abs=1e-5)


def test_equal_cosines_keep_the_order_of_the_texts(minilm: TextEncoder):
    same = search.embed(minilm, ["dog"] * 40)
    assert [place for place, _ in search.nearest(same, minilm, "cat", k=40)] == list(range(40))


def test_progress_counts_every_text_and_work_can_be_closed(make_tiny: Callable[..., TextEncoder]):
    work = search.embed_gradually(make_tiny(), ["a dog"] * 70)
    assert [next(work), next(work), next(work)] == [32, 64, 70]
    work.close()


def test_texts_that_are_cut_are_counted(minilm: TextEncoder):
    found = search.embed(minilm, ["a dog", "word " * 300 + "kitten", "word " * 300 + "storm"])
    assert found.n_cut == 2
    again = search.from_files(search.to_parquet(found), search.to_safetensors(found))
    assert again.n_cut == 2


def test_the_plane_keeps_most_variance(collection: search.Collection):
    points, shares = collection.plane()
    centred = collection.vectors - collection.vectors.mean(axis=0)
    values = np.linalg.svd(centred.astype(float), compute_uv=False) ** 2
    assert points.shape == (5, 2)
    np.testing.assert_allclose(shares, values[:2] / values.sum(), rtol=1e-4)
    np.testing.assert_allclose(points.var(axis=0, ddof=1) * 4, values[:2], rtol=1e-4)


def test_files_give_the_same_collection(collection: search.Collection):
    files = search.to_parquet(collection), search.to_safetensors(collection)
    again = search.from_files(*files)
    assert (again.texts, again.model) == (collection.texts, collection.model)
    np.testing.assert_array_equal(again.vectors, collection.vectors)
    other = dataclasses.replace(collection, texts=TEXTS[::-1])
    with pytest.raises(EncoderError, match="belong together"):
        search.from_files(search.to_parquet(other), files[1])
    for damaged in (b"PA", b""):
        with pytest.raises(EncoderError, match="damaged"):
            search.from_files(damaged, files[1])
    for damaged in (b"", files[1][:-5], b"\xff" * 40):
        with pytest.raises(EncoderError, match="damaged"):
            search.from_files(files[0], damaged)
    from safetensors.numpy import save

    with pytest.raises(EncoderError, match="not a collection"):
        search.from_files(files[0], save({"vectors": collection.vectors}))
    header = {"format": "encoderscope collection 1", "texts": search.collection._digest(TEXTS)}
    with pytest.raises(EncoderError, match="norm 1"):
        search.from_files(files[0], save({"vectors": 2 * collection.vectors}, header))


def test_what_cannot_be_searched_is_a_sentence(minilm: TextEncoder, collection: search.Collection):
    with pytest.raises(EncoderError, match="No texts"):
        search.embed(minilm, [])
    with pytest.raises(EncoderError, match=r"3 numbers.*384"):
        collection.nearest(np.ones(3))
    with pytest.raises(EncoderError, match="zero"):
        collection.nearest(np.zeros(384))
    with pytest.raises(EncoderError, match="at least 3"):
        search.embed(minilm, TEXTS[:2]).plane()


def test_odd_texts_are_saved_and_loaded_as_they_are(minilm: TextEncoder):
    odd = search.embed(minilm, [" a ", "", "\ud800b", "two\nlines"])
    assert odd.texts == (" a ", "", "?b", "two\nlines")
    assert search.from_files(search.to_parquet(odd), search.to_safetensors(odd)).texts == odd.texts


def test_equal_and_unequal_cosines_in_one_order():
    vectors = np.eye(3, dtype=np.float32)[[0, 1, 0, 2, 0, 1]]
    found = search.Collection(tuple("abcdef"), vectors, "any")
    assert found.nearest(np.array([1.0, 0.5, 0.0]), 4) == [
        (place, pytest.approx(cosine, abs=1e-4))
        for place, cosine in ((0, 0.8944), (2, 0.8944), (4, 0.8944), (1, 0.4472))
    ]
    assert [place for place, _ in found.nearest(np.array([1.0, 0, 0]), 2)] == [0, 2]
    assert found.nearest(np.array([1.0, 0, 0]), 0) == []
    assert len(found.nearest(np.array([1.0, 0, 0]), 60)) == 6


def test_the_plane_of_many_texts_is_that_of_all_components():
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(2_400, 6)).astype(np.float32) * np.array([3, 2, 1, 1, 1, 1], dtype=np.float32)
    found = search.Collection(tuple(map(str, range(len(vectors)))), vectors, "any")
    points, shares = found.plane()
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(points), np.abs(left[:, :2] * sizes[:2]), atol=1e-4)
    np.testing.assert_allclose(shares, sizes[:2] ** 2 / (sizes**2).sum(), atol=1e-6)
