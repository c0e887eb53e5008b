"""The image of a page after its words (LayoutLMv3): equal to transformers; saved, explained, changed and linked."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import encoder
from encoder import causal, explain
from encoder.causal.variants import run_variants
from encoder.edits import AblateHead, Zero
from encoder.errors import EncoderError, LoadError, TextError
from encoder.inputs import example_page
from encoder.inputs.box_files import example
from encoder.inputs.boxes import assumed, boxes_of
from encoder.measure.page_words import IMAGE, directions, page_words
from encoder.measure.positions import order_effect
from encoder.run import ModelSpec, Run, Text, address, code
from encoder.trace import tokens
from encoder.views.model_parts import SENTENCES, with_parts
from encoder.views.model_picture import model_picture
from tests.load import boxes

PAGE = example()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, encoder.TextEncoder, Path]:
    """transformers' model and its inputs, ours, and the folder."""
    import transformers

    folder = tmp_path_factory.mktemp("page")
    model, tokenizer = boxes.write(folder)
    given = tokenizer(list(PAGE.words), boxes=[list(box) for box in PAGE.boxes], return_tensors="pt")
    side = {"height": model.config.input_size, "width": model.config.input_size}
    processor = transformers.LayoutLMv3ImageProcessorPil(apply_ocr=False, size=side)
    processor.save_pretrained(folder)
    given["pixel_values"] = processor(example_page.invoice(), return_tensors="pt")["pixel_values"]
    return model, given, encoder.load(folder, device="cpu"), folder


@pytest.fixture(scope="module")
def trace(pair: Any) -> encoder.Trace:
    return pair[2].trace(PAGE.text, boxes=PAGE.boxes, page=example_page.invoice())


