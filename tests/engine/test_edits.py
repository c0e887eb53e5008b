"""Edits: what a trace derives under an edit is what the forward pass computed, and what the edit says happens."""

from __future__ import annotations

import pytest
import torch

from encoder import EncoderError, TextEncoder
from encoder.edits import AblateHead, Edit, MaskKeys, SetScore
from tests.engine import reference
from tests.engine.conftest import VARIANTS, tiny

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


@pytest.mark.parametrize("architecture", ["post", "pre", "rotary, windows", "relative bias"])
@pytest.mark.parametrize("name", list(EDITS))
def test_derived_is_captured(architecture: str, name: str):
    model = tiny(**VARIANTS[architecture])
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
    assert MaskKeys((1,), head=2).edit_scores(scores)[:, 2, :, 1].max() < -1e30
    assert SetScore(0, 1, 2, 3, 5.0).edit_scores(scores)[1, 1, 2, 3] == 5
    assert scores.abs().sum() == 0  # what was given is left as it is


def test_edits_show_in_the_trace(make_tiny: type[TextEncoder]):
    trace = make_tiny().trace(SENTENCE, edits=[AblateHead(1, 3)])
    assert trace.edits == (AblateHead(1, 3),)
    assert trace.z(1, 3).abs().max() == 0


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (AblateHead(3, 0), "layer 3, and there is none: they are 0 to 2"),
        (AblateHead(0, 5), "head 5, and there is none: they are 0 to 4"),
        (MaskKeys((0, 12)), "key 12, and there is none: they are 0 to 11"),
        (MaskKeys((0,), layer=-1), "layer -1"),
        (MaskKeys((0,), head=9), "head 9"),
        (MaskKeys((0,), query=-1), "query -1"),
        (SetScore(0, 0, 12, 0, 1.0), "query 12"),
        (SetScore(0, 0, 0, 12, 1.0), "key 12"),
    ],
)
def test_an_edit_of_what_is_not_there_is_refused(edit: Edit, message: str):
    with pytest.raises(EncoderError, match=message):
        tiny().trace(SENTENCE, edits=[edit])
