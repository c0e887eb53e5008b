"""Words with boxes: tokens, boxes and numbers as in transformers; runs, files, effects and gradients keep them."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import encoder
from encoder import causal, explain
from encoder.causal.variants import run_variants
from encoder.checkpoints import trace_shapes
from encoder.cli import main
from encoder.edits import AblateHead, Zero
from encoder.errors import EncoderError, LoadError, TextError
from encoder.inputs import boxes as texts_of_boxes
from encoder.inputs.box_files import example, open_words
from encoder.inputs.boxes import assumed, boxes_of, read_lines
from encoder.measure.page_words import DIRECTIONS, directions, page_words, seen_from
from encoder.measure.positions import order_effect
from encoder.model.boxes import LARGEST_PLACE
from encoder.run import ModelSpec, Run, Text, address, code
from encoder.run.command import command
from tests.load import boxes, every_family, reference
from tests.load.every_family import ALL, ids_of
from tests.load.every_family import boxes_of as drawn

PAGE = example()


@pytest.fixture(scope="module", params=["LayoutLMv3", "Lilt"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, Any, encoder.TextEncoder, Path]:
    """transformers' model and tokenizer, ours, and its folder."""
    folder = tmp_path_factory.mktemp("page")
    theirs = boxes.write(folder, request.param)
    return *theirs, encoder.load(folder, device="cpu"), folder


@pytest.fixture(scope="module", params=["layoutlm", "layoutlmv3", "lilt"])
def placed(request: pytest.FixtureRequest) -> encoder.Trace:
    model = every_family.opened(ALL[request.param])[1]
    return model.trace(" ".join(f"w{one}" for one in ids_of(18, 3)), boxes=drawn(18))


def test_a_page_has_the_tokens_boxes_and_vectors_of_transformers(pair: Any):
    theirs, tokenizer, ours, _ = pair
    words, places = [*PAGE.words, "Ünïcode", "x.y-z,"], [*PAGE.boxes, (0, 0, 1000, 1000), (5, 6, 7, 8)]
    found = tokenizer(words, boxes=[list(one) for one in places])
    trace = ours.trace("  ".join(words), boxes=places)
    assert list(trace.ids) == found["input_ids"]
    assert trace.places.tolist() == found["bbox"]
    assert not any("tokenizer" in note for note in ours.notes)
    with torch.no_grad():
        expected = theirs(input_ids=torch.tensor([trace.ids]), bbox=trace.places[None]).last_hidden_state[0]
    torch.testing.assert_close(trace.output, expected, atol=1e-5, rtol=1e-5)


def test_transformers_opens_what_is_saved(pair: Any, tmp_path: Path):
    import transformers

    theirs, _, ours, _ = pair
    folder = encoder.save(ours, tmp_path / "saved", layout="huggingface")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = tokenizer(list(PAGE.words), boxes=[list(one) for one in PAGE.boxes], return_tensors="pt")
    again = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        expected = theirs(**found).last_hidden_state
        torch.testing.assert_close(again(**found).last_hidden_state, expected, atol=1e-6, rtol=0)
    trace = ours.trace(PAGE.text, boxes=PAGE.boxes)
    assert torch.equal(encoder.load(folder, device="cpu").trace(PAGE.text, boxes=PAGE.boxes).output, trace.output)


