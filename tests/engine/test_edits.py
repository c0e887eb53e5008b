"""Edits: what a trace derives under an edit is what the forward pass computed, and what the edit says happens."""

from __future__ import annotations

import copy
import functools
import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoder import EncoderConfig, EncoderError, TextEncoder
from encoder.edits import AblateHead, AttentionEdit, Edit, MaskKeys, SetScore, Site
from encoder.edits.base import MAX_NUMBER
from tests.engine import reference
from tests.engine.conftest import VARIANTS, tiny

pytestmark = pytest.mark.sample(3, "another architecture")

SENTENCE = "the cat sat on the unhappy mat ."
EDITS: dict[str, tuple[Edit, ...]] = {
    "ablate": (AblateHead(1, 3),),
    "ablate two": (AblateHead(0, 0), AblateHead(2, 4)),
    "mask everywhere": (MaskKeys((0, 4)),),
    "mask in a layer": (MaskKeys((2,), layer=1),),
    "mask in a head": (MaskKeys((2, 3), layer=1, head=2),),
    "mask in a head of every layer": (MaskKeys((2, 3), head=4),),
    "mask for a query": (MaskKeys((5,), query=3),),
    "mask all keys": (MaskKeys(tuple(range(12)), layer=0, head=1, query=2),),
    "score": (SetScore(1, 3, query=2, key=6, value=4.5),),
    "scores and heads": (
        SetScore(0, 1, 1, 2, -3.0),
        MaskKeys((1,), layer=0),
        AblateHead(0, 1),
        SetScore(2, 0, 0, 0, 9),
    ),
    "a masked key set again": (MaskKeys((3,), layer=2), SetScore(2, 1, 4, 3, 2.0)),
}


@functools.cache
def model_of(architecture: str) -> TextEncoder:
    """One for all tests, which leave it as it is."""
    return tiny(**VARIANTS[architecture])


