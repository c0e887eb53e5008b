"""The forward pass that is written to be read, next to the one that runs: for bundled models of both placements."""

import pytest
import torch

import encoder
from encoder.model import plain
from tests.engine.conftest import tiny


@pytest.mark.parametrize("name", ["minilm", "twin-post", "twin-pre"])
def test_bundled_models_have_the_same_output(name: str):
    model = encoder.load(name, device="cpu")
    sentence = model.tokenize("The cat sat on the mat because it was tired.")
    with torch.no_grad():
        found = plain.forward(model.encoder, torch.tensor([sentence.ids]))
    torch.testing.assert_close(found[0], model.trace_tokens(sentence).output, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("n_segments", [0, 2])
def test_sizes_that_show_a_swapped_axis(placement: str, n_segments: int):
    model = tiny(norm_placement=placement, n_segments=n_segments, d_model=21, n_heads=3, d_head=7, d_ffn=37)
    ids = torch.randint(0, model.config.vocab_size, (2, 7), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(plain.forward(model.encoder, ids), model.encoder(ids), rtol=1e-4, atol=1e-5)
