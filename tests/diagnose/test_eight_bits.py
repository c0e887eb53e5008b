"""Vectors of all-MiniLM-L6-v2 in 8 bits, as ONNX Runtime and torch quantise it, are named by their grid."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModel

import encoder
from encoder import diagnose
from encoder.checkpoints.bundled import bundled_folder
from encoder.diagnose.faults.precision import Precision
from encoder.diagnose.probes import probes

#: As ONNX Runtime's `quantize_dynamic` takes them; False: of 0 to 255.
KINDS = {"int8": (True, False), "int8 per channel": (True, True), "uint8": (False, False)}


class Tokens(nn.Module):
    """The reference's vectors of tokens, as an exported file gives them."""

    def __init__(self) -> None:
        super().__init__()
        self.model = AutoModel.from_pretrained(bundled_folder("minilm"), attn_implementation="eager").eval()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        found: Tensor = self.model(input_ids, attention_mask, token_type_ids).last_hidden_state
        return found


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """all-MiniLM-L6-v2 as an ONNX file."""
    pytest.importorskip("onnxruntime")
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    ids, names = torch.ones(2, 8, dtype=torch.long), ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "tokens"} for name in (*names, "tokens")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        torch.onnx.export(
            Tokens(), (ids, ids, 0 * ids), str(path), input_names=names, output_names=["tokens"], dynamic_axes=axes,
            opset_version=17, dynamo=False,
        )  # fmt: skip
    return path


def named(vectors: np.ndarray, model: Any, texts: list[str]) -> tuple[str, float]:
    """The grid that a diagnosis names, and the correlation that it found."""
    found = diagnose.find(model, texts, vectors, together=1)
    (fault,) = found.faults
    assert isinstance(fault, Precision)
    assert fault.of == "computation"
    assert found.correlation is not None
    assert f"{found.correlation:.2f}" in found.said
    return fault.kind, found.correlation


@pytest.mark.slow("files of 90 MB")
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_onnx_runtime_is_named_by_its_grid(kind: str, file: Path, minilm: encoder.TextEncoder):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    signed, per_channel = KINDS[kind]
    small = file.with_name(f"{kind}.onnx")
    weights = QuantType.QInt8 if signed else QuantType.QUInt8
    quantize_dynamic(file, small, weight_type=weights, per_channel=per_channel)
    texts = list(probes(minilm)[:8])
    found, correlation = named(diagnose.embed_by_onnx(minilm, small, texts), minilm, texts)
    assert found == kind
    # Where a processor adds products in 16 bits, sums of full channels do not fit, and errors of their own come in.
    assert correlation > (0.3 if per_channel else 0.9)


@pytest.mark.slow("a large model, rounded by another program")
def test_dynamic_quantisation_of_torch_is_named_by_its_grid(minilm: encoder.TextEncoder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces that it will move
        small = torch.ao.quantization.quantize_dynamic(Tokens(), {nn.Linear}, dtype=torch.qint8)
        texts = list(probes(minilm)[:8])
        tokens = [torch.tensor([minilm.tokenize(text, max_tokens=minilm.max_embed_tokens).ids]) for text in texts]
        with torch.no_grad():
            means = [small(ids, torch.ones_like(ids), 0 * ids)[0].mean(dim=0) for ids in tokens]
    vectors = nn.functional.normalize(torch.stack(means), dim=-1).numpy()
    found, correlation = named(vectors, minilm, texts)
    assert (found, correlation > 0.9) == ("int8 by torch", True)
