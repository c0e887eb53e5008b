"""Neurons of the FFN: their order, the pooled map, the sizes of updates, and the words of an output vector."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import encoder
from encoder import EncoderError
from encoder.edits import Add
from encoder.explain import neuron_examples
from encoder.explain.neurons import most_active, neuron_map, promoted_words, update_sizes
from tests.explain.conftest import NAMES, TEXT, model_of


@pytest.mark.parametrize("name", NAMES)
def test_updates_and_layers_are_those_of_the_model(name: str):
    model = model_of(name)
    trace = model.trace(TEXT, request=("attention_out", "ffn_out", "ffn.hidden"))
    found, config = update_sizes(trace), model.config
    layer, token = 1, 3
    before = trace.values[f"layers.{layer - 1}.after_ffn"][token]
    expected = trace.values[f"layers.{layer}.attention_out"][token].norm() / before.norm()
    assert found["attention"][layer, token] == pytest.approx(float(expected), rel=2e-3)
    before = trace.values[f"layers.{layer}.after_attention"][token]
    expected = trace.values[f"layers.{layer}.ffn_out"][token].norm() / before.norm()
    assert found["ffn"][layer, token] == pytest.approx(float(expected), rel=2e-3)
    assert found["ffn"].shape == (config.n_layers, trace.n_tokens)


def test_the_map_keeps_the_largest_neuron_of_each_column():
    hidden = np.array([[0.1, -3.0, 0.5, 0.0, 2.0], [0.2, 1.0, -0.6, 0.1, -0.3]], dtype=np.float32)
    order = most_active(hidden)
    assert order.tolist() == [1, 4, 2, 0, 3]
    whole = neuron_map(hidden, order, 8)
    assert whole.block == 1
    np.testing.assert_array_equal(whole.values, hidden[:, order])
    pooled = neuron_map(hidden, order, 3)
    assert pooled.block == 2
    np.testing.assert_array_equal(pooled.neurons, [[1, 2, 3], [1, 2, 3]])
    np.testing.assert_array_equal(pooled.values, np.float32([[-3.0, 0.5, 0.0], [1.0, -0.6, 0.1]]))
    rng = np.random.default_rng(0)
    large = rng.normal(size=(5, 4096)).astype(np.float32)
    found = neuron_map(large, most_active(large), 256)
    assert found.values.shape == (5, 256)
    np.testing.assert_array_equal(np.take_along_axis(large, found.neurons, axis=1), found.values)


def test_words_are_those_that_the_vector_raises():
    model = encoder.load("twin-post", device="cpu")
    trace = model.trace("a [MASK] used to cut wood")
    layer, neuron, place = 3, 202, 2
    found = promoted_words(model, layer, neuron, trace, k=5)
    assert found.position == place
    vector = model.encoder.block(layer).ffn.w_out.weight.detach()[:, neuron].double()
    step = 1e-3
    raised = model.trace(
        "a [MASK] used to cut wood", edits=[Add("output", tuple((step * vector).tolist()), positions=(place,))]
    )
    table = model.encoder.embedding.tokens.weight
    with torch.no_grad():
        before, after = (model.mlm_head(one.output[place], table) for one in (trace, raised))
    changes = (after - before) / step
    for words in (found.highest, found.lowest):
        for one, token, score in words:
            assert token == model.tokenizer.token(one)
            assert float(changes[one]) == pytest.approx(score, abs=0.02)
    assert {one for one, _, _ in found.highest} & set(changes.topk(8).indices.tolist())


def test_without_a_hidden_word_the_linear_part_is_read():
    model = encoder.load("twin-pre", device="cpu")
    found = promoted_words(model, 0, 5, k=3)
    assert found.position is None
    assert found == promoted_words(model, 0, 5, model.trace("no hidden word"), k=3)
    head = model.mlm_head
    vector, table = model.encoder.block(0).ffn.w_out.weight.detach()[:, 5], model.encoder.embedding.tokens.weight.data
    mapped = head.dense.weight.detach() @ vector
    scores = table @ ((mapped - mapped.mean()) * head.norm.weight.detach())
    assert [one for one, _, _ in found.highest] == scores.topk(3).indices.tolist()
    assert found.lowest[0][2] == pytest.approx(float(scores.min()), rel=1e-5)


def test_errors():
    with pytest.raises(EncoderError, match="no masked-word head"):
        promoted_words(model_of("minilm"), 0, 0)
    with pytest.raises(EncoderError, match=r"neuron 512.*0 to 511"):
        promoted_words(encoder.load("twin-pre", device="cpu"), 0, 512)


@pytest.mark.parametrize("name", ["minilm", next(name for name in NAMES if model_of(name).config.gated)])
def test_the_words_of_many_texts_are_those_of_each_text(name: str):
    model, texts = model_of(name), ("The unflappable cat sat.", "a dog", "Birds sing on the mat, and a dog sings.")
    found = neuron_examples(model, texts, 1, k=3)
    values, words, starts = [], [], []
    for text in texts:
        trace = model.trace(text, request=("ffn.hidden",))
        hidden, source = trace.values["layers.1.ffn.hidden"].numpy(), trace.source
        starts.append(np.abs(hidden[0]) if model.config.gated else hidden[0])
        for word in sorted({one for one in source.words if one >= 0}):
            of = [at for at, one in enumerate(source.words) if one == word]
            strongest = (np.abs(hidden[of]) if model.config.gated else hidden[of]).argmax(axis=0)
            values.append(np.take_along_axis(hidden[of], strongest[None], 0)[0])
            words.append(text[source.offsets[of[0]][0] : source.offsets[of[-1]][1]])
    values = np.array(values)  # [W, F]
    strength = np.abs(values) if model.config.gated else values
    assert sorted(texts[text][start:end] for text, start, end in found.words) == sorted(words)
    assert "unflappable" in words  # of several tokens
    np.testing.assert_allclose(found.special["[CLS]"], (np.array(starts) > 0.1).mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.share, (strength > 0.1).mean(axis=0), atol=1e-9)
    for neuron in range(0, model.config.d_ffn, 97):
        order = np.argsort(-strength[:, neuron])[:3]
        order = order[strength[order, neuron] > 0.1]
        shown = found.of(neuron)
        assert [one.word for one in shown] == [words[at] for at in order]
        assert [one.activation for one in shown] == pytest.approx(values[order, neuron], abs=1e-4)
        assert sum(count for _, count in found.named(neuron)) == len(shown)
    with pytest.raises(EncoderError, match="No neuron"):
        found.of(model.config.d_ffn)
