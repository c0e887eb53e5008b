"""An atlas: what its tables say, and a sentence for a broken, foreign or newer one. The command that builds it."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

from encoder import EncoderError, corpus
from encoder.cli import main
from encoder.cli.progress import line
from encoder.corpus.atlas_files import VERSION
from encoder.corpus.watcher import FARTHEST
from encoder.errors import AtlasError
from encoder.inputs.read import Row
from encoder.measure import head_types
from encoder.measure.head_divergence import head_similarity
from tests.corpus.conftest import SETTINGS, built, contents


def test_an_interval_holds_the_mean(atlas):
    for name in ("entropy", "previous", "sep"):
        assert (atlas.array(name, "low") <= atlas.array(name)).all()
        assert (atlas.array(name) <= atlas.array(name, "high")).all()
        wide = atlas.array(name, "high") - atlas.array(name, "low")
        assert np.median(wide / atlas.array(name, "se")) == pytest.approx(3.92, rel=0.2)


def test_histograms_count_every_measured_text(atlas, measured):
    for measure in ("entropy", "distance", "previous", "same_token"):
        found = atlas.histogram(measure, 1, 2)
        assert found["count"].sum() == atlas.array(measure, "n")[1, 2]
        values = [one[measure][1, 2] for one in measured]
        bar = found.loc[found["count"].idxmax()]
        inside = sum(bar["lower"] - 1e-6 <= value < bar["upper"] + 1e-6 for value in values)
        assert abs(inside - bar["count"]) <= 1  # a value on an edge may round to either side


def test_types_are_those_of_the_means_and_their_shares_those_of_single_texts(atlas, measured):
    types = atlas.types()
    found = {(row.layer, row.head, row.type) for row in types[types["by_mean"]].itertuples()}
    wanted = {
        (layer, head, finding.head_type.name)
        for layer, heads in enumerate(atlas.head_types())
        for head, findings in enumerate(heads)
        for finding in findings
    }
    assert found == wanted
    single = [head_types.table(one) for one in measured]
    counted = pd.concat(single).groupby(["head_type", "layer", "head"]).size() / len(measured)
    for row in types.itertuples():
        assert row.share == pytest.approx(counted.get((row.type, row.layer, row.head), 0.0), abs=1e-9)
        assert row.low <= row.share <= row.high
    certain = types[(types["support"] == 1)]
    assert certain["by_mean"].all()


def test_the_profile_has_all_attention(atlas, model, texts):
    profile = atlas.profile(2, 4)
    assert profile["share"].sum() == pytest.approx(1.0, abs=1e-6)
    assert profile["offset"].tolist() == list(range(-FARTHEST - 1, FARTHEST + 2))
    lengths = [len(model.tokenize(text)) for text in texts]
    row = profile.set_index("offset").loc[-1]
    assert row["pairs"] == sum(length - 1 for length in lengths)
    weight = sum(model.trace(text).attention(2, 4).diagonal(-1).sum().item() for text in texts)
    assert row["mean"] == pytest.approx(weight / row["pairs"], abs=1e-6)


def test_similarity_is_the_mean_over_the_sample(atlas, model, texts):
    chosen = [index for index in range(len(texts)) if (index + 1) * 9 // 70 > index * 9 // 70]
    mean = np.mean([head_similarity(model.trace(texts[index])).divergence for index in chosen], axis=0)
    assert atlas.divergence == pytest.approx(mean, abs=2e-6)
    (layer, head, smallest), *_ = atlas.most_similar(1, 1, 3)
    others = np.delete(mean[6], 6)
    assert smallest == pytest.approx(others.min(), abs=2e-6)
    assert (layer, head) != (1, 1)


def test_examples_are_the_strongest_texts(atlas, texts, measured):
    values = [one["next"][0, 3] for one in measured]
    found = atlas.examples(0, 3, "next")
    assert [example.value for example in found] == pytest.approx(sorted(values, reverse=True)[:3], abs=1e-6)
    assert found[0].sentence == texts[found[0].text] == texts[int(np.argmax(values))]


def test_tokens_and_vectors_belong_together(atlas, model, texts):
    seen = []
    for part in atlas.parts():
        tokens, vectors = atlas.tokens(part), atlas.vectors(part, 3)
        assert len(tokens) == len(vectors)
        text = int(tokens["text"].iloc[0])
        own = tokens["text"] == text
        trace = model.trace(texts[text])
        assert tuple(tokens.loc[own, "token"]) == trace.tokens
        assert vectors[own].astype(float) == pytest.approx(trace.output.numpy(), rel=2e-3, abs=2e-3)
        seen += sorted(set(tokens["text"]))
    assert len(seen) == SETTINGS.vector_texts
    assert atlas.behaviour(atlas.parts()[0]).shape[1:] == (3, 5, 5)


def test_rows_have_their_number_and_labels(atlas, texts):
    rows = atlas.rows([4, 69])
    assert rows[69] == Row(70, texts[69], ("one",))
    assert rows[4].labels == ("two",)
    with pytest.raises(AtlasError, match="no text 70"):
        atlas.rows([4, 70])


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda atlas: atlas.array("cosine"), "no measure"),
        (lambda atlas: atlas.array("entropy", "median"), "statistic"),
        (lambda atlas: atlas.by_label("stars", "entropy"), "no labels"),
        (lambda atlas: atlas.vectors("000000", 2), "no vectors of layer 2"),
        (lambda atlas: atlas.table("colours"), "has no"),
    ],
)
def test_what_an_atlas_does_not_have_is_said(atlas, ask, says):
    with pytest.raises(AtlasError, match=says):
        ask(atlas)


def test_a_folder_that_is_no_atlas_is_refused_in_a_sentence(atlas, tmp_path):
    def spoiled(change) -> Path:
        folder = tmp_path / "atlas"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(atlas.folder, folder)
        change(folder)
        return folder

    def edited(**values):
        def change(folder: Path) -> None:
            manifest = json.loads((folder / "manifest.json").read_text())
            (folder / "manifest.json").write_text(json.dumps(manifest | values))

        return change

    def as_pipe(folder: Path) -> None:
        (folder / "manifest.json").unlink()
        os.mkfifo(folder / "manifest.json")

    cases = {
        "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "not an atlas"),
        "a pipe": (as_pipe, "not an atlas"),
        "no JSON": (lambda folder: (folder / "manifest.json").write_text("{"), "damaged"),
        "a list": (lambda folder: (folder / "manifest.json").write_text("[]"), "not an atlas"),
        "another program's": (edited(format="other"), "not an atlas"),
        "newer": (edited(version=VERSION + 1), "update"),
        "no version": (edited(version="one"), "damaged"),
        "no model": (edited(model=3), "damaged"),
        "files elsewhere": (edited(files={"../x": {"bytes": 1, "sha256": ""}}), "outside"),
        "a missing file": (lambda folder: (folder / "heads.parquet").unlink(), "missing"),
        "a short file": (lambda folder: (folder / "types.parquet").write_bytes(b"PAR1"), "missing or damaged"),
    }
    for change, says in cases.values():
        folder = spoiled(change)
        with pytest.raises(AtlasError, match=says):
            corpus.open_atlas(folder)

    def flip(folder: Path) -> None:
        for name in ("heads.parquet", "vectors/000000.safetensors"):
            content = (folder / name).read_bytes()
            (folder / name).write_bytes(b"\xff" * 8 + content[8:-8] + b"\xff" * 8)

    other = corpus.open_atlas(spoiled(flip))  # the sizes are right
    for ask in (other.verify, lambda: other.array("entropy"), lambda: other.vectors("000000", 3)):
        with pytest.raises(AtlasError):
            ask()


def test_tables_that_do_not_fit_are_refused_in_a_sentence(atlas, tmp_path):
    def of(name: str, change) -> corpus.Atlas:
        folder = tmp_path / "atlas"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(atlas.folder, folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        if name == "manifest":
            change(manifest)
        elif name.endswith(".safetensors"):
            save_file({key: change(one) for key, one in load_file(folder / name).items()}, folder / name)
        else:
            change(pd.read_parquet(folder / name)).to_parquet(folder / name)
        for file, about in manifest["files"].items():
            about["bytes"] = (folder / file).stat().st_size
        (folder / "manifest.json").write_text(json.dumps(manifest))
        return corpus.open_atlas(folder)

    def search(other: corpus.Atlas) -> None:
        corpus.load_tokens(other, 3)

    cases = [
        ("types.parquet", lambda table: table.drop(columns="share"), corpus.Atlas.types),
        ("heads.parquet", lambda table: table.astype(str), lambda other: other.array("entropy")),
        ("similarity.parquet", lambda table: table[:9], lambda other: other.most_similar(1, 1)),
        ("texts.parquet", lambda table: table[:0], lambda other: other.examples(0, 3, "next")),
        ("problems.parquet", lambda table: pd.DataFrame({"q": [1]}), corpus.Atlas.problems),
        ("tokens/000000.parquet", lambda table: table.drop(columns="special"), search),
        ("vectors/000000.safetensors", lambda tensor: tensor[:5], search),
        ("vectors/000000.safetensors", lambda tensor: tensor[:, :5].copy(), search),
        ("manifest", lambda manifest: manifest["settings"].update(block_texts=0), None),
        ("manifest", lambda manifest: manifest.update(measures=["cosine"]), None),
        ("manifest", lambda manifest: manifest["model"].update(n_heads=4), lambda other: other.array("entropy")),
    ]
    for name, change, ask in cases:
        with pytest.raises(AtlasError, match="damaged"):
            ask(of(name, change))


def test_a_label_may_be_called_text(model, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("said,text,row\nthe cat sat,a,x\nthe dog,b,y\n", encoding="utf-8")
    atlas = built(model, corpus.Source(str(path), "said", ("text", "row")), tmp_path / "atlas")
    assert atlas.texts([0, 1]) == {0: "the cat sat", 1: "the dog"}
    assert atlas.rows([1])[1] == Row(3, "the dog", ("b", "y"))


def test_the_command_builds_shows_and_refuses(tmp_path, capsys):
    texts = tmp_path / "texts.csv"
    texts.write_text("text,kind\nthe cat sat,a\n,a\nthe dog,b\nbad\n", encoding="utf-8")
    build = ["corpus", "build", "twin-pre", "--texts", str(texts), "--device", "cpu", "--label", "kind"]
    assert main.main([*build, "--out", str(tmp_path / "atlas"), "--vectors", "0,2"]) == 0
    told = capsys.readouterr()
    assert "2 texts" in told.out
    assert "row 5" in told.err
    atlas = corpus.open_atlas(tmp_path / "atlas")
    assert atlas.labels == {"kind": ("a", "b")}
    assert atlas.vector_layers == (0, 2)
    assert main.main(["corpus", "show", str(tmp_path / "atlas")]) == 0
    assert re.search(r"previous +\d +\d ", capsys.readouterr().out)
    for wrong in ([*build, "--out", str(tmp_path / "atlas")], ["corpus", "show", str(tmp_path)]):
        assert main.main(wrong) == 1
    assert main.main([*build[:3], "--texts", str(tmp_path / "no.txt"), "--out", str(tmp_path / "other")]) == 1
    assert len(contents(tmp_path)) == 1 + len(contents(tmp_path / "atlas"))


def test_progress_has_a_rate_and_the_time_left():
    assert line(300, 1_100, 2.0, before=100) == "300 of 1,100 texts, 100 texts/s, 0:08 left"
    assert line(100, 1_100, 2.0, before=100) == "100 of 1,100 texts"
    assert "2:46:40 left" in line(1, 10_001, 1.0)
    assert line(0.25, 1, 2.0) == " 25%, 0:06 left"


def test_an_atlas_error_is_an_encoder_error():
    assert issubclass(AtlasError, EncoderError)
