"""Every module form of sentence-transformers 6, from a folder that it saved: the same vectors, on both sides."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import encoder
from encoder import EncoderError, LoadError, classify, similarity
from encoder.errors import TextError
from tests.load.reference import sentence
from tests.load.test_heads_and_pooling import PROMPTS, TEXTS, close, randomised
from tests.load.test_wrap import fast_tokenizer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    reference = pytest.importorskip("sentence_transformers", minversion="6.2")
    from sentence_transformers.base.modules import Dense, Normalize, Router, Transformer
    from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling, MultiVectorMask
    from sentence_transformers.sentence_transformer.modules import (
        LayerNorm,
        Pooling,
        StaticEmbedding,
        WeightedLayerPooling,
    )
    from sentence_transformers.sparse_encoder.modules import (
        SparseAutoEncoder,
        SparseStaticEmbedding,
        SpladePooling,
    )
    from transformers import AutoTokenizer

pytestmark = pytest.mark.filterwarnings("ignore")

DOCUMENT, QUERY = "document", "query"


@pytest.fixture
def folder(checkpoint: Callable, tmp_path: Path) -> Path:
    """A tiny BERT with a masked-word head and a tokenizer that transformers reads."""
    pair = checkpoint("bert", "ForMaskedLM")
    target = tmp_path / "bert"
    pair.theirs.save_pretrained(target)
    fast_tokenizer(pair.folder).save_pretrained(target)
    return target


def transformer(folder: Path, **options: Any) -> Any:
    return Transformer(str(folder), **options)


def static(folder: Path, width: int = 12) -> Any:
    return randomised(StaticEmbedding(AutoTokenizer.from_pretrained(folder), embedding_dim=width))


def code(width: int, **options: Any) -> Any:
    return randomised(SparseAutoEncoder(width, hidden_dim=30, k=4, k_aux=3, **options))


def saved(theirs: Any, folder: Path, again: bool = True) -> list[Any]:
    """Ours from the folder that they save, and from the one that we save of it."""
    theirs.save(str(folder / "saved"))
    loaded = encoder.load(folder / "saved", device="cpu")
    return [loaded, encoder.load(encoder.save(loaded, folder / "ours"), device="cpu")] if again else [loaded]


def encoded(theirs: Any, texts: list[str], how: str = "encode") -> torch.Tensor:
    found = getattr(theirs, how)(texts, convert_to_tensor=True)
    return found.to_dense() if found.is_sparse else found


# --- one vector of a text ---------------------------------------------------------------------------------------------

DENSE_FORMS: dict[str, Callable[[Path], list[Any]]] = {
    "norm 1 before a map": lambda folder: [
        transformer(folder), Pooling(40, "mean"), Normalize(), randomised(Dense(40, 13)), Normalize(),
    ],
    "LayerNorm": lambda folder: [transformer(folder), Pooling(40, "cls"), randomised(LayerNorm(40)), Normalize()],
    "a map of tokens before pooling": lambda folder: [
        transformer(folder), randomised(Dense(40, 13, module_input_name="token_embeddings")),
        Normalize("token_embeddings"), Pooling(13, ("max", "mean")), randomised(Dense(26, 9)),
    ],
    "a mean over layers": lambda folder: [
        transformer(folder, config_kwargs={"output_hidden_states": True}),
        randomised(WeightedLayerPooling(40, num_hidden_layers=3, layer_start=1)), Pooling(40, "mean"),
    ],
    "a mean over layers that the encoder does not give": lambda folder: [
        transformer(folder), randomised(WeightedLayerPooling(40, num_hidden_layers=3, layer_start=1)),
        Pooling(40, "mean"),
    ],
    "a static table": lambda folder: [static(folder), Normalize()],
    "a static table and a map": lambda folder: [static(folder), randomised(LayerNorm(12)), randomised(Dense(12, 5))],
}  # fmt: skip


@pytest.mark.parametrize("name", DENSE_FORMS)
def test_one_vector(name: str, folder: Path):
    theirs = reference.SentenceTransformer(modules=DENSE_FORMS[name](folder), prompts=PROMPTS, device="cpu")
    for ours in saved(theirs, folder):
        for side, how in ((None, "encode"), (QUERY, "encode_query"), (DOCUMENT, "encode_document")):
            close(ours.embed(TEXTS, side=side), encoded(theirs, TEXTS, how))
        trace = ours.trace(TEXTS[1])
        close(ours.vector_of(trace), encoded(theirs, TEXTS[1:2])[0])
        assert ours.embed([]).shape == (0, ours.width_of_vectors) == (0, encoded(theirs, TEXTS).shape[1])


@pytest.mark.parametrize("names", [{QUERY: "w50 w51 "}, {"passage": "w60 ", QUERY: "w50 "}, {"q": "w70 "}])
@pytest.mark.parametrize("default", [True, False], ids=["a default prompt", "none"])
def test_prompts_by_side(names: dict[str, str], default: bool, folder: Path):
    first = next(iter(names)) if default else None
    theirs = reference.SentenceTransformer(
        modules=[transformer(folder), Pooling(40, "mean")], prompts=names, default_prompt_name=first, device="cpu"
    )
    for ours in saved(theirs, folder):
        for side, how in ((None, "encode"), (QUERY, "encode_query"), (DOCUMENT, "encode_document")):
            close(ours.embed(TEXTS, side=side), encoded(theirs, TEXTS, how))
        for name, text in names.items():
            expected = theirs.encode(TEXTS, prompt=text, convert_to_tensor=True)
            close(ours.embed(TEXTS, side=QUERY, prompt=name), expected)
        with pytest.raises(TextError, match="query, document"):
            ours.embed(TEXTS, side="passage")


def test_a_mean_over_layers_is_not_made_of_the_output(folder: Path):
    modules = DENSE_FORMS["a mean over layers"](folder)
    (ours,) = saved(reference.SentenceTransformer(modules=modules, device="cpu"), folder, again=False)
    assert not ours.pools_output
    with pytest.raises(EncoderError, match="not made of its output"):
        similarity.attribute(ours, TEXTS[0], TEXTS[1])
    with pytest.raises(EncoderError, match="not made of its output"):
        ours.vectors(ours.trace(TEXTS[0]).output[None])


def test_a_static_table_has_no_layers(folder: Path):
    (ours,) = saved(reference.SentenceTransformer(modules=[static(folder)], device="cpu"), folder, again=False)
    trace = ours.trace(TEXTS[0])
    assert (ours.config.n_layers, len(trace.streams), trace.n_tokens) == (0, 1, len(TEXTS[0].split()))
    assert any("no layers" in note for note in ours.notes)
    long = " ".join([TEXTS[1]] * 500)
    close(ours.embed(long), encoded(reference.SentenceTransformer(str(folder / "saved"), device="cpu"), [long]))
    found = similarity.attribute(ours, TEXTS[0], TEXTS[2], layer=0)
    assert found.is_exact
    assert found.matrix.sum() == pytest.approx(found.cosine, abs=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_a_folder_of_model2vec(kind: type, folder: Path, tmp_path: Path):
    """Fewer rows than tokens, and a factor for each token."""
    target, numbers = tmp_path / "model2vec", np.random.default_rng(5)
    target.mkdir()
    tensors = {
        "embeddings": torch.from_numpy(numbers.normal(size=(20, 8)).astype(kind)),
        "mapping": torch.from_numpy(numbers.integers(0, 20, size=99)),
        "weights": torch.from_numpy(numbers.random(99)),
    }
    save_file(tensors, target / "model.safetensors")
    shutil.copy(folder / "tokenizer.json", target)
    (target / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    listed = [
        {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"},
        {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
    ]
    (target / "modules.json").write_text(json.dumps(listed))
    (target / "1_Normalize").mkdir()
    theirs, ours = reference.SentenceTransformer(str(target), device="cpu"), encoder.load(target, device="cpu")
    torch.testing.assert_close(
        ours.embed(TEXTS), encoded(theirs, TEXTS).float(), atol=1e-5 if kind is np.float32 else 2e-3, rtol=0
    )
    again = encoder.load(encoder.save(ours, tmp_path / "ours"), device="cpu")
    assert torch.equal(again.embed(TEXTS), ours.embed(TEXTS))
    save_file({**tensors, "mapping": torch.full((99,), 20)}, target / "model.safetensors")
    with pytest.raises(LoadError, match="rows that its table does not have"):
        encoder.load(target)


# --- sparse vectors ---------------------------------------------------------------------------------------------------


def splade(folder: Path) -> list[Any]:
    return [transformer(folder, transformer_task="fill-mask"), SpladePooling("max")]


def words(folder: Path) -> Any:
    return randomised(SparseStaticEmbedding(AutoTokenizer.from_pretrained(folder), weight=torch.rand(99), frozen=True))


SPARSE_FORMS: dict[str, Callable[[Path], list[Any]]] = {
    "SPLADE": splade,
    "a code": lambda folder: [transformer(folder), Pooling(40, "mean"), code(40)],
    "a code of standardised vectors": lambda folder: [
        transformer(folder), Pooling(40, "mean"), Normalize(), code(40, normalize=True),
    ],
    "a code of a static table": lambda folder: [static(folder), code(12)],
    "weights of words": lambda folder: [words(folder)],
}  # fmt: skip


@pytest.mark.parametrize("name", SPARSE_FORMS)
@pytest.mark.parametrize("most", [None, 3], ids=["all", "the largest three"])
def test_sparse_vectors(name: str, most: int | None, folder: Path):
    theirs = reference.SparseEncoder(modules=SPARSE_FORMS[name](folder), max_active_dims=most, device="cpu")
    expected = encoded(theirs, TEXTS)
    for ours in saved(theirs, folder):
        close(ours.embed(TEXTS), expected)
        for text, vector in zip(TEXTS, expected, strict=True):
            trace = ours.trace(text)
            close(ours.vector_of(trace), vector)
            if ours.sparse is not None:
                found = classify.sparse_vector(ours, trace)
                positive = vector.clamp(min=0)
                mine = torch.zeros_like(vector)
                mine[list(found.ids)] = torch.tensor(found.weights)
                close(mine, positive)


# --- sides ------------------------------------------------------------------------------------------------------------


def dense_routes(folder: Path) -> dict[str, list[Any]]:
    return {QUERY: [static(folder, 40)], DOCUMENT: [transformer(folder), Pooling(40, "mean")]}


ROUTERS: dict[str, Callable[[Path], list[Any]]] = {
    "a static query side": lambda folder: [
        Router.for_query_document(*dense_routes(folder).values()), randomised(Dense(40, 11)), Normalize(),
    ],
    "two encoders": lambda folder: [
        Router(
            {"a": [transformer(folder)],
             "b": [transformer(folder), randomised(Dense(40, 40, module_input_name="token_embeddings"))]},
            default_route="b", route_mappings={(QUERY, "text"): "a", (DOCUMENT, None): "b"},
        ),
        Pooling(40, "mean"),
    ],
}  # fmt: skip


def one_encoder_with_two_maps(folder: Path) -> list[Any]:
    shared = transformer(folder)
    routes = {
        name: [shared, Pooling(40, "mean"), randomised(Dense(40, 7 + 4 * place))]
        for place, name in enumerate((QUERY, DOCUMENT))
    }
    return [Router(routes, default_route=QUERY)]


ROUTERS["one encoder with two maps"] = one_encoder_with_two_maps


@pytest.mark.parametrize("name", ROUTERS)
def test_a_router(name: str, folder: Path):
    theirs = reference.SentenceTransformer(modules=ROUTERS[name](folder), prompts=PROMPTS, device="cpu")
    (ours,) = saved(theirs, folder, again=False)
    for side, how in ((None, "encode"), (QUERY, "encode_query"), (DOCUMENT, "encode_document")):
        expected = encoded(theirs, TEXTS, how)
        close(ours.embed(TEXTS, side=side), expected)
        close(ours.side(side).side(side).embed(TEXTS), expected)
        if side is not None:  # what the refusal below says to do
            again = encoder.load(encoder.save(ours.sides[side], folder / side), device="cpu")
            close(again.embed(TEXTS, prompt=side), expected)
    with pytest.raises(EncoderError, match=r"sides\['query'\]"):
        encoder.save(ours, folder / "ours")
    assert set(ours.sides) >= {QUERY, DOCUMENT}
    assert any("side" in note for note in ours.notes)
    if name.startswith("one"):
        assert ours.sides[DOCUMENT].encoder is ours.encoder
    moved = ours.to("cpu", "bfloat16")
    assert {one.encoder.dtype for one in (moved, *moved.sides.values())} == {torch.bfloat16}
    assert ours.encoder.dtype == torch.float32


def test_a_splade_without_inference_for_queries(folder: Path):
    router = Router.for_query_document([words(folder)], splade(folder))
    theirs = reference.SparseEncoder(modules=[router], device="cpu")
    (ours,) = saved(theirs, folder, again=False)
    for side, how in ((QUERY, "encode_query"), (DOCUMENT, "encode_document"), (None, "encode")):
        expected = encoded(theirs, TEXTS, how)
        close(ours.embed(TEXTS, side=side), expected)
        of_side = ours.side(side)
        found = classify.sparse_vector(of_side, of_side.trace(TEXTS[0]))
        for number, weight, source in zip(found.ids, found.weights, found.sources, strict=True):
            assert weight == pytest.approx(float(expected[0, number]), abs=1e-5)
            assert side != QUERY or of_side.trace(TEXTS[0]).ids[source] == number


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"types": []}, "no types and structure"),
        ({"structure": {QUERY: ["nothing"]}}, "specify modules of its types"),
        ({"structure": {QUERY: []}}, "specify modules of its types"),
        ({"parameters": {"route_mappings": {"open('x')": QUERY}}}, "specify a task and a modality"),
        ({"parameters": {"route_mappings": {"('query', None)": "nowhere"}}}, "none of its routes"),
        ({"types": {"query_0_StaticEmbedding": "os.system"}}, "code of its own"),
        ({"types": {"query_0_StaticEmbedding": "sentence_transformers.models.System"}}, "unknown module"),
    ],
)
def test_a_router_that_is_wrong(changes: dict, message: str, folder: Path):
    reference.SentenceTransformer(modules=[Router({QUERY: [static(folder)]})], device="cpu").save(str(folder / "saved"))
    path = next((folder / "saved").rglob("router_config.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(LoadError, match=message):
        encoder.load(folder / "saved")


# --- one vector of each token -----------------------------------------------------------------------------------------

MERGES: dict[str, Callable[[], Any]] = {
    "halves": lambda: HierarchicalTokenPooling(2.0),
    "all tokens of both sides": lambda: HierarchicalTokenPooling(
        1.5, num_protected_tokens=0, normalize_embeddings=False, tasks=[QUERY, DOCUMENT]
    ),
    "none": lambda: HierarchicalTokenPooling(),
}


def compared(theirs: Any, ours: Any, query: str, document: str) -> Any:
    q, d = theirs.encode_query([query])[0], theirs.encode_document([document])[0]
    found = similarity.late_interaction(ours, query, document)
    close(found.matrix, (q @ d.T).cpu())
    assert found.matrix.shape == (len(found.queries), len(found.keys))
    return found


@pytest.mark.parametrize("name", MERGES)
def test_vectors_of_tokens_are_merged(name: str, folder: Path):
    steps = [randomised(Dense(40, 13, bias=False, module_input_name="token_embeddings")), Normalize("token_embeddings")]
    modules = [transformer(folder), *steps, MultiVectorMask(["w5"]), MERGES[name]()]
    theirs = reference.MultiVectorEncoder(modules=modules, prompts=PROMPTS, device="cpu")
    for ours in saved(theirs, folder):
        found = compared(theirs, ours, TEXTS[0], f"w5 {sentence(21)}")
        assert name == "none" or sum(" + " in label for label in found.keys) > 2


def test_some_ids_only_are_kept(folder: Path):
    document = "w11 w12 w13 w11 w14"
    ids = [encoder.load(folder, device="cpu").tokenizer.backend.token_to_id(word) for word in ("w11", "w14")]
    modules = [transformer(folder), Normalize("token_embeddings"), MultiVectorMask(keep_only_token_ids=ids)]
    theirs = reference.MultiVectorEncoder(modules=modules, device="cpu")
    for ours in saved(theirs, folder):
        found = compared(theirs, ours, TEXTS[0], document)
        assert found.keys == ("w11", "w11", "w14")
