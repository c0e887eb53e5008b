"""Every family against transformers, on tiny random checkpoints: outputs, every attention map, masked words.

The reference runs eager attention. Absolute tolerance 1e-5 on the CPU, on numbers of the order of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from encoder import Trace
from tests.load.reference import FAMILIES, inputs_of, pooled, sentence

pytestmark = pytest.mark.sample(3, "another checkpoint")

TOLERANCE = 1e-5
#: Words a text; with two special tokens T is 3, 11, 39 (past the window of 7) and 182 (past MPNet's 128).
LENGTHS = (1, 9, 37, 180)
each_family = pytest.mark.parametrize("family", FAMILIES)
each_depth = pytest.mark.parametrize("n_layers", [1, 3], ids=["1 layer", "3 layers"])


@torch.no_grad()
def run(model: Any, **inputs: Tensor) -> Any:
    return model(**inputs, output_attentions=True, output_hidden_states=True)


def close(ours: Tensor, theirs: Tensor, what: str, rtol: float = 0.0) -> None:
    torch.testing.assert_close(ours, theirs, atol=TOLERANCE, rtol=rtol, msg=lambda text: f"{what}: {text}")


def compare(trace: Trace, theirs: Any, index: int = 0) -> None:
    """Outputs, embeddings, streams between layers and every attention map, padding's own too.

    But for padding that sees nothing through its window (ModernBERT): what is the softmax of no number at all?
    """
    n_layers = trace.config.n_layers
    n = trace.n_tokens if trace.config.attention_window is None else trace.n_real
    output = theirs.get("last_hidden_state")
    if output is not None:
        close(trace.output[:n], output[index, :n], "output")
    streams = trace.streams
    close(streams[0][:n], theirs.hidden_states[0][index, :n], "embedding")
    for layer in range(n_layers - 1):
        # Pre-norm's stream grows with depth, and its rounding with it.
        stream = theirs.hidden_states[layer + 1][index, :n]
        close(streams[layer + 1][:n], stream, f"stream after layer {layer}", rtol=1e-6)
    assert len(theirs.attentions) == n_layers
    for layer in range(n_layers):
        for head in range(trace.config.n_heads):
            ours = trace.attention(layer, head)
            close(ours[:n], theirs.attentions[layer][index, head, :n], f"attention of layer {layer}, head {head}")


@each_family
@each_depth
def test_one_sentence_of_any_length(family: str, n_layers: int, checkpoint: Callable):
    pair = checkpoint(family, n_layers=n_layers)
    for n_words in LENGTHS:
        text = sentence(n_words, seed=n_words)
        trace = pair.ours.trace(text)
        assert trace.n_tokens == n_words + 2
        compare(trace, run(pair.theirs, **inputs_of(pair.ours, [(text, None)], family)))


@each_family
@each_depth
def test_several_sentences_with_padding(family: str, n_layers: int, checkpoint: Callable):
    pair = checkpoint(family, n_layers=n_layers)
    texts = [sentence(n_words, seed=n_words) for n_words in (4, 37, 1, 150)]
    theirs = run(pair.theirs, **inputs_of(pair.ours, [(text, None) for text in texts], family))
    for index, trace in enumerate(pair.ours.trace_batch(texts)):
        compare(trace, theirs, index)


@each_family
def test_one_sentence_padded_by_another_is_itself(family: str, checkpoint: Callable):
    pair = checkpoint(family)
    short, long = sentence(6, seed=1), sentence(170, seed=2)
    batched, alone = pair.ours.trace_batch([short, long])[0], pair.ours.trace(short)
    close(batched.output[: alone.n_tokens], alone.output, "output")


@each_family
def test_a_pair_of_sentences(family: str, checkpoint: Callable):
    pair = checkpoint(family)
    first, second = sentence(7, seed=3), sentence(5, seed=4)
    trace = pair.ours.trace(first, second)
    compare(trace, run(pair.theirs, **inputs_of(pair.ours, [(first, second)], family)))


@pytest.mark.parametrize("family", [name for name, entry in FAMILIES.items() if entry.pooler])
def test_the_pooler(family: str, checkpoint: Callable):
    pair = checkpoint(family)
    text = sentence(9)
    theirs = run(pair.theirs, **inputs_of(pair.ours, [(text, None)], family))
    with torch.no_grad():
        close(pooled(pair.ours.encoder, pair.ours.trace(text).output), theirs.pooler_output, "pooled")


@each_family
def test_the_checkpoints_are_telling(family: str, checkpoint: Callable):
    """A test of the tests: attention far from uniform and from a spike, so that a wrong score would show."""
    trace = checkpoint(family).ours.trace(sentence(37))
    largest = torch.stack([trace.layer_attention(layer) for layer in range(3)]).amax(-1)
    assert 5 / 39 < float(largest.mean()) < 0.9


# --- masked words ----------------------------------------------------------------------------------------------------


@each_family
def test_masked_words(family: str, checkpoint: Callable):
    pair = checkpoint(family, "ForMaskedLM")
    hole = pair.ours.tokenizer.mask_token
    text = f"{sentence(6)} {hole} {sentence(20, seed=1)} {hole}"
    theirs = run(pair.theirs, **inputs_of(pair.ours, [(text, None)], family))
    trace = pair.ours.trace(text)
    compare(trace, theirs)
    expected = theirs.logits[0].softmax(-1)
    predictions = pair.ours.predict_masked(trace, k=99)
    assert [prediction.position for prediction in predictions] == [7, 28]
    for prediction in predictions:
        ours = torch.zeros(99).index_put((torch.tensor(prediction.ids),), torch.tensor(prediction.probabilities))
        close(ours, expected[prediction.position], "probabilities")
        assert expected[prediction.position].argmax() == prediction.ids[0]


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra", "mpnet", "albert", "modernbert"])
def test_masked_words_with_a_table_of_their_own(family: str, checkpoint: Callable):
    pair = checkpoint(family, "ForMaskedLM", tie_word_embeddings=False)
    assert not pair.ours.mlm_head.config.tied
    text = f"{sentence(6)} {pair.ours.tokenizer.mask_token}"
    theirs = run(pair.theirs, **inputs_of(pair.ours, [(text, None)], family))
    (prediction,) = pair.ours.predict_masked(pair.ours.trace(text), k=99)
    close(torch.tensor(prediction.probabilities), theirs.logits[0, 7].softmax(-1).sort(descending=True).values, "words")


# --- heads that are left out -----------------------------------------------------------------------------------------


OTHER_HEADS = [
    ("bert", "ForNextSentencePrediction", "a next-sentence head"),
    ("bert", "ForMultipleChoice", "a classification head"),
    ("electra", "ForPreTraining", "a head that finds replaced words"),
    ("electra", "ForMultipleChoice", "a multiple-choice head"),
    ("modernbert", "ForQuestionAnswering", "a classification head"),
]


@pytest.mark.parametrize(("family", "head", "meaning"), OTHER_HEADS)
def test_another_head_is_named_and_left_out(family: str, head: str, meaning: str, checkpoint: Callable):
    pair = checkpoint(family, head, n_layers=1)
    assert any(meaning in note for note in pair.ours.notes)
    assert pair.ours.mlm_head is None
    text = sentence(9)
    base = pair.theirs.base_model
    compare(pair.ours.trace(text), run(base, **inputs_of(pair.ours, [(text, None)], family)))


@pytest.mark.parametrize(
    ("family", "meaning"), [("bert", "a next-sentence head"), ("albert", "the order of sentences")]
)
def test_pretraining_leaves_both_heads(family: str, meaning: str, checkpoint: Callable):
    pair = checkpoint(family, "ForPreTraining", n_layers=1)
    assert any(meaning in note for note in pair.ours.notes)
    assert pair.ours.mlm_head is not None
    assert pair.ours.config.pooler


# --- what differs within a family ------------------------------------------------------------------------------------


def test_albert_with_several_groups_of_layers(checkpoint: Callable):
    pair = checkpoint("albert", n_layers=4, num_hidden_groups=2)
    assert pair.ours.config.n_distinct_layers == 2
    text = sentence(12)
    compare(pair.ours.trace(text), run(pair.theirs, **inputs_of(pair.ours, [(text, None)], "albert")))


def test_a_padding_token_in_the_text_takes_paddings_position(checkpoint: Callable):
    pair = checkpoint("roberta")
    text = f"{sentence(4)} <pad> {sentence(3, seed=1)}"
    compare(pair.ours.trace(text), run(pair.theirs, **inputs_of(pair.ours, [(text, None)], "roberta")))


def test_distilbert_with_sinusoidal_positions(checkpoint: Callable):
    pair = checkpoint("distilbert", sinusoidal_pos_embds=True)
    text = sentence(12)
    compare(pair.ours.trace(text), run(pair.theirs, **inputs_of(pair.ours, [(text, None)], "distilbert")))


@pytest.mark.parametrize(
    "more",
    [
        {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
        {
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": 700.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 90.0},
            }
        },
        {"local_attention": 128},
        {"local_attention": 9},
    ],
    ids=["kinds of layers", "rotary bases", "the usual window", "an odd window"],
)
def test_modernbert_as_its_fields_say(more: dict[str, Any], checkpoint: Callable):
    pair = checkpoint("modernbert", **more)
    text = sentence(180)
    compare(pair.ours.trace(text), run(pair.theirs, **inputs_of(pair.ours, [(text, None)], "modernbert")))


# --- images ----------------------------------------------------------------------------------------------------------


@each_depth
@pytest.mark.parametrize("qkv_bias", [True, False], ids=["biased", "no bias in q, k, v"])
def test_images(n_layers: int, qkv_bias: bool, checkpoint: Callable):
    pair = checkpoint("vit", n_layers=n_layers, qkv_bias=qkv_bias)
    pixels = torch.randn(2, 3, 24, 24, generator=torch.Generator().manual_seed(0))
    theirs = run(pair.theirs, pixel_values=pixels)
    for index, trace in enumerate(pair.ours.trace_images(pixels)):
        assert trace.tokens[:3] == ("[CLS]", "r0 c0", "r0 c1")
        assert trace.tokens[-1] == "r5 c5"
        compare(trace, theirs, index)
    one = pair.ours.trace_image(pixels[1])
    compare(one, theirs, 1)
    with torch.no_grad():
        close(pooled(pair.ours.encoder, one.output), theirs.pooler_output[1:], "pooled")


@pytest.mark.parametrize(
    ("head", "meaning"),
    [
        ("ForMaskedImageModeling", "masked patches"),
    ],
)
def test_heads_of_images_are_left_out(head: str, meaning: str, checkpoint: Callable):
    pair = checkpoint("vit", head, n_layers=1, encoder_stride=4)
    assert any(meaning in note for note in pair.ours.notes)
    pixels = torch.randn(1, 3, 24, 24, generator=torch.Generator().manual_seed(0))
    compare(pair.ours.trace_image(pixels[0]), run(pair.theirs.vit, pixel_values=pixels))
