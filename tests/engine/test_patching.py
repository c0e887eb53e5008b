"""Shares of a patched difference, the spread of a patch, layers without a sublayer, and changes of words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from encoder import EncoderError, TextEncoder
from encoder.causal import (
    MaskedWord,
    Similarity,
    TokenVector,
    both_outcomes,
    carried_share,
    leave_out_each_sublayer,
    outcomes_of,
    patch,
    patch_edit,
    patch_request,
    word_changes,
)
from encoder.edits import AblateHead, Replace, Zero
from tests.engine.conftest import VARIANTS, tiny
from tests.engine.test_causal import CLEAN, CORRUPTED, H, L, T, sentence, with_head


@pytest.mark.parametrize("where", ["residual", "attention_out", "ffn_out", "head"])
def test_shares_run_from_one_text_to_the_other(where: str):
    model = tiny()
    yours, other = model.trace(CLEAN), model.trace(CORRUPTED, request=patch_request(where))
    outcome = Similarity(CORRUPTED)
    before, after = both_outcomes(model, other, yours, outcome)
    assert after == pytest.approx(1.0, abs=1e-6)
    cosine = torch.cosine_similarity(sentence(model, yours), sentence(model, other), dim=0)
    assert before == pytest.approx(float(cosine), abs=1e-6)
    shares = carried_share(patch(model, other, yours, outcome, where).numpy(), before, after)
    edit = patch_edit(where, CORRUPTED, 1, 2)
    patched = outcomes_of(model, yours, [model.trace(CLEAN, edits=[edit])], outcome)[1]
    assert shares[1, 2] == pytest.approx((patched - before) / (after - before), abs=2e-5)
    if where == "residual":
        whole = Replace("after_ffn", CORRUPTED, layer=0)
        assert outcomes_of(model, yours, [model.trace(CLEAN, edits=[whole])], outcome)[1] == pytest.approx(after)


def test_a_difference_is_needed():
    model = tiny()
    yours, other = model.trace(CLEAN), model.trace(CORRUPTED)
    before, after = both_outcomes(model, yours, yours, TokenVector(3))
    with pytest.raises(EncoderError, match="same outcome"):
        carried_share(np.zeros((L, T)), before, after)
    with pytest.raises(EncoderError, match="3 and 12 tokens"):
        both_outcomes(model, model.trace("a"), other, TokenVector(3))
    with pytest.raises(EncoderError, match="residual, attention_out"):
        patch_edit("z", CLEAN, 0, 0)


@pytest.mark.parametrize("architecture", ["base", "pre"] if "pre" in VARIANTS else list(VARIANTS)[:2])
def test_a_patch_spreads_from_its_place(architecture: str):
    model = tiny(**VARIANTS.get(architecture, {}))
    plain = model.trace(CLEAN)
    edited = model.trace(CLEAN, edits=[patch_edit("residual", CORRUPTED, 1, 4)])
    moved = torch.stack([(edited.before_layer(at) - plain.before_layer(at)).norm(dim=-1) for at in range(L + 1)])
    assert not moved[0].any()
    assert moved[1].nonzero().flatten().tolist() == [4]
    assert moved[-1].all()
    x = plain.values["layers.0.after_ffn"][4]
    theirs = model.trace(CORRUPTED).values["layers.0.after_ffn"][4]
    assert float(moved[1, 4]) == pytest.approx(float((theirs - x).norm()), rel=1e-5)


def test_layers_without_a_sublayer():
    model = tiny()
    found = leave_out_each_sublayer(model, CLEAN)
    assert found.shape == (2, L)
    before = sentence(model, model.trace(CLEAN))
    for row, point in enumerate(("attention_out", "ffn_out")):
        edited = sentence(model, model.trace(CLEAN, edits=[Zero(point, layer=1)]))
        expected = float(torch.cosine_similarity(edited, before, dim=0)) - 1
        assert float(found[row, 1]) == pytest.approx(expected, abs=2e-6)


def test_changes_of_words():
    model, text = with_head(), "the [MASK] sat on the unhappy mat ."
    plain, edited = model.trace(text), model.trace(text, edits=[AblateHead(0, 1), AblateHead(L - 1, H - 1)])
    ids = [model.tokenizer.backend.token_to_id(word) for word in ("cat", "dog")]
    place = plain.tokens.index("[MASK]")
    found = word_changes(model, plain, edited, place, ids)
    for word, change in zip(("cat", "dog"), found, strict=True):
        before, after = outcomes_of(model, plain, [edited], MaskedWord(word, scale="probability"))
        assert change == pytest.approx(np.log(after / before), abs=1e-5)
    with pytest.raises(EncoderError, match="no masked-word head"):
        word_changes(tiny(), plain, edited, place, ids)


def test_all_vectors_patched_is_the_other_run_with_a_hidden_word():
    model: TextEncoder = with_head()
    yours, other = model.trace("the [MASK] sat on the mat"), model.trace("a [MASK] ran to the bus")
    outcome = MaskedWord("cat", "dog")
    before, after = both_outcomes(model, other, yours, outcome)
    assert (before, after) == pytest.approx(
        (outcomes_of(model, yours, [], outcome)[0], outcomes_of(model, other, [], outcome)[0]), abs=1e-6
    )
