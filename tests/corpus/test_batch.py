"""Numbers of a batch: those of single traces, in every architecture."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import encoder
from encoder import TextEncoder
from encoder.corpus import batch as batch_module
from encoder.corpus.batch import batches, measure_batch, norm_names
from encoder.corpus.groups import key_tokens
from encoder.corpus.plan import MEASURES
from encoder.corpus.watcher import FARTHEST
from encoder.measure import residual_stream
from encoder.measure.head_divergence import head_similarity
from encoder.measure.head_measures import head_measures
from encoder.probe import examples
from encoder.trace import trace as trace_module

pytestmark = pytest.mark.sample(3, "another architecture")

TEXTS = (
    "the cat sat on the mat . the dog , the cat",
    "unhappy unhappy dog sat on a big mat !",
    "big dog big dog big dog big dog big",
    "the",
    ".",
)


def in_batches(model: TextEncoder, texts, **options):
    """(places, numbers) of each batch; `options` as for `measure_batch`."""
    found = [model.tokenize(text) for text in texts]
    for places in batches([len(one) for one in found]):
        yield places, measure_batch(model, [found[place] for place in places], key_tokens(model), strong=0.1, **options)


def expected(model: TextEncoder, text: str) -> np.ndarray:
    """[M, L, H] of a single trace."""
    measures = head_measures(model.trace(text))
    return np.stack([measures[name] for name in MEASURES])


@pytest.mark.sample(3, "another architecture")
def test_a_batch_has_the_measures_of_single_traces(variant: TextEncoder, monkeypatch: pytest.MonkeyPatch):
    texts = [*TEXTS, " ".join(["dog sat on"] * 16)]
    single = [expected(variant, text) for text in texts]
    similar = [head_similarity(variant.trace(text)).divergence for text in texts]
    for numbers in (1_000_000, 1):  # whole maps, and sixteen rows at a time
        monkeypatch.setattr(trace_module, "CHUNK_NUMBERS", numbers)
        for places, found in in_batches(variant, texts, similarity_of=(0,)):
            assert found.usable.all()
            for at, place in enumerate(places):
                assert found.measures[at] == pytest.approx(single[place], rel=2e-6, abs=1e-6, nan_ok=True)
            assert found.similarity[0] == pytest.approx(similar[places[0]], abs=2e-6)


@pytest.mark.sample(3, "another architecture")
def test_profile_and_key_tokens_are_sums_over_the_maps(variant: TextEncoder):
    for places, found in in_batches(variant, [*TEXTS, " ".join(["dog sat on"] * 16)]):
        for at, place in enumerate(places):
            trace = variant.trace([*TEXTS, " ".join(["dog sat on"] * 16)][place])
            maps = np.stack([trace.layer_attention(layer).numpy() for layer in range(3)])  # [L, H, T, T]
            offset = np.subtract.outer(np.arange(trace.n_tokens), np.arange(trace.n_tokens)).T  # j - i
            for column, wanted in ((0, offset < -FARTHEST), (1, offset == -FARTHEST), (FARTHEST + 3, offset == 2)):
                assert found.profile[at, ..., column] == pytest.approx((maps * wanted).sum((-1, -2)), abs=1e-5)
                assert found.pairs[column] == wanted.sum()
            for column, token in enumerate(key_tokens(variant)):
                keys = [number for number, one in enumerate(trace.tokens) if one == token]
                mean = maps[..., keys].sum(-1).mean(-1) if keys else np.full((3, 5), np.nan)
                assert found.key_tokens[at, ..., column] == pytest.approx(mean, abs=1e-6, nan_ok=True)


@pytest.mark.sample(3, "another architecture")
def test_the_residual_stream_and_the_norms_are_those_of_the_trace(variant: TextEncoder):
    names = norm_names(variant)
    for places, found in in_batches(variant, TEXTS):
        for at, place in enumerate(places):
            measured = residual_stream.measure(variant.trace(TEXTS[place]))
            assert {name.split("/")[1] for name in names if name.startswith("norm_std")} == set(measured.norms)
            for name, value in zip(names, found.norms[at], strict=True):
                quantity, where = name.split("/")
                number = measured.norms.index(where) if quantity.startswith("norm") else int(where)
                assert value == pytest.approx(getattr(measured, quantity)[number], rel=1e-5, abs=1e-6), name


@pytest.mark.sample(3, "another architecture")
def test_vectors_and_behaviour_are_those_of_the_trace(variant: TextEncoder):
    for places, found in in_batches(variant, TEXTS, vectors=(0, 2, 3), vectors_of=(0,)):
        trace = variant.trace(TEXTS[places[0]])
        points = {0: "embedding", 2: f"layers.1.{variant.config.after_layer}", 3: "output"}
        for layer, point in points.items():
            wanted = trace.values[point].half().numpy()
            assert found.vectors[layer][0].astype(float) == pytest.approx(wanted.astype(float), rel=2e-3, abs=1e-3)
        maps = np.stack([trace.layer_attention(layer).numpy() for layer in range(3)]) * 255
        assert found.behaviour is not None
        own = found.behaviour[0, :, :, :, 1].transpose(1, 2, 0)
        assert own == pytest.approx(np.diagonal(maps, axis1=2, axis2=3), abs=0.51)
        assert found.behaviour[0, 1:, :, :, 0].transpose(1, 2, 0) == pytest.approx(
            np.diagonal(maps, -1, axis1=2, axis2=3), abs=0.51
        )
        assert not found.behaviour[0, 0, :, :, 0].any()  # the first token has none before it
        assert found.behaviour[0, :, :, :, 3].transpose(1, 2, 0) == pytest.approx(maps[..., 0], abs=0.51)


def test_sentences_of_many_lengths_have_the_means_of_a_plain_loop():
    twin = encoder.load("twin-post", device="cpu")
    texts = examples()[:80]
    wanted = np.nanmean([expected(twin, text) for text in texts], axis=0)
    found = np.concatenate([numbers.measures for _, numbers in in_batches(twin, texts)])
    assert np.nanmean(found, axis=0) == pytest.approx(wanted, abs=1e-6)


def test_a_text_with_a_broken_number_is_marked(make_tiny):
    model = make_tiny(seed=3)
    with torch.no_grad():
        model.encoder.embedding.tokens.weight[model.tokenizer.backend.token_to_id("dog")] = torch.nan
    texts = ["the cat", "the dog", "a mat"]
    ((places, found),) = in_batches(model, texts)
    assert [bool(found.usable[places.index(place)]) for place in range(3)] == [True, False, True]


def test_batches_hold_one_length_each_and_every_text_once():
    lengths = [3, 9, 3, 3, 5, 9, 3, 600]
    found = list(batches(lengths, most_tokens=9))
    assert sorted(place for places in found for place in places) == list(range(len(lengths)))
    assert all(len({lengths[place] for place in places}) == 1 for places in found)
    assert [len(places) for places in found if lengths[places[0]] == 3] == [2, 2]
    assert batch_module.MOST_TOKENS >= 512