@pytest.mark.sample(4, "another derived value")
@pytest.mark.parametrize("architecture", ["post", "pre", "rotary, windows", "relative bias"])
@pytest.mark.parametrize("name", list(EDITS))
def test_derived_is_captured(architecture: str, name: str):
    model = model_of(architecture)
    for text in ([SENTENCE], [SENTENCE, "dog"]):
        trace = model.trace_batch(text, edits=EDITS[name], request=("scores", "z"))[0]
        assert trace.n_tokens == 12
        for layer in range(3):
            captured = trace.values[f"layers.{layer}.scores"]
            pattern = torch.softmax(captured, -1)
            torch.testing.assert_close(trace.layer_attention(layer), pattern, atol=1e-6, rtol=1e-5)
            for head in range(5):
                torch.testing.assert_close(trace.scores(layer, head), captured[head], atol=2e-6, rtol=1e-5)
                torch.testing.assert_close(trace.attention(layer, head), pattern[head], atol=1e-6, rtol=1e-5)
                z = trace.values[f"layers.{layer}.z"][head]
                torch.testing.assert_close(trace.z(layer, head), z, atol=5e-6, rtol=1e-5)
                window = trace.attention(layer, head, queries=slice(2, 5), keys=slice(1, 7))
                torch.testing.assert_close(window, pattern[head, 2:5, 1:7], atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(trace.pooled_attention(layer, 2, size=12), pattern[2], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", list(EDITS))
def test_layers_before_the_first_edit_keep_their_numbers(name: str):
    model = tiny()
    plain, edited = model.trace(SENTENCE), model.trace(SENTENCE, edits=EDITS[name])
    first = min(getattr(edit, "layer", None) or 0 for edit in EDITS[name])
    for layer in range(first):
        for part in ("q", "k", "v", "after_ffn"):
            before, after = (trace.values[f"layers.{layer}.{part}"] for trace in (plain, edited))
            torch.testing.assert_close(before, after)
    assert not torch.allclose(plain.output, edited.output, atol=1e-4)


def test_ablating_a_head_takes_its_columns_out_of_w_o():
    model = tiny()
    edited = model.trace(SENTENCE, edits=[AblateHead(1, 3)], request=("z",))
    assert edited.values["layers.1.z"][3].abs().max() == 0
    assert edited.values["layers.1.z"][2].abs().max() > 0
    without = tiny()
    with torch.no_grad():
        without.encoder.layers[1].attention.w_o.weight[:, 3 * 6 : 4 * 6] = 0
    torch.testing.assert_close(without.trace(SENTENCE).output, edited.output)


def test_a_masked_key_gets_no_weight_and_the_others_share_it():
    model = tiny()
    plain = model.trace(SENTENCE).layer_attention(0)
    masked = model.trace(SENTENCE, edits=[MaskKeys((3,), layer=0, head=1, query=5)]).layer_attention(0)
    row = plain[1, 5].clone()
    row[3] = 0
    torch.testing.assert_close(masked[1, 5], row / row.sum())
    untouched = torch.ones(5, 12, dtype=torch.bool)
    untouched[1, 5] = False
    assert torch.equal(masked[untouched], plain[untouched])


def test_masking_what_padding_masks_is_padding():
    """Masking the last keys of a longer sentence gives the first tokens what they have without them."""
    model = tiny()
    long, short = model.trace("the cat sat on"), model.trace("the cat")
    n = short.n_tokens - 1  # without [SEP], which stands elsewhere
    ids = list(long.ids[:n])
    expected = reference.run(model.encoder, ids, [0] * n, [True] * n)["output"]
    masked = model.trace("the cat sat on", edits=[MaskKeys(tuple(range(n, long.n_tokens)))])
    torch.testing.assert_close(masked.output[:n].double(), torch.from_numpy(expected), atol=1e-5, rtol=1e-5)


def test_an_edit_is_a_value():
    assert MaskKeys((1, 2), layer=0) == MaskKeys((1, 2), layer=0)
    assert len({AblateHead(0, 1), AblateHead(0, 1), AblateHead(1, 0), SetScore(0, 1, 2, 3, 4.0)}) == 3
    scores = torch.zeros(2, 3, 4, 4)
    site = Site("scores", 0, range(3), range(4))
    assert MaskKeys((1,), head=2).apply(scores, site)[:, 2, :, 1].max() < -1e30
    assert SetScore(0, 1, 2, 3, 5.0).apply(scores, site)[1, 1, 2, 3] == 5
    assert scores.abs().sum() == 0  # what was given is left as it is


def test_edits_show_in_the_trace(make_tiny: type[TextEncoder]):
    trace = make_tiny().trace(SENTENCE, edits=[AblateHead(1, 3)])
    assert trace.edits == (AblateHead(1, 3),)
    assert trace.z(1, 3).abs().max() == 0


@pytest.mark.parametrize(
    ("edit", "wrong", "choice"),
    [
        (AblateHead(3, 0), "layer 3", "0 to 2"),
        (AblateHead(0, 5), "head 5", "0 to 4"),
        (MaskKeys((0, 12)), "key 12", "0 to 11"),
        (MaskKeys((0,), layer=3), "layer 3", "0 to 2"),
        (MaskKeys((0,), head=9), "head 9", "0 to 4"),
        (MaskKeys((0,), query=12), "query 12", "0 to 11"),
        (SetScore(0, 0, 12, 0, 1.0), "query 12", "0 to 11"),
        (SetScore(0, 0, 0, 12, 1.0), "key 12", "0 to 11"),
    ],
)
def test_an_edit_of_what_is_not_there_is_refused(edit: Edit, wrong: str, choice: str):
    with pytest.raises(EncoderError, match=f"{wrong}\\b.*{choice}"):
        tiny().trace(SENTENCE, edits=[edit])


def test_something_else_is_no_edit():
    with pytest.raises(EncoderError, match=r"not an edit.*AblateHead"):
        tiny().trace(SENTENCE, edits=["L0 H1"])


NO_INDEX = [1.5, "0", True, -1, np.int64(-1), np.float64(1.0), math.nan, [0], (0,), torch.tensor(0)]


@pytest.mark.parametrize("wrong", [*NO_INDEX, None], ids=repr)
def test_an_index_is_a_whole_number_from_0_on(wrong: object):
    makers = {
        "layer": [lambda: AblateHead(wrong, 0), lambda: SetScore(wrong, 0, 0, 0, 1.0)],
        "head": [lambda: AblateHead(0, wrong), lambda: SetScore(0, wrong, 0, 0, 1.0)],
        "query": [lambda: SetScore(0, 0, wrong, 0, 1.0)],
        "key": [lambda: SetScore(0, 0, 0, wrong, 1.0), lambda: MaskKeys((0, wrong))],
    }
    if wrong is not None:  # None stands for every layer, head and query
        makers["layer"].append(lambda: MaskKeys((0,), layer=wrong))
        makers["head"].append(lambda: MaskKeys((0,), head=wrong))
        makers["query"].append(lambda: MaskKeys((0,), query=wrong))
    for name, calls in makers.items():
        for make in calls:
            with pytest.raises(EncoderError, match=f"{name}=.*whole number"):
                make()


@pytest.mark.parametrize("keys", [3, None, "12", 1.0], ids=repr)
def test_keys_are_several(keys: object):
    with pytest.raises(EncoderError, match="MaskKeys"):
        MaskKeys(keys)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e39, np.float32("nan"), "1", None, True], ids=repr)
