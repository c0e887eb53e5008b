"""Probes: the vectors that they read, their scores against scikit-learn's own, and a probe as a head."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from encoder import EncoderError, TextEncoder, classify, probe
from encoder.probe import Features, Task, trained_pooling
from encoder.probe.linear import classifier, folds_of
from encoder.trace import gradual


def test_vectors_are_those_of_the_trace(minilm: TextEncoder, task: Task, features: Features):
    for place in (0, 41):
        trace = minilm.trace(task.texts[place])
        start, end = task.spans[place]
        marked = next(n for n, (a, b) in enumerate(trace.source.offsets) if b > start and a < end and b > a)
        for layer in (0, 3, 6):
            stream = trace.before_layer(layer).numpy()
            for view, expected in (
                ("cls", stream[0]),
                ("mean", stream.mean(axis=0)),
                ("max", stream.max(axis=0)),
                ("token", stream[marked]),
            ):
                np.testing.assert_allclose(features.vectors[view][layer, place], expected, atol=1e-5)
    without_word = dataclasses.replace(task, spans=None, texts=task.texts[:2], labels=task.labels[:2])
    found = probe.extract(minilm, without_word).vectors["token"][6, 1]
    np.testing.assert_allclose(found, minilm.trace(task.texts[1]).output[1].numpy(), atol=1e-5)


def test_the_score_is_scikit_learns_cross_validation(task: Task, features: Features):
    from sklearn.model_selection import cross_val_predict

    curve = probe.accuracy_by_layer(features, task, "token")
    assert curve.accuracy.shape == curve.control.shape == (7,)
    splits = folds_of(task.labels)
    n_train = len(splits[0][0])
    expected = cross_val_predict(classifier(n_train), features.vectors["token"][2], task.labels, cv=splits)
    score = curve.scores[2]
    assert [score.classes[place] for place in score.predicted] == expected.tolist()
    assert score.accuracy == np.mean(expected == np.array(task.labels))
    assert score.interval[0] < score.accuracy < score.interval[1]
    assert curve.best == curve.accuracy.argmax()
    assert curve.accuracy.max() > 0.8
    with pytest.raises(EncoderError, match="view"):
        probe.accuracy_by_layer(features, task, "median")


def test_control_labels_depend_on_the_word_alone(task: Task):
    words, labels = task.words(), probe.control_labels(task)
    assert words[0] == task.texts[0][slice(*task.spans[0])].lower()
    assert all(len({label for word, label in zip(words, labels, strict=True) if word == one}) == 1 for one in words)
    assert labels == probe.control_labels(task)
    assert set(labels) <= set(task.classes)
    assert labels != task.labels


def test_the_interval_is_wilsons():
    # Statsmodels' proportion_confint(8, 10, method="wilson").
    assert probe.wilson(8, 10) == pytest.approx((0.490162, 0.943318), abs=1e-6)
    assert probe.wilson(10, 10)[1] == pytest.approx(1)


@pytest.mark.parametrize("layer", [2, 6])
def test_a_probe_is_a_head(layer: int, minilm: TextEncoder, task: Task, features: Features):
    from encoder.probe.linear import train

    targets = np.array([task.classes.index(label) for label in task.labels])
    for view in ("mean", "token"):
        vectors = features.vectors[view][layer]
        expected = train(vectors, targets).predict_proba(vectors)[5]
        head = probe.fitted_head(features, task, view, layer)
        again, _ = classify.head_from_bytes(classify.head_to_bytes(head, minilm.name))
        model = classify.with_head(minilm, again)
        trace = model.trace(task.texts[5])
        if view == "mean":
            assert classify.predict(model, trace).probabilities == pytest.approx(expected.tolist(), abs=1e-4)
        else:
            start = task.spans[5][0]
            place = next(n for n, (a, b) in enumerate(trace.source.offsets) if b > start >= a)
            tag = classify.tags(model, trace)[place]
            assert tag.label == task.classes[expected.argmax()]
            assert tag.probability == pytest.approx(expected.max(), abs=1e-4)


def test_attention_pooling_begins_as_the_mean_and_weighs_every_token(minilm: TextEncoder, task: Task):
    tokens = gradual.result(probe.iter_token_vectors(minilm, task, 6))
    assert tokens[3].shape == (minilm.trace(task.texts[3]).n_tokens, 384)
    vectors, mask = trained_pooling._padded(tokens[:5])
    zero = trained_pooling.start(384, 2)
    _, alpha = trained_pooling._forward(vectors, mask, *zero)
    torch.testing.assert_close(alpha, mask / mask.sum(dim=1, keepdim=True))
    found = gradual.result(probe.iter_attention_pooling(tokens, task))
    assert [len(row) for row in found.weights] == [len(one) for one in tokens]
    assert all(row.sum() == pytest.approx(1, abs=1e-4) for row in found.weights)
    assert found.score.accuracy > 0.5
    assert any(row.max() > 2 * row.min() for row in found.weights), "it has learned to prefer some tokens"


def test_bundled_tasks_have_the_labels_that_they_say():
    lexname = probe.bundled("lexname")
    assert len(lexname.classes) == 45
    assert set(probe.bundled("pos").classes) == {"noun", "verb", "adjective", "adverb"}
    word_pos = probe.bundled("word_pos")
    pairs = dict.fromkeys(zip(word_pos.words(), word_pos.labels, strict=True))
    several = {word for word, _ in pairs if sum(other == word for other, _ in pairs) > 1}
    assert len(several) > 50, "words that only the sentence tells apart"
    assert len(set(probe.examples())) == len(probe.examples()) > 1_000
    with pytest.raises(EncoderError, match="word_pos"):
        probe.bundled("nothing")


def test_a_file_of_two_or_three_columns():
    rows = [f"{n} good film,yes" for n in range(6)] + [f"{n} bad film,no" for n in range(6)]
    broken = [
        "only one column",
        "\udcff,yes",
        "0 good film,no",
        'bad,"quo"te',
        ",yes",
        "odd,once",
        "good, bad film,yes",
    ]
    data = "\n".join([*rows[:6], *broken, *rows[6:]]).encode("utf-8", "surrogateescape")
    read = probe.read_task(data, "mine.csv")
    assert read.task.texts == tuple(row.rsplit(",", 1)[0] for row in rows)
    assert read.task.classes == ("no", "yes")
    assert read.task.spans is None
    named = [problem.split(":")[0] for problem in read.problems]
    assert named[:6] == ["Line 7", "Line 8", "Line 9", "Line 10", "Line 11", "Line 13"]
    assert "Class “once”" in named
    marked = "\n".join(
        ["text\tlabel\tword", *(f"{n} light shines\tnoun\tlight\n{n} light shines\tverb\tshines" for n in range(5))]
    )
    read = probe.read_task(marked.encode(), "mine.TSV")
    assert [text[a:b] for text, (a, b) in zip(read.task.texts, read.task.spans, strict=True)][:2] == ["light", "shines"]
    for data, name, match in ((b"a,b", "x.txt", "CSV"), (b"a,b\nc,d", "x.csv", "two classes")):
        with pytest.raises(EncoderError, match=match):
            probe.read_task(data, name)
    many = "\n".join(f"text {n},{'ab'[n % 2]}" for n in range(30)).encode()
    read = probe.read_task(many, "x.csv", most=20)
    assert len(read.task) == 20
    assert read.problems[0].startswith("Line 21")


def test_long_texts_are_counted_and_a_word_behind_the_cut_is_named(minilm: TextEncoder):
    long = "word " * 400 + "shines"
    task = Task(("it shines", long), ("a", "b"), None, "mine")
    assert probe.extract(minilm, task).n_cut == 1
    spans = ((3, 9), (len(long) - 6, len(long)))
    with pytest.raises(EncoderError, match="shines"):
        probe.extract(minilm, dataclasses.replace(task, spans=spans))


def test_an_example_has_the_part_of_speech_of_its_synset_unless_there_are_two():
    from recipes.twins.wordnet_sample import Synset, examples

    one, other = "a dog ran home", "the dog ran off"
    found = [
        Synset("noun.animal", "noun", ("dog",), "an animal", (one, "too short", other)),
        Synset("verb.motion", "verb", ("run",), "to move", (other,)),
    ]
    assert {row.text: row.label for row in examples(found)} == {one: "noun", other: ""}
    assert len(probe.examples()) == len(probe.examples_pos())


def test_the_sample_is_made_of_wordnets_lines(tmp_path):
    from recipes.twins.wordnet_sample import synsets

    for name in ("data.noun", "data.verb", "data.adj", "data.adv"):
        (tmp_path / name).write_text("  1 a licence\n")
    line = (
        '02084071 05 n 02 dog 0 domestic_dog(a) 0 000 | a member of the genus Canis; "a dog barked"; "a dog `s life"\n'
    )
    (tmp_path / "data.noun").write_text("  1 a licence\n" + line)
    (found,) = synsets(tmp_path)
    assert (found.lexname, found.pos, found.words) == ("noun.animal", "noun", ("dog", "domestic_dog"))
    assert found.gloss == "a member of the genus Canis"
    assert found.examples == ("a dog barked", "a dog 's life")
