"""Attention maps without a model: the numbers of the model that gave them, and a sentence for all else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

import encoder
from encoder import EncoderError, LoadError, export
from encoder.measure import heads, rollout

TEXT = "The cat sat on the mat because it was tired, and the dog was tired, too."


@pytest.fixture(scope="module")
def trace() -> encoder.Trace:
    return encoder.load("twin-pre", device="cpu").trace(TEXT)


def maps_of(trace: encoder.Trace) -> torch.Tensor:
    return torch.stack([trace.layer_attention(layer) for layer in range(trace.config.n_layers)]).contiguous()


def test_measures_pictures_and_export_are_those_of_the_model(trace: encoder.Trace):
    found = encoder.attentions(maps_of(trace), trace.tokens)
    assert isinstance(found, encoder.Trace)
    measured, expected = heads(found).values, heads(trace).values
    assert set(measured) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(measured[name], values, atol=1e-5, err_msg=name)
    for size in (7, 64):
        torch.testing.assert_close(found.thumbnails(size), trace.thumbnails(size), atol=1e-6, rtol=0.0)
    for queries, keys in ((None, None), (slice(2, 5), slice(0, 3))):
        ours, theirs = (one.attention(1, 2, queries, keys) for one in (found, trace))
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0.0)
    torch.testing.assert_close(found.rows_of_token(3), trace.rows_of_token(3), atol=1e-6, rtol=0.0)
    torch.testing.assert_close(rollout(found, 3), rollout(trace, 3), atol=1e-5, rtol=0.0)
    columns = ["query", "key", "weight"]
    one, other = (export.map(each, 0, 2).frame() for each in (found, trace))
    assert set(columns) <= set(one.columns)
    np.testing.assert_allclose(one["weight"], other["weight"], atol=1e-6)
    assert len(export.lines(found, [(0, 2)], threshold=0.1).frame())


def test_long_maps_are_walked_through_in_chunks():
    generator = torch.Generator().manual_seed(0)
    maps = torch.randn(2, 3, 300, 300, generator=generator).softmax(-1)
    found = encoder.attentions(maps, [f"w{index}" for index in range(300)])
    entropy = torch.special.entr(maps).sum(-1).mean(-1)
    np.testing.assert_allclose(heads(found).values["entropy"], entropy.numpy(), rtol=1e-4)
    assert found.pooled_attention(1, 1, 10).shape == (10, 10)
    assert float(found.pooled_attention(1, 1, 10)[0, 0]) == float(maps[1, 1, :30, :30].max())


@pytest.mark.parametrize(
    "ask",
    [
        lambda trace: trace.q,
        lambda trace: trace.scores(0, 0),
        lambda trace: trace.output,
        lambda trace: trace.norms["final_norm"].input,
        lambda trace: trace.residual,
        lambda trace: trace.z(0, 0),
        lambda trace: export.model(trace, 0, 0),
    ],
)
def test_what_needs_the_model_says_so(ask: Callable[[Any], Any], trace: encoder.Trace):
    with pytest.raises(EncoderError, match="attention maps only"):
        ask(encoder.attentions(maps_of(trace), trace.tokens))


def test_forms_that_transformers_gives():
    maps = torch.rand(3, 2, 4, 4).softmax(-1)
    tokens = ["[CLS]", "a", "##b", "<s>"]
    for given in (maps, maps.numpy(), list(maps), [one[None] for one in maps], maps[:, None], maps.double()):
        found = encoder.attentions(given, tokens)
        torch.testing.assert_close(found.maps, maps)
    assert found.source.special == (True, False, False, True)
    assert found.source.words == (-1, 0, 0, -1)
    assert not found.config.causal
    assert encoder.attentions(maps.tril() / maps.tril().sum(-1, keepdim=True), tokens).config.causal


@pytest.mark.parametrize(
    ("maps", "tokens", "word"),
    [
        (torch.zeros(2, 3, 4), ["a"] * 4, "layers, heads"),
        (torch.zeros(2, 3, 4, 4), ["a"] * 5, "5 tokens"),
        (torch.full((1, 1, 2, 2), float("nan")), ["a", "b"], "softmax"),
        (torch.tensor([[[[3.0, -2.0], [0.5, 0.5]]]]), ["a", "b"], "softmax"),
        (torch.full((1, 1, 2, 2), 0.5), "ab", "list"),
        ("maps", ["a"], "array"),
    ],
)
def test_maps_that_do_not_fit(maps: Any, tokens: Any, word: str):
    with pytest.raises(EncoderError, match=word):
        encoder.attentions(maps, tokens)


def test_rows_that_do_not_sum_to_one_are_named():
    maps = torch.full((2, 2, 4, 4), 0.25)
    maps[1, 0, 2] = 0.1
    (note,) = encoder.attentions(maps, list("abcd")).notes
    assert "L1 H0" in note
    assert "row 2" in note
    assert "1 of 16" in note


def test_cross_attention_is_drawn_with_its_own_keys():
    maps = torch.randn(2, 3, 4, 7).softmax(-1)
    found = encoder.attentions(maps, list("abcd"), keys=list("uvwxyz!"))
    assert torch.equal(found.cross_attention(1, 2), maps[1, 2])
    assert torch.equal(found.decoder.cross_attentions, maps)
    assert torch.allclose(found.cross_scores(1, 2).softmax(-1), maps[1, 2])
    cross = found.decoder
    drawn = encoder.figures.attention_heatmap(cross.cross_attention(1, 2), cross.labels, key_labels=found.labels)
    assert np.asarray(drawn.data[0].z).shape == (4, 7)
    for refused in (lambda: found.cross_attention(0, 3), lambda: found.attention(0, 0)):
        with pytest.raises(EncoderError):
            refused()


# --- files -----------------------------------------------------------------------------------------------------------


def table(maps: torch.Tensor, tokens: list[str]) -> pd.DataFrame:
    places = torch.cartesian_prod(*map(torch.arange, maps.shape)).numpy()
    found = pd.DataFrame(places, columns=["layer", "head", "query", "key"])
    found["weight"] = maps.flatten().numpy()
    found["query_token"] = [tokens[place] for place in found["query"]]
    found["key_token"] = [tokens[place] for place in found["key"]]
    return found


def test_a_file_opens_as_a_model(trace: encoder.Trace, tmp_path: Path):
    maps = maps_of(trace)
    metadata = {"tokens": json.dumps(trace.tokens)}
    save_file({"attentions": maps}, tmp_path / "a.safetensors", metadata=metadata)
    rows = table(maps, list(trace.tokens))
    rows[rows["weight"] > 0.01].to_parquet(tmp_path / "b.parquet")  # missing weights are 0
    for name, expected in (("a.safetensors", maps), ("b.parquet", torch.where(maps > 0.01, maps, 0.0))):
        model = encoder.load(tmp_path / name)
        assert model.takes == "maps"
        assert model.trace().tokens == trace.tokens
        assert torch.equal(model.trace().maps, expected)
        with pytest.raises(EncoderError, match="maps only"):
            model.trace(edits=[encoder.edits.AblateHead(0, 0)])
    assert any("do not sum" in note for note in model.notes)


def test_broken_files_are_one_sentence(tmp_path: Path):
    maps = torch.full((1, 1, 2, 2), 0.5)
    for name, tensors, metadata in (
        ("no-tokens", {"attentions": maps}, {}),
        ("bad-tokens", {"attentions": maps}, {"tokens": "[1, 2]"}),
        ("not-json", {"attentions": maps}, {"tokens": "["}),
        ("few-tokens", {"attentions": maps}, {"tokens": '["a"]'}),
        ("whole-numbers", {"attentions": maps.long()}, {"tokens": '["a", "b"]'}),
        ("cross", {"attentions": maps[:, :, :1].contiguous()}, {"tokens": '["a"]', "keys": '["b"]'}),
        ("weights", {"other": maps}, {}),
    ):
        save_file(tensors, tmp_path / f"{name}.safetensors", metadata=metadata)
        with pytest.raises(LoadError) as found:
            encoder.load(tmp_path / f"{name}.safetensors")
        assert name in str(found.value)
        assert "\n" not in str(found.value)
    (tmp_path / "cut.safetensors").write_bytes(b"x" * 20)
    (tmp_path / "cut.parquet").write_bytes(b"x" * 20)
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "other.parquet")
    rows = table(maps, ["a", "b"])
    rows.assign(layer=[-1, 0, 0, 0]).to_parquet(tmp_path / "negative.parquet")
    rows.assign(layer=[10**12, 0, 0, 0]).to_parquet(tmp_path / "far.parquet")
    rows.assign(weight="x").to_parquet(tmp_path / "words.parquet")
    for name in ("cut.safetensors", "cut.parquet", "other.parquet", "negative.parquet", "far.parquet", "words.parquet"):
        with pytest.raises(LoadError):
            encoder.load(tmp_path / name)


def small_table(**columns: Any) -> pd.DataFrame:
    """Maps of two tokens, [1, 1, 2, 2]; columns: other values of these."""
    plain = {"layer": [0] * 4, "head": [0] * 4, "query": [0, 0, 1, 1], "key": [0, 1, 0, 1], "weight": [0.5] * 4}
    return pd.DataFrame({**plain, **columns})


AB = ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"key": [0, 0, 0, 1]}, "query 0, key 0 twice"),
        ({"layer": [0.6, 0, 1.6, 0]}, "0.6 in the column layer"),
        ({"layer": pd.to_datetime(["2001-01-01"] * 4)}, "timestamp"),
        ({"weight": [True] * 4}, "bool in the column weight"),
        ({"weight": [0.5, None, 0.5, 0.5]}, "empty cell"),
        ({"query_token": ["a", "c", "b", "b"]}, "'a' and 'c' in the column query_token"),
        ({"query_token": ["a", None, "b", "b"]}, "None in the column query_token"),
        ({"query": [0, 0, 8191, 1], "key": [0, 1, 8191, 1]}, "without gaps"),
        ({"layer": [0, 0, 127, 0], "query": [0, 0, 400, 1], "key": [0, 1, 400, 1]}, "without gaps"),
    ],
    ids=str,
)
def test_a_table_that_says_two_things_is_refused(columns: dict[str, Any], says: str, tmp_path: Path):
    small_table(**columns).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(LoadError, match=says):
        encoder.load(tmp_path / "a.parquet")


def test_a_table_is_of_one_text_unless_a_token_has_two_names(tmp_path: Path):
    causal = {
        "query": [0, 1, 1, 2],
        "key": [0, 0, 1, 1],
        "query_token": ["a", "b", "b", "c"],
        "key_token": list("aabb"),
    }
    small_table(**causal).to_parquet(tmp_path / "a.parquet")
    found = encoder.load(tmp_path / "a.parquet")
    assert (found.takes, found.trace().tokens) == ("maps", ("a", "b", "c"))
    small_table(query_token=AB, key_token=["x", "y", "x", "y"]).to_parquet(tmp_path / "b.parquet")
    assert encoder.load(tmp_path / "b.parquet").takes == "cross"


def test_cross_attention_maps_are_saved(tmp_path: Path):
    maps = torch.rand(2, 3, 4, 5).softmax(-1)
    file = encoder.attentions(maps, list("abcd"), list("vwxyz")).save(tmp_path / "a.safetensors")
    again = encoder.load(file)
    assert again.takes == "cross"
    for found in (again.trace(), encoder.open_trace(file)):
        assert found.tokens == tuple("vwxyz")
        assert found.decoder.tokens == tuple("abcd")
        assert torch.equal(found.decoder.cross_attention(1, 2), maps[1, 2])


@pytest.mark.parametrize(
    "maps",
    [
        torch.rand(1, 1, 2, 2).to(torch.complex64), np.ma.masked_less(np.full((1, 1, 2, 2), 0.5), 0.1),
        torch.full((1, 1, 2, 2), 0.5).to_sparse(), torch.empty(1, 1, 2, 2, device="meta"),
        [np.ma.masked_less(np.full((1, 2, 2), 0.5), 0.1)],
    ],
    ids=["complex", "masked", "sparse", "meta", "masked layers"],
)  # fmt: skip
def test_arrays_of_something_else_are_refused(maps: Any):
    with pytest.raises(EncoderError, match="not an array of numbers"):
        encoder.attentions(maps, ["a", "b"])


@pytest.mark.parametrize("tokens", [None, 5, "ab", b"ab", [1, 2], ["a", None]], ids=str)
def test_tokens_of_another_kind_are_refused(tokens: Any):
    with pytest.raises(EncoderError, match="list of texts"):
        encoder.attentions(torch.full((1, 1, 2, 2), 0.5), tokens)
