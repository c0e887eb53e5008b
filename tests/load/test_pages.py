"""ModernVBERT and ColModernVBERT against transformers: pages in tiles, both towers, MaxSim and its maps over a page."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import encoder
from encoder import EncoderError, JointEncoder, LoadError
from encoder.causal import occlusion
from encoder.encoders.page import PageEncoder, merged_squares
from encoder.inputs.image_files import ImageError
from encoder.inputs.layout import PageGrid
from encoder.measure import patches
from encoder.similarity import late, page_interaction
from encoder.trace.tokens import is_special
from tests.load import pages
from tests.load.every_family import numbers_of
from tests.load.pages import QUERIES, TILE, page
from tests.load.test_parity import close

KINDS = ("ModernVBert", "ColModernVBert")
FAR = {torch.float32: 1e-5, torch.float64: 1e-10}


def loaded(kind: str, folder: Path, **processor: Any) -> tuple[Any, JointEncoder, Any]:
    """The reference, the same weights here, and the processor of the reference."""
    theirs = pages.model_of(kind)
    ours = encoder.load(pages.write(theirs, folder / "model", **processor), device="cpu")
    assert isinstance(ours, JointEncoder)
    assert isinstance(ours.other, PageEncoder)
    return theirs, ours, pages.processor_of(folder, **processor)


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, JointEncoder, Any]:
    return loaded("ColModernVBert", tmp_path_factory.mktemp("pages"))


def far(ours: Tensor, theirs: Tensor) -> float:
    assert ours.shape == theirs.shape
    return float((ours - theirs).abs().max() / max(1.0, float(theirs.abs().max())))


SPLITS = ({}, {"do_image_splitting": False}, {"do_resize": False}, {"size": {"longest_edge": 20}}, {"resample": 3})


@pytest.mark.parametrize("size", [*pages.PAGES, (7, 300), (24, 24), (25, 24), (49, 48)], ids=str)
@pytest.mark.parametrize("fields", SPLITS, ids=str)
def test_tiles_and_words_of_a_page_are_those_of_its_processor(
    fields: dict[str, Any], size: Any, tmp_path: Path, retriever
):
    _, ours, processor = retriever if not fields else loaded("ColModernVBert", tmp_path, **fields)
    given = page(*size)
    expected, reader = processor.process_images(given), ours.image
    fitted = reader.fitted(given)
    close(reader.tiles(fitted), expected["pixel_values"][0], "tiles")
    sentence = reader.sentence(fitted.shape[1] // TILE, fitted.shape[2] // TILE)
    assert sentence.ids == tuple(expected["input_ids"][0].tolist())


@pytest.mark.parametrize("dtype", FAR, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_page_is_what_transformers_computes(kind: str, dtype: torch.dtype, tmp_path: Path):
    theirs, ours, processor = loaded(kind, tmp_path)
    for size in pages.PAGES:
        given = page(*size)
        inputs = processor.process_images(given)
        with numbers_of(dtype):
            reader, reference = in_type(ours.image, dtype), rebuilt(kind, theirs, dtype)
            inputs["pixel_values"] = reader.tiles(reader.fitted(given)).to(dtype)[None]
            found = reference(**inputs, output_attentions=True)
            trace = reader.trace(given)
            output = trace.output if kind == "ModernVBert" else vectors(reader, trace.output)
            expected = found.last_hidden_state if kind == "ModernVBert" else found.embeddings
            assert far(output, expected[0]) < FAR[dtype]
            for layer, maps in enumerate(found.attentions):
                assert far(trace.layer_attention(layer), maps[0]) < FAR[dtype]


@pytest.mark.parametrize("dtype", FAR, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_text_is_what_transformers_computes(kind: str, dtype: torch.dtype, tmp_path: Path):
    theirs, ours, processor = loaded(kind, tmp_path)
    for text in QUERIES:
        queries = processor.process_queries(text) if kind == "ColModernVBert" else processor.tokenizer(text)
        inputs = {name: torch.as_tensor(queries[name]).reshape(1, -1) for name in ("input_ids", "attention_mask")}
        with numbers_of(dtype):
            model = dataclasses.replace(ours.text, encoder=copy.deepcopy(ours.text.encoder).to(dtype))
            trace = model.trace(text + (ours.text.late.suffix if ours.text.late is not None else ""))
            found = rebuilt(kind, theirs, dtype)(**inputs)
            output = trace.output if kind == "ModernVBert" else vectors(in_type(ours.image, dtype), trace.output)
            expected = found.last_hidden_state if kind == "ModernVBert" else found.embeddings
            assert far(output, expected[0]) < FAR[dtype]


def rebuilt(kind: str, theirs: Any, dtype: torch.dtype) -> Any:
    """The reference in a type, its tables of rotations included."""
    found = pages.model_of(kind).to(dtype)
    found.load_state_dict(theirs.state_dict())
    return found


def in_type(reader: PageEncoder, dtype: torch.dtype) -> PageEncoder:
    found = copy.deepcopy(reader)
    for module in (found.encoder, *found.heads.values()):
        module.to(dtype)
    return found


def vectors(reader: PageEncoder, output: Tensor) -> Tensor:
    """`token_vectors`, in the type of its input."""
    return torch.nn.functional.normalize(reader.token_dense[0](output), dim=-1)


def test_scores_and_maps_of_a_page(retriever):
    theirs, ours, processor = retriever
    for size, query in zip(pages.PAGES, QUERIES, strict=True):
        given = page(*size)
        with torch.no_grad():
            q = theirs(**processor.process_queries(query)).embeddings
            d = theirs(**processor.process_images(given)).embeddings
        found = page_interaction(ours, query, given)
        assert abs(found.score - float(processor.score_retrieval([q[0]], [d[0]]))) < 1e-4
        assert np.abs(found.matrix - (q[0] @ d[0].T).numpy()).max() < 1e-5
        shares = found.shares()
        assert abs(shares.sum() + found.beside.sum() - found.score) < 1e-6 * max(1.0, abs(found.score))
        assert np.abs(shares.sum(axis=(1, 2)) + found.beside - found.parts).max() < 1e-6
        words = found.matrix[:, [place for place, one in enumerate(found.grid.special) if one]].max(axis=1)
        assert np.array_equal(np.maximum(found.over_page().max(axis=(1, 2)), words), found.parts)


def test_the_map_of_a_page_puts_tiles_and_the_whole_page_together(retriever):
    """By hand, on a page of 3 x 2 tiles of 3 x 3 tokens each."""
    _, ours, _ = retriever
    trace = ours.image.trace(page(99, 61))
    found = page_interaction(ours, QUERIES[0], trace)
    grid = found.grid
    assert (grid.rows, grid.columns, grid.side) == (9, 6, 3)
    image = trace.tokens.index("<row_1_col_1>") + 1
    names = [f"r{row} c{column}" for row in range(3) for column in range(3)]
    assert trace.labels[image : image + 9] == tuple(names)
    second = trace.tokens.index("<row_2_col_2>") + 1
    assert trace.labels[second] == "r3 c3"
    assert grid.place(second) == (3, 3)
    assert grid.token(3, 3) == second
    whole = trace.tokens.index("<global-img>") + 1
    assert trace.labels[whole + 5] == "page r1 c2"
    assert grid.place(whole + 5) is None
    for row, column in ((0, 0), (3, 3), (8, 5), (4, 2)):
        over = max(found.matrix[1, grid.token(row, column)], found.matrix[1, whole + row // 3 * 3 + column // 2])
        assert found.over_page()[1, row, column] == over


def test_a_page_of_one_tile_has_no_second_one(tmp_path: Path):
    _, ours, _ = loaded("ColModernVBert", tmp_path, do_image_splitting=False)
    found = page_interaction(ours, QUERIES[1], page(50, 70))
    assert found.grid.whole == ()
    assert found.over_page().shape[1:] == (3, 3)
    assert abs(found.shares().sum() + found.beside.sum() - found.score) < 1e-5


def test_squares_are_merged_row_by_row():
    x = torch.arange(16.0).view(1, 16, 1)
    assert merged_squares(x, 2)[0].tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]


def test_a_trace_of_a_page_works_as_any_other(retriever, tmp_path: Path):
    """Attention over the page, distances, edits, moved norms, a saved trace; the weights are those of the texts."""
    _, ours, _ = retriever
    reader, given = ours.image, page(40, 90)
    trace = reader.trace(given)
    assert trace.kind == "image"
    assert isinstance(trace.layout, PageGrid)
    over = patches.over_image(trace, trace.attention(1, 2))
    assert over.shape == (trace.n_tokens, 6, 9)
    assert patches.attention_distances(trace).isfinite().all()
    assert sum(is_special(trace)) == trace.n_tokens - 7 * 9
    off = reader.trace(given, edits=[encoder.edits.AblateHead(0, 1)])
    assert not torch.equal(off.output, trace.output)
    back = encoder.open_trace(trace.save(tmp_path / "page.safetensors"))
    assert back.layout == trace.layout
    assert torch.equal(back.output, trace.output)
    moved = reader.with_norm_placement("post")
    assert moved.trace(given).config.norm_placement == "post"
    table = ours.text.encoder.embedding.tokens.weight
    assert reader.words.weight is table
    assert ours.text.n_parameters < ours.n_parameters
    block = [one.encoder.layers[0].attention.w_q.weight for one in (ours.text, reader)]
    assert block[0].data_ptr() == block[1].data_ptr()


@pytest.mark.parametrize(
    "fields",
    [{"rows": 7}, {"side": 0}, {"firsts": (1, 10)}, {"firsts": (1, 10, 20, 99)}, {"firsts": (-1, 10, 20, 30)}],
    ids=str,
)
def test_a_layout_that_fits_no_page(fields: dict[str, Any]):
    grid = PageGrid(6, 6, 8, side=3, names=tuple("w" * 40), firsts=(1, 10, 20, 30))
    assert grid.whole == ()
    assert dataclasses.replace(grid, firsts=(*grid.firsts, 31)).whole == tuple(range(31, 40))
    with pytest.raises(EncoderError, match="layout"):
        dataclasses.replace(grid, **fields)


def test_a_covered_place_of_a_page(tmp_path: Path):
    """Nothing covered is the page itself, and a covered place is what a page with that place in grey gives."""
    _, ours, _ = loaded("ModernVBert", tmp_path)
    reader, given = ours.image, page(40, 90)
    which = np.zeros((2, occlusion.n_parts(reader, given)), dtype=bool)
    which[1, 10] = True
    plain, covered = occlusion.covered(reader, given, which)
    assert torch.equal(plain, reader.prepare(given))
    grey = reader.fitted(given)
    grey[:, 8:16, 8:16] = 128
    close(covered, reader.vectors_of(grey), "a covered place")
    found = encoder.explain_score(reader, given, page(99, 61))
    assert [len(side) for side in found.source.sides] == [16, 16]
    vectors = torch.nn.functional.normalize(reader.embed([given, page(99, 61)]), dim=-1)
    assert abs(found.score - float(vectors[0] @ vectors[1])) < 1e-5


@pytest.mark.parametrize("wrong", [None, 3, {}, torch.tensor(0.0), np.float32(0), [torch.tensor(0.0)]], ids=repr)
def test_what_is_no_page_gets_a_sentence(wrong: object, retriever):
    with pytest.raises(ImageError):
        retriever[1].other.embed(wrong)


def test_what_needs_one_vector_says_where_tokens_are_compared(retriever, tmp_path: Path):
    _, ours, _ = retriever
    for question in (
        lambda: ours.similarities([page(30, 30)], ["w1"]),
        lambda: encoder.explain_score(ours, page(30, 30), "w1"),
    ):
        with pytest.raises(EncoderError, match="page_interaction"):
            question()
    _, plain, _ = loaded("ModernVBert", tmp_path)
    with pytest.raises(EncoderError, match="ColModernVBERT"):
        page_interaction(plain, "w1", page(30, 30))
    assert plain.similarities([page(30, 30), page(90, 40)], ["w1", "w2 w3"]).shape == (2, 2)
    with pytest.raises(ImageError, match="tokens"):
        ours.image.sentence(9, 9)


@pytest.mark.parametrize(
    ("kind", "head"), [("ModernVBert", ""), ("ModernVBert", "ForMaskedLM"), ("ColModernVBert", "")]
)
def test_a_saved_model_opens_everywhere_with_equal_maps(kind: str, head: str, tmp_path: Path):
    import transformers

    theirs = pages.model_of(kind, head)
    ours = encoder.load(pages.write(theirs, tmp_path / "model"), device="cpu")
    folder = encoder.save(ours, tmp_path / "saved")
    again = encoder.load(folder, device="cpu")
    given, query = page(99, 61), QUERIES[0]
    one, other = (model.image.trace(given) for model in (ours, again))
    assert torch.equal(one.attentions, other.attentions)
    assert torch.equal(ours.text.trace(query).output, again.text.trace(query).output)
    assert {*ours.origin} <= {file.name for file in folder.iterdir()}
    auto = transformers.AutoModelForMaskedLM if head else getattr(transformers, type(theirs).__name__)
    reopened, said = auto.from_pretrained(folder, attn_implementation="eager", output_loading_info=True)
    assert not said["missing_keys"]
    assert not said["unexpected_keys"]
    inputs = transformers.ColModernVBertProcessor.from_pretrained(folder).process_images(given)
    with torch.no_grad():
        before, after = (model.eval()(**inputs)[0] for model in (theirs, reopened))
    torch.testing.assert_close(after, before, atol=1e-6, rtol=0)
    if kind == "ColModernVBert":
        assert np.array_equal(*(page_interaction(model, query, given).added for model in (ours, again)))
        from sentence_transformers import MultiVectorEncoder

        found = [
            MultiVectorEncoder(str(one), device="cpu").encode_query([query])[0] for one in (tmp_path / "model", folder)
        ]
        np.testing.assert_allclose(*(np.asarray(vectors) for vectors in found), atol=1e-6)
    with pytest.raises(EncoderError, match="whole model"):
        encoder.save(ours.image, tmp_path / "page")
    with pytest.raises(EncoderError, match="huggingface"):
        encoder.save(ours, tmp_path / "own", layout="encoderscope")


def test_a_folder_of_sentence_transformers(retriever, tmp_path: Path):
    """Its texts there, whose processor adds no end to a query, and transformers' pages: version 6.2 encodes none."""
    from sentence_transformers import MultiVectorEncoder

    folder = pages.write(retriever[0], tmp_path / "model")
    made = MultiVectorEncoder(str(folder), device="cpu")
    made.save_pretrained(str(tmp_path / "saved"))
    path = tmp_path / "saved" / "sentence_bert_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "query_length": 6, "document_length": 9}))
    made = MultiVectorEncoder(str(path.parent), device="cpu")
    ours = encoder.load(path.parent, device="cpu")
    with pytest.raises(TypeError):
        made.encode_document([page(20, 20)])
    for model in (ours, encoder.load(encoder.save(ours, tmp_path / "again"), device="cpu"), encoder.wrap(made)):
        assert any("modules.json" in note for note in model.text.notes)
        for role, encode in (("query", made.encode_query), ("document", made.encode_document)):
            for text in QUERIES:
                vectors = late.token_vectors(model.text, text, role)[1]
                torch.testing.assert_close(vectors, torch.as_tensor(encode([text])[0]), atol=1e-5, rtol=0)
        trace = model.image.trace(page(40, 90))
        assert torch.equal(trace.output, retriever[1].image.trace(page(40, 90)).output)
    (path.parent / "modules.json").unlink()  # what the note says
    query = late.token_vectors(encoder.load(path.parent, device="cpu").text, QUERIES[0], "query")
    assert query[0] == late.token_vectors(retriever[1].text, QUERIES[0], "query")[0]