def test_a_score_is_a_finite_number(value: object):
    with pytest.raises(EncoderError, match="number from"):
        SetScore(0, 0, 0, 0, value)


@pytest.mark.parametrize("value", [MAX_NUMBER, -MAX_NUMBER])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_largest_score_is_one_in_every_number_type(value: float, dtype: torch.dtype):
    site = Site("scores", 0, range(1), range(1))
    assert SetScore(0, 0, 0, 0, value).apply(torch.zeros(1, 1, 1, 1, dtype=dtype), site).isfinite().all()


N_LAYERS, N_HEADS, N_TOKENS = 3, 5, 12
CONFIG = EncoderConfig(vocab_size=9, d_model=10, n_layers=N_LAYERS, n_heads=N_HEADS, d_ffn=3)


def indices(below: int) -> st.SearchStrategy[int]:
    return st.integers(0, below - 1).flatmap(lambda index: st.sampled_from([index, np.int64(index), np.uint8(index)]))


layers, heads, tokens = indices(N_LAYERS), indices(N_HEADS), indices(N_TOKENS)
edits = st.one_of(
    st.builds(AblateHead, layers, heads),
    st.builds(
        MaskKeys,
        st.lists(tokens).flatmap(lambda keys: st.sampled_from([keys, tuple(keys)])),
        layer=st.none() | layers,
        head=st.none() | heads,
        query=st.none() | tokens,
    ),
    st.builds(SetScore, layers, heads, tokens, tokens, st.floats(-1e30, 1e30) | st.integers(-9, 9)),
)


@given(edits)
def test_any_valid_edit_is_a_value(edit: Edit):
    for copied in (copy.deepcopy(edit), pickle.loads(pickle.dumps(edit))):
        assert copied == edit
        assert hash(copied) == hash(edit)
    assert eval(repr(edit)) == edit
    edit.check(CONFIG, N_TOKENS)


@given(edits.filter(lambda edit: not isinstance(edit, AblateHead)), st.data())
def test_an_edit_within_a_window_is_the_window_of_the_edit(edit: AttentionEdit, data: st.DataObject):
    """Of any heads and query rows, in any step: as if the whole map had been edited and then cut."""
    whole = torch.arange(N_HEADS * N_TOKENS**2, dtype=torch.float32).view(N_HEADS, N_TOKENS, N_TOKENS)
    some_heads, some_queries = (data.draw(st.slices(count)) for count in (N_HEADS, N_TOKENS))
    head_range, query_range = range(N_HEADS)[some_heads], range(N_TOKENS)[some_queries]
    window = whole[list(head_range)][:, list(query_range)]
    expected = edit.apply(whole, Site("scores", 0, range(N_HEADS), range(N_TOKENS)))
    found = edit.apply(window, Site("scores", 0, head_range, query_range))
    assert torch.equal(found, expected[list(head_range)][:, list(query_range)])


@given(edits, st.integers(1, N_LAYERS), st.integers(1, N_HEADS), st.integers(0, N_TOKENS))
def test_an_edit_outside_is_refused(edit: Edit, n_layers: int, n_heads: int, n_tokens: int):
    config = EncoderConfig(vocab_size=9, d_model=2, n_layers=n_layers, n_heads=n_heads, d_head=2, d_ffn=3)
    limits = {"layer": n_layers, "head": n_heads, "query": n_tokens, "key": n_tokens}
    places = [(name, getattr(edit, name, None)) for name in limits] + [
        ("key", key) for key in getattr(edit, "keys", ())
    ]
    if any(value is not None and value >= limits[name] for name, value in places):
        with pytest.raises(EncoderError, match="to edit: choose"):
            edit.check(config, n_tokens)
    else:
        edit.check(config, n_tokens)
