"""Classification heads against transformers, on tiny random checkpoints; and heads that cannot be read."""

from __future__ import annotations

import json
import math
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file, save_file

import encoder
from encoder import EncoderError, classify
from encoder.model.classifier import Classifier, ClassifierConfig
from tests.load.reference import FAMILIES, inputs_of, sentence

LABELS = ("no", "perhaps", "yes")
NAMES = {"id2label": dict(enumerate(LABELS)), "label2id": {label: n for n, label in enumerate(LABELS)}}


@torch.no_grad()
def logits_of(theirs: Any, ours: Any, text: str, family: str) -> torch.Tensor:
    return theirs(**inputs_of(ours, [(text, None)], family)).logits[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_classes_of_a_text(family: str, checkpoint: Callable):
    pair = checkpoint(family, "ForSequenceClassification", n_layers=1, **NAMES)
    assert not pair.ours.notes
    for n_words in (1, 9, 40):
        text = sentence(n_words, seed=n_words)
        theirs = logits_of(pair.theirs, pair.ours, text, family)
        found = classify.predict(pair.ours, pair.ours.trace(text))
        torch.testing.assert_close(torch.tensor(found.logits), theirs, atol=1e-5, rtol=0)
        torch.testing.assert_close(torch.tensor(found.probabilities), theirs.softmax(-1), atol=1e-5, rtol=0)
        assert found.labels == LABELS
        assert found.best == LABELS[int(theirs.argmax())]
        assert found.of("yes") == found.probabilities[2]


@pytest.mark.parametrize("family", FAMILIES)
def test_tags_of_tokens(family: str, checkpoint: Callable):
    pair = checkpoint(family, "ForTokenClassification", n_layers=1, **NAMES)
    assert not pair.ours.notes
    text = sentence(17, seed=3)
    theirs = logits_of(pair.theirs, pair.ours, text, family).softmax(-1)
    found = classify.tags(pair.ours, pair.ours.trace(text))
    torch.testing.assert_close(torch.tensor([tag.probability for tag in found]), theirs.amax(-1), atol=1e-5, rtol=0)
    assert [tag.label for tag in found] == [LABELS[place] for place in theirs.argmax(-1)]
    with pytest.raises(EncoderError, match="tags tokens"):
        classify.predict(pair.ours, pair.ours.trace(text))


@pytest.mark.parametrize("family", FAMILIES)
def test_entities_of_a_pair_stand_in_their_own_text(family: str, checkpoint: Callable):
    pair = checkpoint(family, "ForTokenClassification", n_layers=1, **NAMES)
    trace = pair.ours.trace(sentence(2, seed=1), sentence(3, seed=2))
    found = classify.entities(pair.ours, trace)
    assert trace.source.pair is not None
    words = [trace.source.text.split(), trace.source.pair.split()]
    said = [(trace.source.text, trace.source.pair)[one.side][one.start : one.end].strip() for one in found]
    assert said == words[0] + words[1]
    assert [one.side for one in found] == [0, 0, 1, 1, 1]


def test_padding_does_not_change_a_class(checkpoint: Callable):
    for family, more in (("bert", {}), ("modernbert", {"classifier_pooling": "mean"})):
        pair = checkpoint(family, "ForSequenceClassification", n_layers=1, **NAMES, **more)
        text = sentence(6)
        alone = classify.predict(pair.ours, pair.ours.trace(text))
        assert alone.logits == pytest.approx(logits_of(pair.theirs, pair.ours, text, family).tolist(), abs=1e-5)
        padded = classify.predict(pair.ours, pair.ours.trace(text, pad_to=15))
        assert padded.logits == pytest.approx(alone.logits, abs=1e-5)


def test_what_makes_probabilities_of_logits(checkpoint: Callable):
    several = checkpoint(
        "bert", "ForSequenceClassification", n_layers=1, problem_type="multi_label_classification", **NAMES
    ).ours
    found = classify.predict(several, several.trace("w9 w10"))
    assert found.probabilities == pytest.approx(torch.tensor(found.logits).sigmoid().tolist(), abs=1e-6)
    one = checkpoint("roberta", "ForSequenceClassification", n_layers=1, num_labels=1).ours
    assert one.classifier.config.scale == "sigmoid"
    score = checkpoint("roberta", "ForSequenceClassification", n_layers=1, num_labels=1, problem_type="regression").ours
    assert classify.predict(score, score.trace("w9")).probabilities == classify.predict(score, score.trace("w9")).logits


def changed(folder: Path, target: Path, *, weights: Callable | None = None, **fields: Any) -> Path:
    """A copy of a checkpoint with other weights, or other fields in config.json; None removes a field."""
    shutil.copytree(folder, target)
    config = json.loads((target / "config.json").read_text()) | fields
    kept = {name: value for name, value in config.items() if value is not None}
    (target / "config.json").write_text(json.dumps(kept))
    if weights is not None:
        save_file(weights(load_file(folder / "model.safetensors")), target / "model.safetensors")
    return target


def without(name: str) -> Callable:
    return lambda weights: {key: value for key, value in weights.items() if key != name}


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no head": ({"weights": without("classifier.weight")}, "lacks the weight classifier.weight"),
    "half a head": ({"weights": without("classifier.bias")}, "lacks the weight classifier.bias"),
    "no pooler": (
        {"weights": lambda found: {key: value for key, value in found.items() if "pooler" not in key}}, "pooler",
    ),
    "too few labels": ({"id2label": {"0": "a", "1": "b"}}, "classifier.weight"),
    "a gap": ({"id2label": {"0": "a", "2": "b", "3": "c"}}, "id2label"),
    "no names": ({"id2label": []}, "id2label"),
    "another problem": ({"problem_type": "guessing"}, "problem_type"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_head_is_a_sentence_and_the_encoder_opens(name: str, checkpoint: Callable, tmp_path: Path):
    pair = checkpoint("bert", "ForSequenceClassification", n_layers=1, **NAMES)
    change, match = BROKEN[name]
    ours = encoder.load(changed(pair.folder, tmp_path / "broken", **change), device="cpu")
    assert ours.classifier is None
    assert any(match in note for note in ours.notes)
    whole = pair.ours.trace("w9 w10")
    torch.testing.assert_close(ours.trace("w9 w10").output, whole.output)
    with pytest.raises(EncoderError, match="no classification head"):
        classify.predict(ours, whole)


@pytest.mark.parametrize(
    ("family", "head"), [("bert", "ForSequenceClassification"), ("mpnet", "ForTokenClassification")]
)
def test_without_a_word_in_the_config_the_weights_decide(family: str, head: str, checkpoint: Callable, tmp_path: Path):
    pair = checkpoint(family, head, n_layers=1, **NAMES)
    ours = encoder.load(changed(pair.folder, tmp_path / "silent", architectures=None), device="cpu")
    assert ours.classifier.config == pair.ours.classifier.config


def test_saved_with_its_model_and_alone(checkpoint: Callable, tmp_path: Path):
    pair = checkpoint("electra", "ForSequenceClassification", n_layers=1, **NAMES)
    trace = pair.ours.trace("w9 w10 w11")
    expected = classify.predict(pair.ours, trace)
    again = encoder.load(encoder.save(pair.ours, tmp_path / "saved"), device="cpu")
    assert classify.predict(again, again.trace("w9 w10 w11")) == expected
    file = classify.head_to_bytes(pair.ours.classifier, pair.ours.name)
    head, model = classify.head_from_bytes(file)
    assert model == pair.ours.name
    bare = checkpoint("electra", n_layers=1).ours
    assert classify.predict(classify.with_head(pair.ours, head), trace) == expected
    assert classify.with_head(bare, head).classifier is not None
    for damaged in (b"", file[:-3], b"\xff" * 40):
        with pytest.raises(EncoderError, match="readable"):
            classify.head_from_bytes(damaged)
    from safetensors.torch import save

    with pytest.raises(EncoderError, match="not a head"):
        classify.head_from_bytes(save({"out.weight": torch.zeros(2, 3)}))
    narrow = classify.class_heads.linear_head(
        torch.zeros(2, 3), torch.zeros(2), head.config.__class__("sequence", ("a", "b"))
    )
    with pytest.raises(EncoderError, match="vectors of 3"):
        classify.with_head(bare, narrow)


def test_entities_are_joined_words(monkeypatch: pytest.MonkeyPatch):
    minilm = encoder.load("minilm", device="cpu")
    text = "Marie Curie visited New York unbelievably often"
    trace = minilm.trace(text)
    labels = ["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "VERB", "O"]
    by_token = tuple(
        classify.TokenTag(place, labels[word] if word >= 0 else "B-PER", 1 - place / 100)
        for place, word in enumerate(trace.source.words)
    )
    monkeypatch.setattr(classify.predicted, "tags", lambda model, trace: by_token)
    found = classify.entities(minilm, trace)
    assert [(text[one.start : one.end], one.label) for one in found] == [
        ("Marie Curie", "PER"),
        ("New York", "LOC"),
        ("unbelievably", "VERB"),
    ]
    assert found[0].positions == tuple(place for place, word in enumerate(trace.source.words) if word in (0, 1))
    second = trace.source.words.index(1)
    assert found[0].probability == pytest.approx(1 - second / 100)


def test_the_outcome_is_the_class_of_the_edited_run(checkpoint: Callable):
    from encoder import causal
    from encoder.edits import AblateHead

    ours = checkpoint("bert", "ForSequenceClassification", n_layers=3, **NAMES).ours
    plain = ours.trace("w9 w10 w11 w12")
    edited = ours.trace("w9 w10 w11 w12", edits=(AblateHead(1, 2),))
    expected = [classify.predict(ours, one).of("yes") for one in (plain, edited)]
    assert causal.outcomes_of(ours, plain, [edited], causal.ClassProbability("yes")) == pytest.approx(
        expected, abs=1e-6
    )
    odds = causal.outcomes_of(ours, plain, [], causal.ClassProbability("yes", scale="log_odds"))[0]
    assert odds == pytest.approx(torch.logit(torch.tensor(expected[0])).item(), abs=1e-4)
    effects = causal.ablate_each_head(ours, plain, causal.ClassProbability("yes"))
    assert float(effects[1, 2]) == pytest.approx(expected[1] - expected[0], abs=1e-5)
    with pytest.raises(EncoderError, match="no class 'x'"):
        causal.outcomes_of(ours, plain, [], causal.ClassProbability("x"))
    with pytest.raises(EncoderError, match="classifies texts"):
        causal.outcomes_of(ours, plain, [], causal.ClassProbability("yes", position=1))
    tagger = checkpoint("bert", "ForTokenClassification", n_layers=1, **NAMES).ours
    trace = tagger.trace("w9 w10")
    tag = classify.tags(tagger, trace)[1]
    outcome = causal.ClassProbability(tag.label, position=1)
    assert causal.outcomes_of(tagger, trace, [], outcome) == [pytest.approx(tag.probability, abs=1e-6)]


OPTIONS = {"kind": "sequence", "labels": ["a", "b"]}
MAP = {"out.weight": torch.zeros(2, 3), "out.bias": torch.zeros(2)}


def head_file(weights: dict[str, torch.Tensor], **options: object) -> bytes:
    from safetensors.torch import save

    return save(weights, {"format": classify.class_heads.FORMAT, "head": json.dumps(OPTIONS | options)})


def test_a_head_with_a_dense_map_of_another_width_is_read():
    wide = Classifier(3, ClassifierConfig("sequence", ("a", "b"), dense=True, dense_width=5, norm=True))
    again, _ = classify.head_from_bytes(classify.head_to_bytes(wide))
    assert again.config == wide.config
    assert all(torch.equal(one, wide.state_dict()[name]) for name, one in again.state_dict().items())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm_eps": math.nan}, "norm_eps=nan"),
        ({"norm_eps": "a"}, "norm_eps='a'"),
        ({"layer": 10**9}, "layer=1000000000"),
        ({"layer": 0.5}, r"layer=0\.5"),
        ({"out_bias": "x"}, "out_bias='x'"),
        ({"dense": 1}, "dense=1"),
        ({"labels": ["a"]}, "out"),
        ({"norm": True}, "norm"),
        ({"n_summed": 7}, "layer_weights"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_head_file_with_options_that_do_not_fit(options: dict[str, object], message: str):
    assert classify.head_from_bytes(head_file(MAP))[0].config.labels == ("a", "b")
    with pytest.raises(EncoderError, match=rf"does not fit together .*{message}.*save it again"):
        classify.head_from_bytes(head_file(MAP, **options))


def test_a_small_head_file_takes_little_memory():
    """Its options may name maps of gigabytes: nothing is built before the sizes are compared."""
    width = 25_000
    weights = {"out.weight": torch.zeros(2, width), "out.bias": torch.zeros(2)}
    more = {"dense.weight": torch.zeros(1, width), "dense.bias": torch.zeros(1)}
    large = head_file(weights | more, dense=True, dense_width=1_000_000)
    square = head_file(weights | more, dense=True)
    before, used = resource.getrlimit(resource.RLIMIT_AS), psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000, before[1]))
    try:
        for file in (large, square):
            with pytest.raises(EncoderError, match=r"dense\.bias has the shape \(1,\)"):
                classify.head_from_bytes(file)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
