"""Heads scored against pairs of tokens: by hand, on maps that are written down, and on every way in."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from encoder import EncoderError
from encoder.cli.main import main
from encoder.measure.head_alignment import read_pairs, score_heads
from tests.conftest import ROOT

TOKENS = ["[CLS]", "a", "b", "c", "d", "[SEP]"]


def trace_of(*targets: list[int]) -> encoder.Trace:
    """A layer with a head for each list: the key that each of the six tokens attends to most, after [CLS]."""
    maps = torch.full((1, len(targets), 6, 6), 0.05)
    for head, keys in enumerate(targets):
        maps[0, head, torch.arange(6), torch.tensor(keys)] = 0.3
        maps[0, head, :, 0] = 0.5  # a sink, which is special and does not count
    return encoder.attentions(maps / maps.sum(-1, keepdim=True), TOKENS)


def test_precision_recall_chance_and_the_best_offset():
    trace = trace_of([0, 2, 3, 4, 4, 5], [0, 3, 1, 1, 1, 5])
    pairs = [(1, 2), (2, 3), (3, 1), (3, 4)]
    found = score_heads(trace, pairs)
    # Queries 1, 2, 3: head 0 predicts 2, 3, 4 and head 1 predicts 3, 1, 1.
    np.testing.assert_allclose(found.precision, [[1.0, 1 / 3]])
    np.testing.assert_allclose(found.recall, [[3 / 4, 1 / 4]])
    assert found.best == (0, 0)
    assert found.chance == pytest.approx((1 / 4 + 1 / 4 + 2 / 4) / 3)  # of four tokens that are not special
    assert found.offset == (1, 1.0)
    assert found.frame().iloc[0].to_dict() == {"layer": 0, "head": 0, "precision": 1.0, "recall": 0.75}


def test_a_causal_model_chooses_among_earlier_tokens():
    maps = torch.ones(1, 1, 6, 6).tril()
    trace = encoder.attentions(maps / maps.sum(-1, keepdim=True), TOKENS)
    assert score_heads(trace, [(2, 1), (4, 3)]).chance == pytest.approx((1 / 2 + 1 / 4) / 2)


def test_the_example_of_the_docs_scores_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    from pages.core.view.view import FIRST_SENTENCE
    from pages.heads.params import EXAMPLE_PAIRS

    example = ROOT / "docs" / "alignment.csv"
    trace = encoder.load("minilm", device="cpu").trace(FIRST_SENTENCE)
    pairs = read_pairs(example, trace)
    assert pairs == read_pairs(EXAMPLE_PAIRS.encode(), trace)
    assert [trace.labels[place] for place in pairs[0]] == ["it", "animal"]
    found = score_heads(trace, pairs)
    layer, head = found.best
    hits = 0
    for query in {query for query, _ in pairs}:
        weights = trace.attention(layer, head)[query].clone()
        weights[[place for place, special in enumerate(trace.source.special) if special]] = -1
        hits += (query, int(weights.argmax())) in pairs
    assert found.precision[layer, head] == pytest.approx(hits / len({query for query, _ in pairs}))
    out = tmp_path / "heads.csv"
    command = ["align", "minilm", "--text", FIRST_SENTENCE, "--pairs", str(example), "--device", "cpu"]
    assert main(command) == 0
    assert re.search(rf"\n +{layer} +{head} +{found.precision[layer, head]:.3f} ", capsys.readouterr().out)
    assert main([*command, "--out", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 1 + found.precision.size


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ("", "no pair"),
        ("query,key\n", "no pair"),
        ("1,2\n3", "Line 2"),
        ("1,99", "0 to 5"),
        ("a,zebra", "zebra"),
        ("a,[CLS]", "special"),
        ('"a,b', "Line 1"),
        ("1,2\n" * 10_001, "10,000"),
    ],
)
def test_pairs_that_are_wrong_are_named(given: str, word: str):
    trace = trace_of([0] * 6)
    with pytest.raises(EncoderError, match=word):
        score_heads(trace, read_pairs(given.encode(), trace))


def test_forms_of_a_file(tmp_path: Path):
    trace = trace_of([0] * 6)
    content = "\ufeffquery,key,note\n1,2,x\n\n c , D \n".encode()
    (tmp_path / "pairs.csv").write_bytes(content)
    assert read_pairs(content, trace) == read_pairs(tmp_path / "pairs.csv", trace) == [(1, 2), (3, 4)]
    with pytest.raises(EncoderError, match=r"none\.csv"):
        read_pairs(tmp_path / "none.csv", trace)
    twice = encoder.attentions(torch.full((1, 1, 3, 3), 1 / 3), ["a", "b", "a"])
    with pytest.raises(EncoderError, match="2 times"):
        read_pairs(b"a,b", twice)
