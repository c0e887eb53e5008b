"""Texts with nodes of HTML: nodes, tokens, paths and numbers as in transformers; runs, files and effects keep them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import encoder
from encoder import causal, explain
from encoder.checkpoints import trace_shapes
from encoder.cli import main
from encoder.diagnose import Pipeline
from encoder.edits import Zero
from encoder.errors import EncoderError, LoadError, TextError
from encoder.inputs import html_nodes, nodes
from encoder.inputs.boxes import assumed
from encoder.measure.page_words import RELATIONS, directions, page_words, related
from encoder.run import ModelSpec, Run, Text, address, code
from encoder.run.command import command
from tests.load import markup

PAGE = html_nodes.example()
#: HTML with the nodes that transformers' MarkupLMFeatureExtractor finds in it with bs4 4.15.
ODD = json.loads((Path(__file__).parent / "markup_nodes.json").read_text(encoding="utf-8"))
TREE = [(2, "/html/body/h1"), (3, "/html/body/p[2]"), (1, "/html/body/p[2]/b")]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, encoder.TextEncoder, Path]:
    """transformers' model and tokenizer, ours, and its folder."""
    folder = tmp_path_factory.mktemp("tree")
    return *markup.write(folder), encoder.load(folder, device="cpu"), folder


@pytest.mark.parametrize(("page", "expected"), ODD)
def test_html_has_the_nodes_of_transformers(page: str, expected: list[list[str]]):
    if not expected:
        with pytest.raises(TextError, match="tag"):
            html_nodes.read_html(page)
        return
    found = html_nodes.read_html(page)
    assert [list(one) for one in zip(found.texts, found.paths, strict=True)] == expected
    assert nodes.texts_of(found.text, found.nodes) == found
    assert nodes.read_short(nodes.write_short(found.nodes)) == found.nodes


def of_theirs(found: Any) -> torch.Tensor:
    """The places of their tokens, [T, P]."""
    return torch.cat((found["xpath_tags_seq"][0], found["xpath_subs_seq"][0]), dim=-1)