@pytest.mark.parametrize(("kind", "most"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=str)
@pytest.mark.parametrize("places", [PAGE.boxes, None], ids=["boxes", "no boxes"])
def test_words_boxes_and_image_equal_transformers(pair: Any, kind: torch.dtype, most: float, places: Any):
    theirs, given, ours, _ = pair
    theirs, stack = (copy.deepcopy(one).to(kind) for one in (theirs, ours.encoder))
    found = dataclasses.replace(ours, encoder=stack).trace(PAGE.text, boxes=places, page=example_page.invoice())
    given = {**given, "pixel_values": given["pixel_values"].to(kind)}
    if places is None:
        given["bbox"] = torch.zeros_like(given["bbox"])
    with torch.no_grad():
        expected = theirs(**given).last_hidden_state[0]
    assert len(found) == len(expected) == len(ours.tokenize(PAGE.text)) + 17
    assert float((found.output - expected).abs().max()) <= most
    assert bool(assumed(ours.config.places, found.source)) == (places is None)
    assert boxes_of(found.source) == places
    without = ours.trace(PAGE.text, boxes=PAGE.boxes)
    assert not torch.allclose(without.output, found.output[: len(without)].float(), atol=1e-2)


def test_a_bias_by_order_or_none_and_no_image(tmp_path: Path):
    for number, more in enumerate(({"has_spatial_attention_bias": False}, {"has_relative_attention_bias": False})):
        theirs, tokenizer = boxes.write(tmp_path / str(number), **more)
        given = tokenizer(list(PAGE.words), boxes=[list(box) for box in PAGE.boxes], return_tensors="pt")
        model = encoder.load(tmp_path / str(number), device="cpu").with_page(torch.rand(3, 64, 64))
        with torch.no_grad():
            expected = theirs(**given, pixel_values=model.encoder.embedding.page.pixels).last_hidden_state[0]
        found = model.trace(PAGE.text, boxes=PAGE.boxes)
        torch.testing.assert_close(found.output, expected, atol=1e-5, rtol=1e-5)
    boxes.write(tmp_path / "words", visual_embed=False)
    with pytest.raises(EncoderError, match="reads no image"):
        encoder.load(tmp_path / "words", device="cpu").trace("word", page=example_page.invoice())


@pytest.mark.parametrize("layout", ["huggingface", "encoderscope"])
def test_a_saved_model_reads_the_image(pair: Any, trace: encoder.Trace, layout: Any, tmp_path: Path):
    import transformers

    theirs, given, ours, _ = pair
    folder = encoder.save(ours, tmp_path / "saved", layout=layout)
    again = encoder.load(folder, device="cpu")
    assert again.page_preparation == ours.page_preparation
    assert torch.equal(again.trace(PAGE.text, boxes=PAGE.boxes, page=example_page.invoice()).output, trace.output)
    if layout == "huggingface":
        model = transformers.AutoModel.from_pretrained(folder).eval()
        with torch.no_grad():
            expected = theirs(**given).last_hidden_state
            torch.testing.assert_close(model(**given).last_hidden_state, expected, atol=1e-6, rtol=0)


def test_every_step_follows_from_the_image(trace: encoder.Trace):
    assert explain.chain(trace, np.float64).largest <= 1e-4
    check = explain.Recomputation(trace)
    for token in (4, len(trace) - 3):  # of a word and of a patch
        place = explain.Place(1, 4, token, 3, 5, 7)
        steps = (explain.embedding(trace, place), explain.score(trace, place))
        assert all(one.agrees for step in steps for one in step.check(check))
    wrong = explain.Recomputation(trace)
    wrong.order = np.arange(len(trace))  # the positions of the image begin again at 0
    assert not all(one.agrees for one in explain.score(trace, explain.Place(1, 4, 4, 60, 5, 7)).check(wrong))


def test_the_opened_parts_say_what_a_patch_is(trace: encoder.Trace):
    picture, check = model_picture(trace), explain.Recomputation(trace)
    words, patches = (
        with_parts(picture, trace, explain.Place(1, 4, token, 3), part="embedding", model=trace.model, reference=check)
        for token in (4, len(trace) - 3)
    )
    assert {"ids", "embedding"} <= set(words.header["parts"])
    assert "ids" not in patches.header["parts"]
    said = [one.header["parts"]["embedding"]["said"] for one in (words, patches)]
    assert [SENTENCES["embedding"][name] for name in ("word_on_page", "of_page")] == said
    for part in patches.header["parts"].values():
        assert all(one[4] for one in part["checks"])


def test_effects_gradients_and_files_keep_the_image(trace: encoder.Trace, tmp_path: Path):
    edits = (AblateHead(0, 1),)
    (found,) = (outputs for _, outputs in run_variants(trace.model, trace, [edits]))
    changed = trace.model.trace_tokens(trace.source, edits=edits, request=["pattern"])
    torch.testing.assert_close(found[0], changed.output, atol=1e-5, rtol=0)
    torch.testing.assert_close(changed.values["layers.1.pattern"], changed.layer_attention(1), atol=1e-5, rtol=0)
    outcome = causal.Similarity("w5 w6 w7")
    expected = float(outcome.on(trace.model, trace)(trace.output[None])[0])
    assert trace.gradients(outcome).outcome == pytest.approx(expected, abs=1e-5)
    moved = order_effect(trace)
    n_words = len(trace) - trace.config.n_page_tokens
    assert moved.order[n_words:].tolist() == list(range(n_words, len(trace)))
    again = encoder.open_trace(trace.save(tmp_path / "trace.safetensors"))
    assert again.source == trace.source
    assert torch.equal(again.layer_attention(2), trace.layer_attention(2))
    batch = trace.model.trace_batch(["w5 w6", PAGE.text])
    assert all(torch.equal(one.output, trace.model.trace(one.source.text).output) for one in batch)
    vectors = trace.model.embed(["w5 w6", PAGE.text])
    torch.testing.assert_close(vectors[1], trace.model.vector_of(trace.model.trace(PAGE.text)), atol=1e-5, rtol=0)


def test_patches_have_places_and_shares(trace: encoder.Trace):
    words, found = page_words(trace), directions(trace)
    assert words.n_patches == 16
    assert words.words[-1] == "r3 c3"
    assert words.boxes[-1].tolist() == [750, 750, 1000, 1000]
    assert found.names[-1] == IMAGE
    np.testing.assert_allclose(found.heads.sum(-1), 1.0, atol=1e-5)
    head = trace.layer_attention(1)[2].numpy()
    parts = words.parts()
    assert found.heads[1, 2, -1] == pytest.approx(float((parts @ head)[-16:].sum()), abs=1e-5)
    assert sum(tokens.is_special(trace)) == 3  # <s>, </s> and the whole page
    assert len({*tokens.words(trace)[-16:]}) == 16


def test_a_run_has_its_image(pair: Any, trace: encoder.Trace, tmp_path: Path):
    folder = pair[3]
    run = Run(ModelSpec(str(folder), device="cpu"), Text(PAGE.text, boxes=PAGE.boxes, page="invoice"))
    assert address.read(address.write(run)) == run
    assert torch.equal(run.trace().output, trace.output)
    file = tmp_path / "page.png"
    example_page.invoice().save(file)
    for one in (run, run.but(page=str(file))):
        made: dict[str, Any] = {}
        exec(code.python_lines(one), made)
        assert torch.equal(made["trace"].output, trace.output)
        assert made["trace"].model is made["model"]  # for the lines that follow


def test_what_does_not_fit(trace: encoder.Trace, tmp_path: Path):
    with pytest.raises(TextError, match="no padding"):
        trace.model.trace("w5", pad_to=100)
    with pytest.raises(EncoderError, match=r"no embedding\.places"):
        trace.model.trace("w5", edits=(Zero("embedding.places"),))
    with pytest.raises(EncoderError, match="reads no image"):
        encoder.load("minilm").with_page(example_page.invoice())
    broken = dataclasses.replace(trace, source=dataclasses.replace(trace.source, n_page_tokens=3))
    with pytest.raises(LoadError, match="n_page_tokens"):
        encoder.open_trace(broken.save(tmp_path / "trace.safetensors"))