@pytest.mark.parametrize(
    ("file", "change", "named", "remedy"),
    [
        (
            "sentence_bert_config.json",
            {"query_expansion": {"strategy": "fixed", "length": 12, "token": "[MASK]"}},
            "remove query_expansion",
            {"query_expansion": None},
        ),
        (
            "sentence_bert_config.json",
            {"modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}},
            "remove it",
            {"modality_config": None},
        ),
    ],
)
def test_a_folder_of_sentence_transformers_that_is_wrong(
    file: str, change: dict[str, Any], named: str, remedy: dict[str, Any], retriever, tmp_path: Path
):
    from sentence_transformers import MultiVectorEncoder

    folder = pages.write(retriever[0], tmp_path / "model")
    MultiVectorEncoder(str(folder), device="cpu").save_pretrained(str(tmp_path / "saved"))
    path = tmp_path / "saved" / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(LoadError, match=named):
        encoder.load(path.parent, device="cpu")
    path.write_text(json.dumps(json.loads(path.read_text()) | remedy))
    assert encoder.load(path.parent, device="cpu").compares == "MaxSim"


def test_modules_after_a_model_without_a_map_of_its_own_are_refused(tmp_path: Path):
    """They would make other vectors than its mean."""
    folder = pages.write(pages.model_of("ModernVBert"), tmp_path / "model")
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 32, "pooling_mode": "cls"}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    steps = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (path, kind) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling")))
    ]
    modules = folder / "modules.json"
    modules.write_text(json.dumps(steps))
    with pytest.raises(LoadError, match=r"remove modules\.json"):
        encoder.load(folder, device="cpu")
    modules.unlink()
    assert encoder.load(folder, device="cpu").text.pooling == "mean"