@pytest.mark.parametrize(
    ("name", "head", "fields"),
    [
        ("layoutlmv3", "ForTokenClassification", {"num_labels": 5}),
        ("layoutlmv3", "ForTokenClassification", {"num_labels": 12}),
        ("layoutlmv3", "ForSequenceClassification", {"num_labels": 3}),
        ("layoutlm", "ForTokenClassification", {"num_labels": 12}),
        ("lilt", "ForTokenClassification", {"num_labels": 12}),
        ("lilt", "ForSequenceClassification", {"num_labels": 3}),
    ],
)
def test_heads_of_pages(name: str, head: str, fields: dict[str, Any], tmp_path: Path):
    plain = ALL[name]
    case = dataclasses.replace(plain, model=plain.kind + head, fields={**plain.fields, **fields})
    theirs = case.make()
    theirs.save_pretrained(tmp_path)
    reference.write_tokenizer(tmp_path, "bert" if name == "layoutlm" else "roberta")
    ours = encoder.load(tmp_path, device="cpu")
    trace = ours.trace(" ".join(f"w{one}" for one in ids_of(12, 1)), boxes=drawn(12))
    with torch.no_grad():
        expected = theirs(input_ids=torch.tensor([trace.ids]), bbox=trace.places[None]).logits[0]
        found = ours.classifier(trace.output[None], torch.ones(1, len(trace), dtype=torch.bool))[0]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_without_boxes_all_are_in_the_corner():
    for name in ("layoutlm, no boxes", "layoutlmv3, no boxes"):
        model = every_family.opened(ALL[name])[1]
        text = "w8 w9 w10"
        plain, corner = model.trace(text), model.trace(text, boxes=[(0, 0, 0, 0)] * 3)
        end = model.config.places.end  # LayoutLM's [SEP] has a box of its own
        assert torch.allclose(plain.output, corner.output, atol=1e-6) == (end == 0)
        assert assumed(model.config.places, plain.source)
        assert not assumed(model.config.places, corner.source)


def test_every_step_follows_from_the_boxes(placed: encoder.Trace):
    assert explain.chain(placed, np.float64).largest <= 1e-4
    check, place = explain.Recomputation(placed), explain.Place(1, 4, 6, 3, 5, 7)
    steps = (explain.embedding(placed, place), explain.score(placed, place), explain.softmax(placed, place))
    assert all(one.agrees for step in steps for one in step.check(check))
    wrong = explain.Recomputation(placed)
    wrong.places = wrong.places[::-1]
    assert not all(one.agrees for one in steps[1].check(wrong))


def test_padding_and_recorded_weights(placed: encoder.Trace):
    padded = placed.model.trace_tokens(placed.source, pad_to=31)
    torch.testing.assert_close(padded.unpadded.output, placed.output, atol=1e-5, rtol=1e-5)
    recorded = placed.model.trace_tokens(placed.source, request=["pattern"]).values["layers.1.pattern"]
    torch.testing.assert_close(recorded, placed.layer_attention(1), atol=1e-5, rtol=0)
    batch = placed.model.trace_batch(["w5 w6", placed.source.text])
    assert batch[0].places is None


def test_effects_gradients_and_reversal_keep_the_boxes(placed: encoder.Trace):
    edits = (AblateHead(0, 1),)
    (found,) = (outputs for _, outputs in run_variants(placed.model, placed, [edits]))
    torch.testing.assert_close(
        found[0], placed.model.trace_tokens(placed.source, edits=edits).output, atol=1e-5, rtol=0
    )
    outcome = causal.Similarity("w5 w6 w7")
    gradients = placed.gradients(outcome)
    assert gradients.outcome == pytest.approx(float(outcome.on(placed.model, placed)(placed.output[None])[0]), abs=1e-5)
    if placed.config.beside is None:
        nowhere = placed.model.trace_tokens(placed.source, edits=(Zero("embedding.places"),))
        assert not torch.allclose(nowhere.output, placed.output, atol=1e-2)
    plain = order_effect(placed)
    assert not plain.same


def test_a_saved_trace_has_its_boxes(placed: encoder.Trace, tmp_path: Path):
    again = encoder.open_trace(placed.save(tmp_path / "trace.safetensors"))
    assert again.source == placed.source
    assert torch.equal(again.layer_attention(2), placed.layer_attention(2))
    config = placed.config
    for broken in ([[0, 0, 0, 0]], [[0, 0, 0]] * len(placed), [[0, 0, 0, -1]] * len(placed)):
        with pytest.raises(LoadError, match="places"):
            trace_shapes._check_places(broken, len(placed), config)


