"""Maps as the Heads page shows them, small maps with its options, and sinks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from encoder.maps import aggregate, small_maps
from encoder.maps.aggregate import TokenMap, dense_map
from encoder.maps.long_map import LongMap
from encoder.measure import head_types
from tests.engine import by_hand
from tests.engine.conftest import tiny

TEXT = "the unhappy cat sat on a mat"
PAIR = "and a dog ran"


@pytest.fixture(scope="module")
def trace():
    return tiny(n_segments=2).trace(TEXT, PAIR)


def test_long_and_dense_maps_say_the_same(trace):
    for special in aggregate.SPECIAL_TOKENS:
        for layer, head in ((1, 3), (None, 3), (1, None), (None, None)):
            dense: TokenMap = dense_map(trace, layer, head, special=special)
            long = LongMap(trace, layer, head, special)
            torch.testing.assert_close(long.from_rows([2, 5]), dense.from_rows([2, 5]))
            torch.testing.assert_close(long.to_columns([4]), dense.to_columns([4]))
            torch.testing.assert_close(long.received(), dense.received())
            assert [cell[:2] for cell in long.strongest(3)] == [cell[:2] for cell in dense.strongest(3)]
            assert long.query_labels == dense.query_labels


def test_averages_are_means_over_heads_and_layers(trace):
    every = torch.stack([trace.layer_attention(layer) for layer in range(trace.config.n_layers)])  # [L, H, T, T]
    expected = {(None, None): every.mean((0, 1)), (2, None): every[2].mean(0), (None, 4): every[:, 4].mean(0)}
    for (layer, head), mean in expected.items():
        torch.testing.assert_close(dense_map(trace, layer, head).weights, mean)
        torch.testing.assert_close(LongMap(trace, layer, head).rows(slice(1, 3)), mean[1:3])
        torch.testing.assert_close(LongMap(trace, layer, head).window(512)[0], mean)


def test_whole_words_sum_keys_and_average_queries(trace):
    attention = trace.attention(0, 1)
    words = dense_map(trace, 0, 1, words=True)
    row = words.query_labels.index("unhappy")
    pieces = words.query_tokens(row)
    assert [trace.tokens[piece] for piece in pieces] == ["un", "##happ", "##y"]
    assert float(words.from_rows([row])[0]) == pytest.approx(float(attention[list(pieces), 0].mean()), rel=1e-6)
    assert float(words.to_columns([row])[0]) == pytest.approx(float(attention[0, list(pieces)].sum()), rel=1e-6)
    torch.testing.assert_close(words.weights.sum(-1), torch.ones(len(words.query_labels)))
    assert words.row_of(pieces[2]) == row


@pytest.mark.parametrize("pairs", aggregate.PAIRS)
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("special", aggregate.SPECIAL_TOKENS)
def test_small_maps_follow_the_options(trace, special, words, pairs):
    options = {"special": special, "words": words, "pairs": pairs}
    found = small_maps(trace, 2, **options)
    large = dense_map(trace, 2, 3, **options).weights
    side = max(large.shape)
    assert found.shape == (trace.config.n_heads, side, side)
    rows, columns = ((torch.arange(side) * count // side) for count in large.shape)
    torch.testing.assert_close(found[3], large[rows][:, columns])


def test_small_maps_of_many_tokens_keep_the_strongest_of_a_block(trace):
    found = small_maps(trace, 0, size=4)
    assert found.shape[1] <= 4
    assert float(found[1].max()) == pytest.approx(float(trace.attention(0, 1).max()))
    torch.testing.assert_close(small_maps(trace, 0), trace.layer_thumbnails(0))


def test_padding_is_left_out_as_rows_and_columns_unless_asked_for():
    padded = tiny().trace_batch(["the cat", TEXT])[0]
    assert padded.n_real < padded.n_tokens
    assert dense_map(padded, 0, 0).weights.shape == (padded.n_real, padded.n_real)
    assert dense_map(padded, 0, 0, padding=True).weights.shape == (padded.n_tokens, padded.n_tokens)
    assert small_maps(padded, 0).shape[1] == padded.n_real


def test_a_sink_is_distinguished_from_other_heads():
    n = 12
    maps = {
        "cls": by_hand.one_hot(n, 0),
        "sep": by_hand.one_hot(n, n - 1),
        "word": by_hand.one_hot(n, 4),
        "uniform": by_hand.uniform(n),
        "previous": by_hand.to_previous(n),
        "half": 0.59 * by_hand.one_hot(n, 0) + 0.41 * by_hand.one_hot(n, 3),
    }
    trace = by_hand.written(np.stack(list(maps.values()))[None])
    found = {name: head_types.sink(trace, 0, head) for head, name in enumerate(maps)}
    assert {name for name, one in found.items() if one} == {"cls", "sep"}
    assert found["cls"].kind == "opening"
    assert found["cls"].tokens == (0,)
    assert found["cls"].share == pytest.approx(1)
    assert found["cls"].uniform == pytest.approx(1 / n)
    assert found["sep"].tokens == (n - 1,)
    half = list(maps).index("half")
    assert head_types.sink(trace, 0, half, threshold=0.5).share == pytest.approx(0.59, rel=1e-5)


def test_a_sink_counts_real_queries_alone_and_agrees_with_the_measure():
    from encoder.measure.head_measures import head_measures

    padded = tiny().trace_batch(["the cat sat", TEXT])[0]
    measures = head_measures(padded)
    for layer in range(padded.config.n_layers):
        for head in range(padded.config.n_heads):
            mean = aggregate.received(padded, layer, head)[0]
            assert float(mean[0]) == pytest.approx(measures["cls"][layer, head], rel=1e-5)
            assert float(mean.sum()) == pytest.approx(1, rel=1e-5)


def test_in_a_text_of_two_tokens_much_weight_on_one_of_them_says_nothing():
    maps = np.array([[[0.7, 0.3], [0.7, 0.3]], [[0.9, 0.1], [0.9, 0.1]]])
    trace = by_hand.written(maps[None], ("[CLS]", "[SEP]"))
    assert head_types.sink(trace, 0, 0) is None
    assert head_types.sink(trace, 0, 1).share == pytest.approx(0.9, rel=1e-5)
