"""Heads and pooling against sentence-transformers' own modules and transformers' heads, from files and from memory."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import encoder
from encoder import EncoderError, LoadError, classify, similarity
from encoder.errors import TextError
from tests.load import every_family
from tests.load.folders import edit
from tests.load.reference import sentence
from tests.load.test_wrap import fast_tokenizer

TEXTS = [sentence(3), sentence(12, seed=1), sentence(7, seed=2)]
PROMPTS = {"query": "w50 w51 ", "document": "w60 "}
TOLERANCE = 1e-5

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    reference = pytest.importorskip("sentence_transformers", minversion="6.2")
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Dropout, Pooling

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.sample(3, "another checkpoint")]


@pytest.fixture
def folder(checkpoint: Callable, tmp_path: Path) -> Path:
    """A tiny BERT with a masked-word head and a tokenizer that transformers reads."""
    pair = checkpoint("bert", "ForMaskedLM")
    target = tmp_path / "bert"
    pair.theirs.save_pretrained(target)
    fast_tokenizer(pair.folder).save_pretrained(target)
    return target


def close(ours: Any, theirs: Any) -> None:
    torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs), atol=TOLERANCE, rtol=TOLERANCE)


def everywhere(theirs: Any, folder: Path) -> list[Any]:
    """A model of sentence-transformers from its files, from memory, and from our own files."""
    theirs.save(str(folder / "saved"))
    loaded, wrapped = encoder.load(folder / "saved", device="cpu"), encoder.wrap(theirs)
    again = encoder.load(encoder.save(loaded, folder / "ours"), device="cpu")
    return [loaded, wrapped, again]


def randomised(module: nn.Module) -> Any:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return module


STEPS: dict[str, Callable[[], list[Any]]] = {
    "one-way": lambda: [Pooling(40, "weightedmean")],
    "two-ways": lambda: [Pooling(40, ("cls", "max")), randomised(Dense(80, 11, activation_function=nn.SiLU()))],
    "several-dense": lambda: [
        Pooling(40, "lasttoken"), randomised(Dense(40, 30)),
        randomised(Dense(30, 30, activation_function=nn.Sigmoid(), use_residual=True)),
        randomised(Dense(30, 9, activation_function=nn.Identity(), use_residual=True)), Dropout(0.1), Normalize(),
    ],
    "without-the-prompt": lambda: [Pooling(40, "mean", include_prompt=False)],
    "first-without-the-prompt": lambda: [Pooling(40, ("cls", "weightedmean", "lasttoken"), include_prompt=False)],
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("width", [None, 7], ids=["whole", "matryoshka"])
def test_vectors_are_those_of_sentence_transformers(name: str, width: int | None, folder: Path):
    theirs = reference.SentenceTransformer(
        modules=[Transformer(str(folder)), *STEPS[name]()],
        prompts=PROMPTS,
        default_prompt_name="query",
        truncate_dim=width,
        device="cpu",
    )
    for ours in everywhere(theirs, folder):
        if ours.truncate_dim != width:  # sentence-transformers does not save it
            ours = dataclasses.replace(ours, truncate_dim=width)
        close(ours.embed(TEXTS), theirs.encode(TEXTS, convert_to_tensor=True))
        for prompt in ("document", ""):
            expected = theirs.encode(TEXTS, prompt=PROMPTS.get(prompt, ""), convert_to_tensor=True)
            close(ours.embed(TEXTS, prompt=prompt), expected)
        assert ours.embed([]).shape == (0, expected.shape[1])
        with pytest.raises(TextError, match="document"):
            ours.embed(TEXTS, prompt="passage")
        assert any("w50" in note for note in ours.notes) or ours.notes == ()


@pytest.mark.parametrize("name", ["qwen3", "gemma3, both ways", "llama"])
def test_a_model_that_is_padded_on_the_left(name: str, tmp_path: Path):
    """A batch there has other places for the same tokens; rotary positions count differences only."""
    case = every_family.ALL[name]
    folder = every_family.write(case, case.make(), tmp_path / "model")
    fast_tokenizer(folder).save_pretrained(folder)
    modules = [Transformer(str(folder)), Pooling(48, "lasttoken"), Normalize()]
    theirs = reference.SentenceTransformer(modules=modules, device="cpu")
    theirs.tokenizer.padding_side = "left"
    batch = theirs.preprocess(TEXTS)
    assert batch["attention_mask"][0, 0] == 0
    for ours in everywhere(theirs, tmp_path):
        close(ours.embed(TEXTS), theirs.encode(TEXTS, convert_to_tensor=True))
        for text, ids, mask in zip(TEXTS, batch["input_ids"], batch["attention_mask"], strict=True):
            assert list(ours.trace(text).ids) == ids[mask.bool()].tolist()


def test_a_similarity_is_split_through_all_steps(folder: Path):
    for name in ("two-ways", "several-dense"):
        theirs = reference.SentenceTransformer(modules=[Transformer(str(folder)), *STEPS[name]()], device="cpu")
        ours = dataclasses.replace(encoder.wrap(theirs), truncate_dim=8)
        found = similarity.attribute(ours, TEXTS[0], TEXTS[2], layer=2)
        a, b = ours.embed([TEXTS[0], TEXTS[2]])
        assert found.cosine == pytest.approx(float(torch.cosine_similarity(a, b, dim=0)), abs=1e-5)
        assert found.matrix.sum() == pytest.approx(found.expected_sum, abs=similarity.TOLERANCE)


# --- SPLADE ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pooling", ["max", "sum"])
@pytest.mark.parametrize("activation", ["relu", "log1p_relu"])
def test_splade(pooling: str, activation: str, folder: Path):
    from sentence_transformers.sparse_encoder.modules import SpladePooling

    first = Transformer(str(folder), transformer_task="fill-mask")
    theirs = reference.SparseEncoder(modules=[first, SpladePooling(pooling, activation)], device="cpu")
    expected = theirs.encode(TEXTS, convert_to_tensor=True).to_dense()
    for ours in everywhere(theirs, folder):
        for text, weights in zip(TEXTS, expected, strict=True):
            trace = ours.trace(text)
            found = classify.sparse_vector(ours, trace)
            mine = torch.zeros(99)
            mine[list(found.ids)] = torch.tensor(found.weights)
            close(mine, weights)
            assert list(found.weights) == sorted(found.weights, reverse=True)
            logits = ours.mlm_head(trace.output, ours.encoder.embedding.tokens.weight)
            assert [int(logits[:, number].argmax()) for number in found.ids] == list(found.sources)
            assert pooling == "sum" or set(found.shares) == {1.0}


def test_splade_needs_a_masked_word_head(checkpoint: Callable):
    with pytest.raises(EncoderError, match="masked-word head"):
        classify.sparse_vector(checkpoint("bert").ours, checkpoint("bert").ours.trace("w7"))


# --- ColBERT ---------------------------------------------------------------------------------------------------------

EXPANSIONS: dict[str, Any] = {
    "none": None,
    "fixed": {"strategy": "fixed", "length": 9},
    "attended": {"strategy": "min", "length": 16, "attend": True, "token": "w90"},
}


@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_late_interaction(expansion: str, folder: Path):
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
    from sentence_transformers.util import maxsim_pairwise

    first = Transformer(str(folder), query_expansion=EXPANSIONS[expansion], document_length=11)
    steps = [
        randomised(Dense(40, 13, bias=False, activation_function=nn.Identity(), module_input_name="token_embeddings")),
        Normalize("token_embeddings"),
        MultiVectorMask(["w17", "w5"]),
    ]
    theirs = reference.MultiVectorEncoder(modules=[first, *steps], prompts=PROMPTS, device="cpu")
    for ours in everywhere(theirs, folder):
        assert ours.late is not None
        for query, document in ((TEXTS[0], f"w17 {TEXTS[1]} w5"), (TEXTS[1], TEXTS[2])):
            q = theirs.encode_query([query])[0]
            d = theirs.encode_document([document])[0]
            found = similarity.late_interaction(ours, query, document)
            close(found.matrix, (q @ d.T).cpu())
            assert found.score == pytest.approx(float(maxsim_pairwise([q], [d])), rel=1e-5)
            assert (len(found.queries), len(found.keys)) == found.matrix.shape
            assert found.parts.sum() == pytest.approx(found.score)
            assert "w17" not in found.keys
            assert found.trained


def test_any_encoder_compares_its_outputs(checkpoint: Callable):
    ours = checkpoint("bert").ours
    found = similarity.late_interaction(ours, TEXTS[0], TEXTS[2])
    a, b = (torch.nn.functional.normalize(ours.trace(text).output, dim=-1) for text in (TEXTS[0], TEXTS[2]))
    close(found.matrix, a @ b.T)
    assert not found.trained


# --- questions and pairs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra", "mpnet", "albert"])
def test_answers_to_a_question(family: str, checkpoint: Callable, tmp_path: Path):
    pair = checkpoint(family, "ForQuestionAnswering")
    ours = pair.ours
    trace = ours.trace(TEXTS[0], TEXTS[1])
    inputs = {"input_ids": torch.tensor([trace.ids])}
    if family in ("bert", "electra", "albert"):
        inputs["token_type_ids"] = torch.tensor([trace.source.segments])
    with torch.no_grad():
        theirs = pair.theirs(**inputs)
    start, end = theirs.start_logits[0], theirs.end_logits[0]
    close(classify.span_logits(ours, trace), torch.stack((start, end), -1))
    begin = trace.n_tokens - 1 - len(TEXTS[1].split())
    words = TEXTS[1].split()
    spans = {(i, j): float(start[begin + i] + end[begin + j]) for i in range(12) for j in range(i, 12)}
    best = max(spans, key=spans.__getitem__)
    found = classify.answers(ours, trace, k=100)
    assert sum(one.probability for one in found) == pytest.approx(1.0)
    assert len(found) == 12 * 13 // 2 + 1
    first = next(one for one in found if one.text)
    assert first.text == " ".join(words[best[0] : best[1] + 1])
    assert first.score == pytest.approx(spans[best], abs=1e-4)
    assert ours.classifier is None
    again = encoder.load(encoder.save(ours, tmp_path / "ours"), device="cpu")
    assert classify.answers(again, again.trace(TEXTS[0], TEXTS[1]))[0] == found[0]
    with pytest.raises(EncoderError, match="passage"):
        classify.answers(ours, ours.trace(TEXTS[0]))
    with pytest.raises(EncoderError, match="question-answering head"):
        classify.answers(checkpoint("bert").ours, checkpoint("bert").ours.trace(TEXTS[0], TEXTS[1]))


def test_a_cross_encoder(checkpoint: Callable, tmp_path: Path):
    pair = checkpoint("bert", "ForSequenceClassification", num_labels=1)
    target = tmp_path / "cross"
    pair.theirs.save_pretrained(target)
    fast_tokenizer(pair.folder).save_pretrained(target)
    theirs = reference.CrossEncoder(str(target), device="cpu")
    theirs.save(str(tmp_path / "saved"))
    expected = theirs.predict([(TEXTS[0], TEXTS[1]), (TEXTS[0], TEXTS[2])])
    for ours in (
        encoder.load(target, device="cpu"),
        encoder.load(tmp_path / "saved", device="cpu"),
        encoder.wrap(theirs),
    ):
        found = [classify.predict(ours, ours.trace(TEXTS[0], text)).probabilities[0] for text in TEXTS[1:]]
        close(torch.tensor(found, dtype=torch.float32), expected)


@pytest.mark.parametrize("activation", [nn.Identity, nn.Sigmoid], ids=lambda one: one.__name__)
@pytest.mark.parametrize("file", ["6", "4", "3"])
def test_a_cross_encoder_whose_score_is_its_logit(
    activation: type[nn.Module], file: str, checkpoint: Callable, tmp_path: Path
):
    """As ms-marco-MiniLM has it; each version of sentence-transformers names the activation in another place."""
    pair = checkpoint("bert", "ForSequenceClassification", num_labels=1)
    target, name = tmp_path / "cross", f"torch.nn.{activation.__name__}"
    pair.theirs.save_pretrained(target)
    fast_tokenizer(pair.folder).save_pretrained(target)
    if file == "6":
        reference.CrossEncoder(str(target), device="cpu", activation_fn=activation()).save(str(target))
    elif file == "4":
        edit(target / "config.json", sentence_transformers={"activation_fn": name})
    else:
        edit(target / "config.json", sbert_ce_default_activation_function=name)
    theirs = reference.CrossEncoder(str(target), device="cpu")
    expected = theirs.predict([(TEXTS[0], TEXTS[1]), (TEXTS[0], TEXTS[2])])
    loaded = encoder.load(target, device="cpu")
    for ours in (loaded, encoder.wrap(theirs), encoder.load(encoder.save(loaded, tmp_path / "ours"), device="cpu")):
        found = [classify.predict(ours, ours.trace(TEXTS[0], text)).probabilities[0] for text in TEXTS[1:]]
        close(torch.tensor(found, dtype=torch.float32), expected)


def test_settings_that_are_wrong_are_named(folder: Path):
    from sentence_transformers.sparse_encoder.modules import SpladePooling

    first = Transformer(str(folder), transformer_task="fill-mask")
    reference.SparseEncoder(modules=[first, SpladePooling()], device="cpu").save(str(folder / "saved"))
    saved = folder / "saved"
    for name, content, word in (
        ("1_SpladePooling/config.json", '{"pooling_strategy": "mean"}', "max, sum"),
        ("1_SpladePooling/config.json", '{"activation_function": "gelu"}', "gelu"),
        ("config_sentence_transformers.json", '{"prompts": {"a": 3}}', "prompts"),
        ("config_sentence_transformers.json", '{"prompts": {}, "default_prompt_name": "q"}', "default_prompt_name"),
        ("config_sentence_transformers.json", '{"truncate_dim": 0}', "truncate_dim"),
    ):
        before = (saved / name).read_text(encoding="utf-8")
        (saved / name).write_text(content, encoding="utf-8")
        with pytest.raises(LoadError, match=word):
            encoder.load(saved)
        (saved / name).write_text(before, encoding="utf-8")