def test_a_run_has_its_boxes(pair: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    *_, ours, folder = pair
    trace = ours.trace(PAGE.text, boxes=PAGE.boxes)
    run = code.run_of(trace, ModelSpec(str(folder), device="cpu"))
    assert run == Run(ModelSpec(str(folder), device="cpu"), Text(PAGE.text, boxes=PAGE.boxes))
    assert address.read(address.write(run)) == run
    assert torch.equal(run.trace().output, trace.output)
    made: dict[str, Any] = {}
    exec(code.python_lines(run), made)
    assert torch.equal(made["trace"].output, trace.output)
    assert run.about("other words").of_text.boxes is None
    assert run.about(PAGE.text.replace("Total", "<mask>")).of_text.boxes == PAGE.boxes
    file = tmp_path / "page.txt"
    file.write_text(PAGE.lines, encoding="utf-8")
    assert main.main([*shlex.split(command(run))[1:], "--out", str(tmp_path / "a.npz")]) == 0
    assert main.main(["trace", str(folder), "--file", str(file), "--out", str(tmp_path / "b.npz")]) == 0
    one, other = (np.load(tmp_path / name) for name in ("a.npz", "b.npz"))
    assert all(np.array_equal(one[name], other[name]) for name in one.files if one[name].dtype.kind == "f")


def test_a_cut_page_and_its_windows(pair: Any):
    ours = pair[2]
    words, places = PAGE.words * 12, PAGE.boxes * 12
    cut = ours.tokenize(" ".join(words), boxes=places)
    assert cut.cut
    assert boxes_of(cut)[: len(PAGE.words)] == PAGE.boxes
    for window in ours.windows(" ".join(words), boxes=places):
        spelled: dict[tuple[int, ...], str] = {}
        for token, place, special in zip(
            window.sentence.tokens, window.sentence.places, window.sentence.special, strict=True
        ):
            if not special:
                spelled[place] = spelled.get(place, "") + token.strip("Ġ")
        expected = dict(zip(PAGE.boxes, PAGE.words, strict=True))
        assert all(word.startswith(expected[place]) or expected[place] in word for place, word in spelled.items())


@pytest.mark.parametrize(
    "given",
    [[], [(0, 0, 1, 1)], [(0, 0, 1, 1), (0, 0, 1)], [(0, 0, 1, 1), (0, 0, 1, 1001)], [(0, 0, 1, 1), (5, 0, 1, 1)],
     [(0, 0, 1, 1), (0, 0, 1, 0.5)], [(0, 0, 1, 1), None], [(0, 0, 1, 1), (0, -1, 1, 1)], [(0, 0, 1, 1), "0011"]],
    ids=str,
)  # fmt: skip
def test_boxes_that_do_not_fit(given: list[Any], pair: Any):
    with pytest.raises(TextError, match="box"):
        pair[2].trace("two words", boxes=given)


def test_boxes_where_they_have_no_meaning(pair: Any):
    minilm = encoder.load("minilm")
    with pytest.raises(TextError, match="places"):
        minilm.trace("word", boxes=[(0, 0, 1, 1)])
    with pytest.raises(TextError, match="second"):
        pair[2].trace("word", "pair", boxes=[(0, 0, 1, 1)])
    with pytest.raises(EncoderError, match="boxes"):
        directions(minilm.trace("no page"))


def test_lines_and_links_are_read_as_they_are_written():
    assert read_lines(PAGE.lines, LARGEST_PLACE) == PAGE
    assert texts_of_boxes.read_short(texts_of_boxes.write_short(PAGE.boxes)) == PAGE.boxes
    for wrong in ("Total 1 2 3", "Total 1 2 3 x", "Total 9 2 3 4", "a b 1 2 3 4"):
        with pytest.raises(TextError, match="Line 2"):
            read_lines(f"ok 1 2 3 4\n{wrong}", LARGEST_PLACE)
    for wrong in ("1.2.3", "1.2.3.4_", "1.2.3.-4", "1.2.3.²"):
        with pytest.raises(TextError):
            texts_of_boxes.read_short(wrong)


HOCR = """<html><body><div class='ocr_page' title='image "a.png"; bbox 0 0 2000 4000'>
<span class='ocrx_word' title='bbox 200 400 400 600; x_wconf 95'>Total</span>
<span class='ocrx_word' title='bbox 600 400 800 600'><strong>90</strong></span></div></body></html>"""
TWO = [("Total", (100, 100, 200, 150)), ("90", (300, 100, 400, 150))]
FILES = {
    "header.csv": "x0,y0,x1,y1,text\n100,100,200,150,Total\n300,100,400,150,90\n",
    "plain.csv": "Total,100,100,200,150\n90,300,100,400,150\n",
    "a.tsv": "word\tleft\tupper\tright\tlower\nTotal\t100\t100\t200\t150\n90\t300\t100\t400\t150\n",
    "a.txt": "Total 100 100 200 150\n\n90 300 100 400 150",
    "lists.json": json.dumps({"words": ["Total", "90"], "boxes": [list(box) for _, box in TWO]}),
    "pixels.json": json.dumps(
        {"width": 2000, "height": 4000, "words": ["Total", "90"], "boxes": [[200, 400, 400, 600], [600, 400, 800, 600]]}
    ),
    "funsd.json": json.dumps(
        {"form": [{"text": "Total 90", "box": [0, 0, 9, 9], "words": [{"text": t, "box": list(b)} for t, b in TWO]}]}
    ),
    "a.hocr": HOCR,
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_words(name: str):
    found = open_words(FILES[name].encode(), name)
    assert list(zip(found.words, found.boxes, strict=True)) == TWO


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", ""), ("a.csv", "Total,1,2"), ("a.csv", "Total,1,2,3,4000"), ("a.csv", "Total,a,2,3,4"), ("a.json", "{"),
     ("a.csv", "Total,nan,2,3,4"), ("a.json", '{"words": ["a"], "boxes": []}'), ("a.json", "[" * 5000),
     ("a.json", '{"width": 0, "words": [], "boxes": []}'), ("a.hocr", "<p>no words</p>"), ("a.png", "x"),
     ("a.csv", "w,1,2,3,4\n" * 6000)],
)  # fmt: skip
def test_a_file_without_words_says_what_to_write(name: str, content: str):
    with pytest.raises(TextError):
        open_words(content.encode(), name)


def test_directions_add_up_and_are_those_of_the_page(placed: encoder.Trace):
    _add_up(placed)


def test_a_word_of_many_tokens_counts_once(pair: Any):
    trace = pair[2].trace(PAGE.text, boxes=PAGE.boxes)
    words = page_words(trace)
    assert len({len(one) for one in words.tokens}) > 1
    _add_up(trace)
    maps = trace.attention(1, 2)
    each = np.stack([words.to_words(maps, one[0]) for one in words.tokens])
    np.testing.assert_allclose(words.to_words(maps, None), each.mean(0), atol=1e-6)
    assert words.to_words(maps, None).sum() + words.to_special(maps, None) == pytest.approx(1.0, abs=1e-5)


def _add_up(trace: encoder.Trace) -> None:
    """The shares of one head, cell by cell, in plain Python."""
    found, words = directions(trace), page_words(trace)
    np.testing.assert_allclose(found.heads.sum(-1), 1.0, atol=1e-5)
    assert found.uniform.sum() == pytest.approx(1.0, abs=1e-5)
    seen, maps = seen_from(words.boxes), trace.layer_attention(1)[2]
    expected, uniform = (dict.fromkeys(DIRECTIONS, 0.0) for _ in range(2))
    for i, j in np.ndindex(maps.shape):
        if words.of_token[i] >= 0:
            pair = words.of_token[[i, j]]
            name = "special" if pair[1] < 0 else DIRECTIONS[seen[tuple(pair)]]
            part = 1 / len(words.tokens) / len(words.tokens[pair[0]])
            expected[name] += float(maps[i, j]) * part
            uniform[name] += part / len(maps)
    np.testing.assert_allclose(found.heads[1, 2], list(expected.values()), atol=1e-5)
    np.testing.assert_allclose(found.uniform, list(uniform.values()), atol=1e-5)


def test_where_a_word_is_seen_from_another():
    at = {word: place for place, word in enumerate(PAGE.words)}
    seen = seen_from(np.array(PAGE.boxes))
    views = {
        ("Total", "90.00"): "right",
        ("90.00", "Total"): "left",
        ("Total", "Qty"): "above",
        ("Sum", "90.00"): "below",
    }
    for (query, key), direction in views.items():
        assert DIRECTIONS[seen[at[query], at[key]]] == direction
    assert all(DIRECTIONS[one] == "here" for one in np.diag(seen))