@pytest.mark.parametrize("given", ["page", "odd", "question", "words", "two texts"])
def test_a_text_has_the_tokens_paths_and_vectors_of_transformers(given: str, pair: Any):
    theirs, tokenizer, ours, _ = pair
    question, words = "How many  ships?", "412 ships  in May"
    if given == "words":
        found, trace = tokenizer(words, return_tensors="pt"), ours.trace(words)
    elif given == "two texts":
        found, trace = tokenizer(question, words, return_tensors="pt"), ours.trace(question, words)
    else:
        page = html_nodes.read_html("<p>Two\n  lines<p>Ünïcode<x-y>of <b>May") if given == "odd" else PAGE
        texts, before = list(page.texts), [question] if given == "question" else []
        found = tokenizer(*before, texts, xpaths=list(page.paths), return_tensors="pt")
        trace = ours.trace(*before, page.text, nodes=page.nodes)
    assert list(trace.ids) == found["input_ids"][0].tolist()
    assert torch.equal(trace.places, of_theirs(found))
    assert not ours.notes
    with torch.no_grad():
        expected = theirs(**found).last_hidden_state[0]
    torch.testing.assert_close(trace.output, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("head", ["TokenClassification", "SequenceClassification", "QuestionAnswering"])
def test_heads(head: str, tmp_path: Path):
    theirs, tokenizer = markup.write(tmp_path, head, num_labels=2)
    found = tokenizer(list(PAGE.texts), xpaths=list(PAGE.paths), return_tensors="pt")
    ours = encoder.load(tmp_path, device="cpu")
    trace, own = ours.trace(PAGE.text, nodes=PAGE.nodes), ours.classifier or ours.span_head
    with torch.no_grad():
        expected = theirs(**found)
        logits = own(trace.output[None], torch.ones(1, len(trace), dtype=torch.bool))[0]
    spans = head == "QuestionAnswering"
    wanted = torch.stack((expected.start_logits[0], expected.end_logits[0]), -1) if spans else expected.logits[0]
    torch.testing.assert_close(logits, wanted, atol=1e-5, rtol=1e-5)


def test_a_batch_of_texts_has_the_paths_of_each_text(pair: Any):
    ours = pair[2]
    texts = ["ships in May", "The west pier is closed until June."]
    with torch.no_grad():
        alone = [ours.vector_of(ours.trace(text)) for text in texts]
    np.testing.assert_allclose(ours.embed(texts), np.stack([one.numpy() for one in alone]), atol=1e-5)


def test_words_of_a_node_are_those_of_the_text(pair: Any):
    source = pair[2].trace(PAGE.text, nodes=PAGE.nodes).source
    spelled: dict[int, str] = {}
    for word, (start, end) in zip(source.words, source.offsets, strict=True):
        if word >= 0:
            spelled[word] = spelled.get(word, "") + PAGE.text[start:end]
    assert [word.strip() for word in spelled.values()][:7] == [
        "Harbour",
        "report",
        "Harbour",
        "report",
        ",",
        "May",
        "In",
    ]


def test_every_step_follows_from_the_paths(pair: Any):
    trace = pair[2].trace(PAGE.text, nodes=PAGE.nodes)
    assert explain.chain(trace, np.float64).largest <= 1e-4
    check, place = explain.Recomputation(trace), explain.Place(1, 4, 6, 3, 5, 7)
    step = explain.embedding(trace, place)
    assert all(one.agrees for one in step.check(check))
    wrong = explain.Recomputation(trace)
    wrong.places = wrong.places[::-1]
    assert not all(one.agrees for one in step.check(wrong))
    padded = pair[2].trace_tokens(trace.source, pad_to=120)
    torch.testing.assert_close(padded.unpadded.output, trace.output, atol=1e-5, rtol=1e-5)
    nowhere = pair[2].trace_tokens(trace.source, edits=(Zero("embedding.places"),))
    assert not torch.allclose(nowhere.output, trace.output, atol=1e-2)
    outcome = causal.Similarity("ships")
    found = trace.gradients(outcome).outcome
    assert found == pytest.approx(float(outcome.on(pair[2], trace)(trace.output[None])[0]), abs=1e-5)


def test_a_saved_trace_and_model_have_their_paths(pair: Any, tmp_path: Path):
    _, _, ours, _ = pair
    trace = ours.trace(PAGE.text, nodes=PAGE.nodes)
    again = encoder.open_trace(trace.save(tmp_path / "trace.safetensors"))
    assert again.source == trace.source
    assert torch.equal(again.layer_attention(2), trace.layer_attention(2))
    row = list(trace.places[0].tolist())
    for broken in ([row], [row[:-1]] * len(trace), [[*row[:-1], 22]] * len(trace), [[*row[:-1], True]] * len(trace)):
        with pytest.raises(LoadError, match="places"):
            trace_shapes._check_places(broken, len(trace), trace.config)
    for layout in ("huggingface", "encoderscope"):
        folder = encoder.save(ours, tmp_path / layout, layout=layout)
        assert torch.equal(encoder.load(folder, device="cpu").trace(PAGE.text, nodes=PAGE.nodes).output, trace.output)


def test_transformers_opens_what_is_saved(pair: Any, tmp_path: Path):
    import transformers

    theirs, tokenizer, ours, _ = pair
    folder = encoder.save(ours, tmp_path / "saved", layout="huggingface")
    found = transformers.AutoTokenizer.from_pretrained(folder)(
        list(PAGE.texts), xpaths=list(PAGE.paths), return_tensors="pt"
    )
    assert torch.equal(
        of_theirs(found), of_theirs(tokenizer(list(PAGE.texts), xpaths=list(PAGE.paths), return_tensors="pt"))
    )
    again = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        torch.testing.assert_close(
            again(**found).last_hidden_state, theirs(**found).last_hidden_state, atol=1e-6, rtol=0
        )


def test_a_run_has_its_nodes(pair: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    *_, ours, folder = pair
    trace = ours.trace(PAGE.text, nodes=PAGE.nodes)
    run = code.run_of(trace, ModelSpec(str(folder), device="cpu"))
    assert run == Run(ModelSpec(str(folder), device="cpu"), Text(PAGE.text, nodes=PAGE.nodes))
    assert code.run_of(ours.trace("plain words"), run.model).of_text.nodes is None
    assert address.read(address.write(run)) == run
    made: dict[str, Any] = {}
    exec(code.python_lines(run), made)
    assert torch.equal(made["trace"].output, trace.output)
    assert run.about("other words").of_text.nodes is None
    assert run.about(PAGE.text.replace("May", "<mask>")).of_text.nodes == PAGE.nodes
    assert main.main([*shlex.split(command(run))[1:], "--out", str(tmp_path / "a.npz")]) == 0
    assert main.main(["trace", str(folder), "--file", str(html_nodes.REPORT), "--out", str(tmp_path / "b.npz")]) == 0
    one, other = (np.load(tmp_path / name) for name in ("a.npz", "b.npz"))
    assert all(np.array_equal(one[name], other[name]) for name in one.files if one[name].dtype.kind == "f")


def test_windows_of_a_long_page(pair: Any):
    ours = pair[2]
    text, of_all = " ".join([PAGE.text] * 4), PAGE.nodes * 4
    whole = nodes.texts_of(text, of_all)
    for window in ours.windows(text, nodes=of_all):
        for node, (start, end), special in zip(
            nodes.nodes_of_tokens(window.sentence), window.sentence.offsets, window.sentence.special, strict=True
        ):
            assert special == (node is None)
            assert node is None or text[start:end].strip() in whole.texts[node]


@pytest.mark.parametrize(
    "given",
    [[(1, "/p")], [(3, "/p")], [(2, "p")], [(0, "/p"), (2, "/p")], [(2, "/p[x]")], [(2, "/p[-1]")], [(2, "/")],
     [(2, "/a b")], [("2", "/p")], [(True, "/p"), (1, "/p")], ["/p"], [(2, None)], [None], [(2, "/" + "p/" * 9000)]],
    ids=lambda given: str(given)[:30],
)  # fmt: skip
def test_nodes_that_do_not_fit(given: list[Any], pair: Any):
    with pytest.raises(TextError):
        pair[2].trace("two words", nodes=given)


def test_nodes_where_they_have_no_meaning(pair: Any):
    with pytest.raises(TextError, match="tree"):
        encoder.load("minilm").trace("word", nodes=[(1, "/p")])
    with pytest.raises(EncoderError, match="plain texts"):
        Pipeline.of(pair[2])


def test_a_text_without_nodes_says_what_is_assumed(pair: Any):
    ours = pair[2]
    assert nodes.UNKNOWN in assumed(ours.config.places, ours.trace("two words").source)
    assert not assumed(ours.config.places, ours.trace("two words", nodes=[(2, "/p")]).source)


def test_lines_are_read_as_they_are_written():
    assert html_nodes.read_page(PAGE.lines) == PAGE
    assert html_nodes.open_page(PAGE.lines.encode(), "a.txt") == PAGE
    for wrong in ("/p", "p words", "/p[ words"):
        with pytest.raises(TextError, match="Line 2"):
            nodes.read_lines(f"/p ok\n{wrong}")
    for name, content in (
        ("a.html", "no tag"),
        ("a.pdf", "<p>x"),
        ("a.html", "<p>x" * 6000),
        ("a.html", "<b[3]>x"),
        ("a.html", "<p>" * 2000),
    ):
        with pytest.raises(TextError):
            html_nodes.open_page(content.encode(), name)
    for wrong in ("2", "2p", "x/p", "0/p", "2/p  1/p"):
        with pytest.raises(TextError):
            nodes.read_short(wrong)


@pytest.mark.parametrize(
    ("key", "value"),
    [("tags_dict", None), ("tags_dict", {"p": -1}), ("tags_dict", {"p": 16}), ("max_depth", 6), ("max_width", 22),
     ("pad_width", -1)],
)  # fmt: skip
def test_settings_of_paths_that_do_not_fit(key: str, value: Any, pair: Any, tmp_path: Path):
    for file in pair[3].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**settings, key: value}), encoding="utf-8")
    with pytest.raises(LoadError, match=r"tags_dict|max_|pad_width"):
        encoder.load(tmp_path, device="cpu")


def test_relations_add_up_and_are_those_of_the_tree(pair: Any):
    trace = pair[2].trace("Harbour report ships in May June", nodes=TREE)
    found, page = directions(trace), page_words(trace)
    assert page.paths == tuple(path for _, path in TREE)
    np.testing.assert_allclose(found.heads.sum(-1), 1.0, atol=1e-5)
    assert found.uniform.sum() == pytest.approx(1.0, abs=1e-5)
    names = [[RELATIONS[one] for one in row] for row in related(page.paths)]
    assert names == [["here", "next", "apart"], ["next", "here", "inside"], ["apart", "around", "here"]]
    maps, expected = trace.layer_attention(1)[2], dict.fromkeys(RELATIONS, 0.0)
    for i, j in np.ndindex(maps.shape):
        of_query, of_key = page.of_token[[i, j]]
        if of_query >= 0:
            name = "special" if of_key < 0 else names[of_query][of_key]
            expected[name] += float(maps[i, j]) / len(page.tokens) / len(page.tokens[of_query])
    np.testing.assert_allclose(found.heads[1, 2], list(expected.values()), atol=1e-5)
