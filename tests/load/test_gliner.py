"""GLiNER: folders open, and every score equals what the package gliner computed (gliner_scores.json)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import encoder
from encoder import EncoderError, LoadError, TextEncoder, TextError, classify
from encoder.checkpoints.keys import keys
from encoder.cli import main
from encoder.inputs.label_prompt import LabelPrompt
from tests.load import gliner_folders
from tests.load.gliner_folders import CASES, LABELS, TEXTS

MEASURED = json.loads(gliner_folders.SCORES.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], TextEncoder]:
    made: dict[str, TextEncoder] = {}

    def make(kind: str) -> TextEncoder:
        if kind not in made:
            made[kind] = encoder.load(gliner_folders.write(tmp_path_factory.mktemp(kind), kind), device="cpu")
        return made[kind]

    return make


def scored(model: TextEncoder, text: str) -> tuple[encoder.Trace, classify.SpanScores]:
    trace = model.trace(classify.with_labels(model, LABELS, text))
    return trace, classify.span_scores(model, trace)


@pytest.mark.parametrize("kind", CASES)
def test_every_score_equals_that_of_gliner(kind: str, opened: Callable):
    model = opened(kind)
    for theirs in MEASURED[kind]:
        trace, found = scored(model, theirs["text"])
        assert list(trace.ids) == theirs["ids"]
        assert found.labels == LABELS
        assert [list(span) for span in found.spans] == theirs["spans"]
        expected = torch.tensor(theirs["logits"])
        assert torch.allclose(found.logits, expected, atol=1e-4, rtol=1e-5)
        assert torch.allclose(found.scores, expected.sigmoid(), atol=1e-5, rtol=0)
        for at, expected_entities in theirs["entities"].items():
            ours = [(one.start - found.start, one.end - found.start, one.label) for one in found.entities(float(at))]
            assert ours == [tuple(one[:3]) for one in expected_entities]
            scores = [one.probability for one in found.entities(float(at))]
            assert scores == pytest.approx([one[3] for one in expected_entities], abs=1e-5)
        assert len(theirs["entities"]["0.8"]) > 0


def test_entities_and_the_table(opened: Callable, tmp_path: Path):
    model = opened("deberta-v2")
    trace, found = scored(model, TEXTS[1])
    named = classify.entities(model, trace, threshold=0.3)
    assert named == found.entities(0.3)
    for one in named:
        assert "".join(trace.labels[place] for place in one.positions).strip("␣")[:1] == found.text[one.start]
    table = found.table()
    assert len(table) == len(found.spans)
    assert table["score"].is_monotonic_decreasing
    assert table["score"][0] == pytest.approx(float(found.scores.max()))
    assert (table[[f"score of {label}" for label in LABELS]].max(axis=1) == table["score"]).all()
    again = encoder.load(encoder.save(model, tmp_path / "again"), device="cpu")
    assert torch.equal(scored(again, TEXTS[1])[1].logits, found.logits)


def test_padding_and_a_text_without_words_change_nothing(opened: Callable):
    model = opened("bert")
    text = classify.with_labels(model, LABELS, TEXTS[0])
    alone, padded = model.trace(text), model.trace(text, pad_to=50)
    expected = classify.span_scores(model, alone).logits
    assert torch.allclose(classify.span_scores(model, padded).logits, expected, atol=1e-5)
    empty = classify.span_scores(model, model.trace(classify.with_labels(model, ["person"], "")))
    assert (empty.spans, empty.entities(), len(empty.table())) == ((), (), 0)


def test_the_words_of_a_text_and_its_labels():
    prompt = LabelPrompt()
    text = prompt.before(["date  of birth", "place"], "Zoë's co-op, 5 km.")
    assert text == "<<ENT>> date of birth <<ENT>> place <<SEP>> Zoë's co-op, 5 km."
    words = [text[start:end] for start, end in prompt.words(text)]
    assert words[:5] == ["<<ENT>>", "date of birth", "<<ENT>>", "place", "<<SEP>>"]
    assert words[5:] == ["Zoë", "'", "s", "co-op", ",", "5", "km", "."]
    assert prompt.labels(text) == ("date of birth", "place")
    assert prompt.before(["person"], text) == "<<ENT>> person <<SEP>> Zoë's co-op, 5 km."
    assert LabelPrompt(most_words=2).before(["a"], "b c. d") == "<<ENT>> a <<SEP>> b c"
    plain = "a <<SEP>> b"
    assert (prompt.labels(plain), len(prompt.words(plain))) == ((), 7)
    for labels, said in (
        ([], "person"),
        ("person", "list"),
        ([""], "name"),
        (["a", "a"], "twice"),
        (["<<ENT>>"], "name"),
    ):
        with pytest.raises(TextError, match=said):
            prompt.before(labels, "b")


def test_what_is_missing_is_said(opened: Callable, checkpoint: Callable):
    model, other = opened("deberta-v2"), checkpoint("bert").ours
    with pytest.raises(EncoderError, match="with_labels"):
        classify.span_scores(model, model.trace(TEXTS[0]))
    with pytest.raises(EncoderError, match="GLiNER"):
        classify.with_labels(other, LABELS, TEXTS[0])
    with pytest.raises(EncoderError, match="no token for"):
        scored(opened("bert"), "Ada \u200b lived")
    with pytest.raises(EncoderError, match="second sentence"):
        classify.span_scores(model, model.trace(classify.with_labels(model, LABELS, TEXTS[0]), TEXTS[1]))
    small = opened("bert")
    many = classify.with_labels(small, [f"person {number}" for number in range(60)], TEXTS[0])
    with pytest.raises(EncoderError, match="fewer"):
        classify.span_scores(small, small.trace(many))
    with pytest.raises(EncoderError, match="0 to 1"):
        scored(model, TEXTS[0])[1].entities(2.0)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = gliner_folders.write(tmp_path / "gliner", "modernbert")
    words = ["classify", str(folder), "--text", TEXTS[0], "--labels", ",".join(LABELS), "--threshold", "0.8", "--json"]
    assert main.main(words) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = sorted((row["start"], row["end"], row["label"]) for row in rows if row["entity"])
    assert [list(one) for one in found] == [one[:3] for one in MEASURED["modernbert"][0]["entities"]["0.8"]]
    assert main.main([*words[:3], f"{TEXTS[0]} " * 200, *words[4:]]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("cut: "), "spans after the cut are not scored"
    assert json.loads(said.out)["rows"]
    assert main.main(["classify", "minilm", "--text", "a", "--labels", "b"]) != 0
    assert "GLiNER" in capsys.readouterr().err


#: A value of each key of gliner_config.json that is refused, and what the sentence names in place of the key.
REFUSED: dict[str, tuple[Any, str]] = {
    "span_mode": ("token_level", ""), "labels_encoder": ("bert", ""), "labels_decoder": ("gpt2", ""),
    "relations_layer": ("dot", ""), "span_encoder_config": ({"model_type": "rnn"}, ""), "fuse_layers": (True, ""),
    "post_fusion_schema": ("l2l", ""), "subtoken_pooling": ("mean", ""), "words_splitter_type": ("spacy", ""),
    "precomputed_prompts_mode": (True, ""), "model_type": ("gliner_streaming_span", ""), "encoder_config": (None, ""),
    "class_token_index": (3, ""), "hidden_size": (14, "shape"), "max_width": (0, ""), "num_rnn_layers": (3, "lacks"),
    "ent_token": ("<<MARK>>", "class_token_index"), "sep_token": ("", "separator"), "max_len": (0, ""),
}  # fmt: skip
CHANGED = {"max_width": 1, "max_len": 3, "embed_ent_token": True, "sep_token": "|"}
UNCHANGED = {"vocab_size": 7, "model_name": "another", "max_types": 1, "dropout": 0.9}


def changed(folder: Path, key: str, value: Any) -> Path:
    """A folder whose gliner_config.json has another value."""
    path = gliner_folders.write(folder, "bert") / "gliner_config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {key: value}), encoding="utf-8")
    return folder


@pytest.mark.parametrize(("key", "value"), REFUSED.items(), ids=REFUSED)
def test_another_kind_of_gliner_is_refused_by_its_key(key: str, value: tuple[Any, str], tmp_path: Path):
    with pytest.raises(LoadError, match=value[1] or key):
        encoder.load(changed(tmp_path / "other", key, value[0]), device="cpu")


def test_every_key_does_what_the_table_says(opened: Callable, tmp_path: Path):
    rows = {key.name: key.decision for key in keys() if key.file == "gliner_config.json"}
    assert set(rows) == REFUSED.keys() | CHANGED.keys() | UNCHANGED.keys()
    assert {name for name, decision in rows.items() if decision == "without effect"} == UNCHANGED.keys()
    assert {name for name, decision in rows.items() if decision == "followed"} - REFUSED.keys() <= CHANGED.keys()
    before = scored(opened("bert"), TEXTS[0])[1].logits
    for key, value in {**CHANGED, **UNCHANGED}.items():
        found = scored(encoder.load(changed(tmp_path / key, key, value), device="cpu"), TEXTS[0])[1].logits
        assert torch.equal(found, before) == (key in UNCHANGED), key


def test_a_pickle_or_a_folder_without_a_tokenizer_is_refused(tmp_path: Path):
    folder = gliner_folders.write(tmp_path / "one", "bert")
    (folder / "tokenizer_config.json").unlink()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(LoadError, match="safe_serialization"):
        encoder.load(folder, device="cpu")
    folder = gliner_folders.write(tmp_path / "two", "bert")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(LoadError, match="pickle"):
        encoder.load(folder, device="cpu")
