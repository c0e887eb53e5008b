"""Folders of the other forms of sentence-transformers 6, and what it and this program make of them.

The forms: steps after pooling, a mean over layers, SPLADE, a sparse code, late interaction (its own, PyLate's and
ColBERT's folders), a static table, a Router, a cross-encoder.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import encoder
from encoder import classify, similarity
from tests.load import folders
from tests.load.folders import SIZES

QUERIES = ["the cat , ran", "Hello  world", "a"]
DOCUMENTS = ["café , the [MASK] cats ! sat on a mat .", "the Cat sat on the mat . a dog ran , hello", "world"]
WIDTH = SIZES["hidden_size"]
HOW = ("encode", "encode_query", "encode_document")
SIDES = (None, "query", "document")


def _random(module: Any) -> Any:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return module


def modules_of(name: str, plain: Path) -> Sequence[Any]:
    """The modules of a form. plain: a checkpoint with a masked-word head."""
    from sentence_transformers.base.modules import Dense, Normalize, Router, Transformer
    from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling, MultiVectorMask
    from sentence_transformers.sentence_transformer.modules import (
        LayerNorm,
        Pooling,
        StaticEmbedding,
        WeightedLayerPooling,
    )
    from sentence_transformers.sparse_encoder.modules import SparseAutoEncoder, SpladePooling
    from transformers import AutoTokenizer

    def transformer(**options: Any) -> Any:
        return Transformer(str(plain), **options)

    def static(width: int) -> Any:
        return _random(StaticEmbedding(AutoTokenizer.from_pretrained(plain), embedding_dim=width))

    tokens = "token_embeddings"
    made: dict[str, Callable[[], Sequence[Any]]] = {
        "steps": lambda: [
            transformer(), Pooling(WIDTH, "mean"), _random(Dense(WIDTH, WIDTH)), _random(LayerNorm(WIDTH)),
            Normalize(),
        ],
        "mix": lambda: [
            transformer(config_kwargs={"output_hidden_states": True}),
            _random(WeightedLayerPooling(WIDTH, num_hidden_layers=2, layer_start=1)), Pooling(WIDTH, "mean"),
        ],
        "splade": lambda: [transformer(transformer_task="fill-mask"), SpladePooling("max")],
        "code": lambda: [
            transformer(), Pooling(WIDTH, "mean"), _random(SparseAutoEncoder(WIDTH, hidden_dim=30, k=4, k_aux=3)),
        ],
        "late": lambda: [
            transformer(), _random(Dense(WIDTH, 12, bias=False, module_input_name=tokens)), Normalize(tokens),
            MultiVectorMask([","]), HierarchicalTokenPooling(1.5),
        ],
        "static": lambda: [static(12), Normalize()],
        "router": lambda: [
            Router.for_query_document([static(WIDTH)], [transformer(), Pooling(WIDTH, "mean")]), Normalize(),
        ],
    }  # fmt: skip
    return made[name]()


#: Form -> the class of sentence-transformers that opens it.
FORMS = {
    "steps": "SentenceTransformer", "mix": "SentenceTransformer", "static": "SentenceTransformer",
    "router": "SentenceTransformer", "splade": "SparseEncoder", "code": "SparseEncoder",
    "late": "MultiVectorEncoder", "pylate": "MultiVectorEncoder", "colbert": "MultiVectorEncoder",
    "reranker": "CrossEncoder",
}  # fmt: skip


def write(folder: Path, vocabulary: list[str]) -> dict[str, Path]:
    """A folder of each form, as the reference saves it."""
    from tests.load.test_colbert import MARKERS, colbert, pylate

    with warnings.catch_warnings(action="ignore"):
        import sentence_transformers

        folders.bert(folder / "base", "BertForMaskedLM", vocabulary=vocabulary)
        for name, kind in FORMS.items():
            if name in ("pylate", "colbert", "reranker"):
                continue
            made = getattr(sentence_transformers, kind)(modules=modules_of(name, folder / "base"), device="cpu")
            made.save(str(folder / name))
    shutil.rmtree(folder / "base")
    folders.bert(folder / "reranker", "BertForSequenceClassification", vocabulary=vocabulary, num_labels=1)
    pylate(folder / "pylate", {"model_type": "ColBERT", **MARKERS, "query_length": 9, "document_length": 12})
    colbert(folder / "colbert", {"query_maxlen": 9, "doc_maxlen": 12})
    return {name: folder / name for name in FORMS}


def ours(name: str, folder: Path) -> tuple[list[torch.Tensor], tuple[str, ...]]:
    """What this program makes of a folder, and its notes. Raises EncoderError."""
    model: Any = encoder.load(folder, device="cpu")
    if FORMS[name] == "MultiVectorEncoder":
        pairs = zip(QUERIES, DOCUMENTS, strict=True)
        found = [torch.from_numpy(similarity.late_interaction(model, *pair).matrix) for pair in pairs]
    elif FORMS[name] == "CrossEncoder":
        read = [model.tokenize(*pair, model.max_embed_tokens) for pair in zip(QUERIES, DOCUMENTS, strict=True)]
        scores = [classify.predict(model, model.trace_tokens(one)) for one in read]
        found = [torch.tensor(score.probabilities) for score in scores]
    else:
        found = [row.float() for side in SIDES for row in model.embed(QUERIES, side=side)]
    return found, tuple(model.notes)


def theirs(name: str, folder: Path) -> list[torch.Tensor]:
    """What sentence-transformers makes of it."""
    import sentence_transformers

    model: Any = getattr(sentence_transformers, FORMS[name])(str(folder), device="cpu")
    if FORMS[name] == "MultiVectorEncoder":
        asked, read = model.encode_query(QUERIES), model.encode_document(DOCUMENTS)
        return [(q.float() @ d.float().T).cpu() for q, d in zip(asked, read, strict=True)]
    if FORMS[name] == "CrossEncoder":
        scores = model.predict(list(zip(QUERIES, DOCUMENTS, strict=True)), convert_to_tensor=True)
        return [score.reshape(-1).float() for score in scores]
    found = [getattr(model, how)(QUERIES, convert_to_tensor=True) for how in HOW]
    return [row.float() for rows in found for row in (rows.to_dense() if rows.is_sparse else rows)]
