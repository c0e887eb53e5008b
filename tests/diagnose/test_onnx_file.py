"""An ONNX file as the other program: vectors of tokens are pooled as the model's, finished vectors are taken."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import encoder
from encoder import diagnose
from encoder.errors import EncoderError

TEXTS = ("A cat sat on the mat.", "two words")


def write(path: Path, table: np.ndarray, *, pooled: bool, name: str = "input_ids") -> None:
    """A file that gives each id its row of a table, or with `pooled` the mean of these rows."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    nodes = [helper.make_node("Gather", ["table", name], ["tokens"])]
    result = helper.make_tensor_value_info("tokens", onnx.TensorProto.FLOAT, ["b", "t", table.shape[1]])
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["tokens", "axes"], ["vector"], keepdims=0))
        result = helper.make_tensor_value_info("vector", onnx.TensorProto.FLOAT, ["b", table.shape[1]])
    given = helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["b", "t"])
    weights = [onnx.numpy_helper.from_array(table, "table"), onnx.numpy_helper.from_array(np.array([1]), "axes")]
    graph = helper.make_graph(nodes, "g", [given], [result], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


@pytest.mark.parametrize("pooled", [True, False])
def test_the_vectors_of_a_file_are_pooled_where_it_does_not(pooled: bool, tmp_path: Path):
    pytest.importorskip("onnxruntime")
    model = encoder.load("twin-pre")
    table = np.random.default_rng(0).normal(size=(model.config.vocab_size, 7)).astype(np.float32)
    write(tmp_path / "model.onnx", table, pooled=pooled)
    found = diagnose.embed_by_onnx(model, tmp_path / "model.onnx", TEXTS)
    wanted = [table[list(model.tokenize(text).ids)].mean(axis=0) for text in TEXTS]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_what_is_no_such_file_is_refused(tmp_path: Path):
    pytest.importorskip("onnxruntime")
    model = encoder.load("twin-pre")
    (tmp_path / "broken.onnx").write_bytes(b"not a graph")
    with pytest.raises(EncoderError, match="export it again"):
        diagnose.embed_by_onnx(model, tmp_path / "broken.onnx", TEXTS)
    with pytest.raises(EncoderError, match="No ONNX file"):
        diagnose.embed_by_onnx(model, tmp_path / "gone.onnx", TEXTS)
    write(tmp_path / "other.onnx", np.zeros((9, 2), np.float32), pooled=False, name="pixels")
    with pytest.raises(EncoderError, match="pixels"):
        diagnose.embed_by_onnx(model, tmp_path / "other.onnx", TEXTS)


def test_without_onnx_runtime_a_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EncoderError, match=r"encoderscope\[onnx\]"):
        diagnose.embed_by_onnx(encoder.load("twin-pre"), tmp_path / "model.onnx", TEXTS)