WRONG = [
    ("config.json", lambda fields: fields["vlm_config"].update(pixel_shuffle_factor=4), "pixel_shuffle_factor"),
    ("config.json", lambda fields: fields["vlm_config"].update(image_token_id=5), "image_token_id"),
    ("config.json", lambda fields: fields.update(vlm_config=3), "vlm_config"),
    ("config.json", lambda fields: fields.update(embedding_dim=18), "embedding_proj_layer"),
    ("processor_config.json", lambda fields: fields.update(image_seq_len=4), "image_seq_len"),
    ("processor_config.json", lambda fields: fields.update(visual_prompt_prefix="w1"), "visual_prompt_prefix"),
    (
        "processor_config.json",
        lambda fields: fields["image_processor"].update(max_image_size={"longest_edge": 30}),
        "max_image_size",
    ),
    ("processor_config.json", lambda fields: fields["image_processor"].update(size=3), "size"),
]


@pytest.mark.parametrize(("file", "change", "named"), WRONG)
def test_what_does_not_fit_is_named(file: str, change: Any, named: str, tmp_path: Path):
    folder = pages.write(pages.model_of("ColModernVBert"), tmp_path / "model")
    fields = json.loads((folder / file).read_text())
    change(fields)
    (folder / file).write_text(json.dumps(fields))
    with pytest.raises(LoadError, match=named):
        encoder.load(folder, device="cpu")


@torch.no_grad()
def test_a_masked_word_of_modernvbert(tmp_path: Path):
    theirs = pages.model_of("ModernVBert", "ForMaskedLM")
    ours = encoder.load(pages.write(theirs, tmp_path / "model"), device="cpu")
    trace = ours.text.trace("w1 [MASK] w3")
    expected = theirs(input_ids=torch.tensor([trace.ids])).logits[0]
    head = ours.text.mlm_head
    assert head is not None
    close(head(trace.output, ours.text.encoder.embedding.tokens.weight), expected, "logits", rtol=1e-5)
