"""Head atlas under AppTest: the numbers are those of atlas and sentence, examples open, foreign atlases do not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import encoder
from encoder import corpus
from encoder.measure.head_measures import head_measures
from tests.pages.apps import assert_well, exported, labels, press, sentences, visit, written

TEXT = "The cat sat on the mat."


@pytest.fixture(scope="module")
def atlas() -> corpus.Atlas:
    return corpus.open_atlas(corpus.bundled_atlases()["minilm"])


def test_the_numbers_are_those_of_the_atlas_and_the_sentence(minilm: encoder.TextEncoder, atlas: corpus.Atlas) -> None:
    app = visit("heads", all_heads="corpus", text=TEXT, layer="1", head="9")
    assert_well(app)
    here = float(head_measures(minilm.trace(TEXT))["previous"][1, 9])
    mean = float(atlas.array("previous")[1, 9])
    assert f"**{here:.2f}** here, **{mean:.2f}**" in written(app)
    below = corpus.standing(atlas, "previous", 1, 9, here)
    assert f"{below:.0%} of the texts" in written(app)
    names: dict = {}
    exec(exported(app), names)
    np.testing.assert_array_equal(names["mean"], atlas.array("previous"))
    example = atlas.examples(1, 9, "previous")[0]
    press(app, f"**{example.value:.2f}**")
    assert app.query_params["text"] == example.sentence
    assert (app.query_params["layer"], app.query_params["head"]) == ("1", "9")
    assert_well(app)


@pytest.mark.parametrize("part", ["offsets", "spread", "labels", "similar"])
def test_every_part_of_the_card(atlas: corpus.Atlas, part: str) -> None:
    app = visit(
        "heads", all_heads="corpus", text=TEXT, layer="2", head="5", atlas_card=part, atlas_measure="same_token"
    )
    assert_well(app)
    if part == "labels":
        assert app.dataframe[0].value["Mean"].tolist() == atlas.key_tokens(2, 5)["mean"].tolist()
        rows = atlas.by_label(corpus.POS, "same_token").query("layer == 2 and head == 5")
        shown = app.dataframe[1].value
        assert dict(zip(shown[corpus.POS], shown["Mean"], strict=True)) == dict(
            zip(rows["value"], rows["mean"], strict=True)
        )
    if part == "similar":
        layer, head, divergence = atlas.most_similar(2, 5)[0]
        assert any(label.startswith(f"**L{layer} H{head}** · divergence {divergence:.3f}") for label in labels(app))
        press(app, f"**L{layer} H{head}**")
        assert (app.query_params["layer"], app.query_params["head"]) == (str(layer), str(head))


def test_an_atlas_of_another_model_has_no_number_of_this_sentence(atlas: corpus.Atlas) -> None:
    app = visit(
        "heads",
        all_heads="corpus",
        text=TEXT,
        model="twin-pre",
        atlas="minilm",
        atlas_head="5.11",
    )
    assert_well(app)
    assert f"**L5 H11**, on the previous token: **{atlas.array('previous')[5, 11]:.2f}**" in written(app)
    assert " here," not in written(app)
    example = atlas.examples(5, 11, "previous")[0]
    press(app, f"**{example.value:.2f}**")
    assert app.query_params.get("model", "minilm") == "minilm"
    app = visit("heads", all_heads="corpus", text=TEXT, model="scratch")
    assert_well(app)
    assert "No atlas" in sentences(app)


def test_a_server_offers_the_folders_of_its_operator_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, atlas: corpus.Atlas
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    shutil.copytree(atlas.folder, root / "mine")
    shutil.copytree(atlas.folder, outside)
    broken = root / "broken"
    shutil.copytree(atlas.folder, broken)
    (broken / "heads.parquet").write_bytes(b"no table")
    newer = json.loads((atlas.folder / "manifest.json").read_text()) | {"version": 99}
    (root / "newer").mkdir()
    (root / "newer" / "manifest.json").write_text(json.dumps(newer))
    (root / "link").symlink_to(outside)
    monkeypatch.setenv("ENCODERSCOPE_ATLASES_ROOT", str(root))
    app = visit("heads", all_heads="corpus", text=TEXT, atlas="server:mine")
    assert_well(app)
    assert "here" in written(app)
    for name in ("broken", "newer", "link"):
        app = visit("heads", all_heads="corpus", text=TEXT, atlas=f"server:{name}")
        assert not app.exception
        assert len(app.error) == 1
        assert str(tmp_path) not in sentences(app)
    for name, folder in (("folder", str(outside)), ("server:../outside", ""), ("built", "")):
        app = visit("heads", all_heads="corpus", text=TEXT, atlas=name, atlas_folder=folder)
        assert_well(app)
        assert "atlas" not in app.query_params
    monkeypatch.delenv("ENCODERSCOPE_ATLASES_ROOT")
    app = visit("heads", all_heads="corpus", text=TEXT, atlas="folder", atlas_folder=str(outside))
    assert_well(app)
    monkeypatch.setenv("ENCODERSCOPE_SHARED", "1")
    app = visit("heads", all_heads="corpus", text=TEXT, atlas="folder", atlas_folder=str(outside))
    assert "folder" not in app.selectbox[0].options
    assert_well(app)


@pytest.mark.parametrize("part", ["", "roles"])
def test_other_pages_have_the_corpus_number_of_the_head(
    part: str, minilm: encoder.TextEncoder, atlas: corpus.Atlas
) -> None:
    app = visit("heads", all_heads=part, text=TEXT, layer="0", head="2")
    assert_well(app)
    here = float(head_measures(minilm.trace(TEXT))["previous"][0, 2])
    assert f"**{here:.2f}** here, **{atlas.array('previous')[0, 2]:.2f}**" in written(app)
    app = visit(
        "heads", all_heads=part, text=TEXT, layer="0", head="2", norm="pre"
    )  # other numbers than those of the atlas
    assert_well(app)
    assert "sentences of WordNet" not in written(app)
