"""The GPU against the CPU, and what stays on it. Run wherever a GPU can be had: pytest -m cuda."""

from __future__ import annotations

import gc

import pytest
import torch

import encoder
from encoder import TextEncoder
from encoder.edits import MaskKeys
from tests.engine.conftest import VARIANTS, tiny

pytestmark = pytest.mark.cuda
SENTENCE = "the cat sat on the unhappy mat ."


@pytest.fixture(autouse=True)
def _exact_products(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


def to_cuda(model: TextEncoder, dtype: torch.dtype = torch.float32) -> TextEncoder:
    model.encoder.to("cuda", dtype)
    return model


@pytest.mark.parametrize("name", list(VARIANTS))
def test_every_architecture(name: str):
    texts = [SENTENCE, "dog"]
    for edits in ((), (MaskKeys((2,), layer=1, head=3),)):
        expected = tiny(**VARIANTS[name]).trace_batch(texts, edits=edits)
        found = to_cuda(tiny(**VARIANTS[name])).trace_batch(texts, edits=edits)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.output.device.type == "cuda"
            for key, value in theirs.values.items():
                torch.testing.assert_close(ours.values[key].cpu(), value, atol=1e-4, rtol=1e-4)
            for layer in range(3):
                pattern = ours.layer_attention(layer)
                assert pattern.device.type == "cuda"
                torch.testing.assert_close(pattern.cpu(), theirs.layer_attention(layer), atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(ours.thumbnails(4).cpu(), theirs.thumbnails(4), atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(ours.z(1, 2).cpu(), theirs.z(1, 2), atol=1e-4, rtol=1e-4)


def test_minilm(minilm: TextEncoder, prose: str):
    on_gpu = encoder.load("minilm", device="cuda")
    assert on_gpu.device.type == "cuda"
    exact, found = minilm.trace(prose), on_gpu.trace(prose)
    torch.testing.assert_close(found.output.cpu(), exact.output, atol=1e-4, rtol=1e-4)
    for layer in range(6):
        torch.testing.assert_close(
            found.layer_attention(layer).cpu(), exact.layer_attention(layer), atol=1e-4, rtol=1e-4
        )
    torch.testing.assert_close(on_gpu.embed(prose).cpu(), minilm.embed(prose), atol=1e-4, rtol=1e-4)


def test_minilm_in_bfloat16(minilm: TextEncoder, prose: str):
    found = encoder.load("minilm", device="cuda", dtype="bfloat16").trace(prose)
    similar = torch.nn.functional.cosine_similarity(found.output.float().cpu(), minilm.trace(prose).output, dim=-1)
    assert similar.min() > 0.99


def test_nothing_is_left_on_the_device(prose: str):
    model = encoder.load("minilm", device="cuda")
    model.trace(prose).thumbnails(64)
    gc.collect()
    before = torch.cuda.memory_allocated()
    for _ in range(5):
        trace = model.trace(prose, edits=[MaskKeys((1,))])
        trace.thumbnails(64)
        model.embed([prose, "the cat"])
        del trace
    gc.collect()
    assert torch.cuda.memory_allocated() == before
