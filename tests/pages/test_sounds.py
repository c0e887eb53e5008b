"""Pages with a sound in place of a sentence: the input, the gate of other pages, sound attention."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import encoder
from encoder import EncoderError, Sound
from encoder.edits import Replace
from encoder.figures.numbers import in_words
from encoder.inputs import sound_files, spoken_digits
from encoder.inputs.sound import MOST_BYTES
from encoder.measure import sounds as measured
from encoder.run import Media, ModelSpec, Run
from encoder.trace.capture import ON_REQUEST
from pages.base.access import visitors
from pages.core.inputs import sound_input
from pages.core.stores import cache, model_store
from tests.conftest import ROOT
from tests.load.reference import write
from tests.load.sounds import model_of, tone
from tests.pages.apps import assert_well, exported, sentences, visit, words, written
from tests.pages.test_images import AT_OUTPUT

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

PAGES = sorted(path.parent.name for path in ROOT.glob("pages/*/page.py"))
#: The pages that show the numbers of a sound; the others say what they need.
SHOWN = (
    "feed_forward",
    "heads",
    "interventions",
    "model",
    "norms",
    "positions",
)


@pytest.fixture(scope="module")
def model() -> encoder.AudioEncoder:
    return encoder.load("spoken-digits", device="cpu")


def test_every_page_opens_with_a_model_of_sound():
    for page in PAGES:
        app = visit(page, model="spoken-digits", closed=True, **AT_OUTPUT)
        assert not app.exception, page
        assert not app.error, (page, [box.value for box in app.error])


@pytest.mark.parametrize("family", ["wav2vec2-stable", "whisper", "parakeet"])
def test_pages_of_a_model_from_a_folder(family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    folder = write(model_of(family, "Model", 2), tmp_path / "tiny", None)
    for page in SHOWN:
        part = {"positions_part": "encoding"} if page == "positions" else {}
        app = visit(page, model="other", source=str(folder), sound="two", i="4", closed=True, **part)
        assert not app.exception, page
        assert not app.error, (page, [box.value for box in app.error])
        if page == "positions" and family.startswith("wav2vec2"):
            assert "Convolutional: " in written(app)
        if page == "heads":
            assert "0.0" in words(app)


def test_the_page_says_what_the_model_computes(model: encoder.AudioEncoder):
    app = visit("heads", model="spoken-digits", sound="four", layer="1", head="2", i="7")
    assert_well(app)
    sound = spoken_digits.examples()["four"].sound
    trace = model.trace(sound)
    over = measured.over_time(trace.attention(1, 2)[7], trace.layout)
    first = measured.pieces(over)[0]
    assert trace.labels[7] in written(app)
    assert f"**{in_words(first.share)}**" in written(app)
    assert f"Special tokens: {in_words(over.special)}" in written(app)
    found = model.probabilities(trace)
    best = max(found, key=found.__getitem__)
    assert f"**{best} ({found[best]:.1%})**" in words(app)
    names: dict = {}
    exec(exported(app), names)
    np.testing.assert_allclose(names["weights"][1, 2], over.columns, atol=1e-5)


def test_another_example_is_another_sound():
    app = visit("heads", model="spoken-digits", sound="one", closed=True)
    app.selectbox(key="sound-example:one").set_value("eight").run()
    assert app.query_params["sound"] in ("eight", ["eight"])
    assert_well(app)


@pytest.mark.parametrize("name", ["<script>", "own-0123", "../../etc/passwd"])
def test_a_link_with_a_sound_that_does_not_exist(name: str):
    app = visit("heads", model="spoken-digits", sound=name, closed=True)
    assert not app.exception
    assert not app.error
    assert "link" in sentences(app)


def uploaded(app: AppTest, content: bytes, name: str = "seven.wav") -> AppTest:
    app.segmented_control(key="view:sound_from").set_value("file").run()
    return app.file_uploader(key="sound-file").set_value((name, content, "audio/wav")).run()


def test_an_own_sound_stays_in_the_session():
    own = sound_files.wav_bytes(Sound(np.concatenate((np.zeros(16_000), tone(0.8).samples, np.zeros(24_000))), 16_000))
    app = uploaded(visit("heads", model="spoken-digits", closed=True), own)
    assert_well(app)
    (name,) = [found if isinstance(found, str) else found[0] for found in [app.query_params["sound"]]]
    assert name.startswith(sound_input.SOUNDS.own)
    assert "3.30 s" in words(app) or any("3.30 s" in caption.value for caption in app.caption)
    elsewhere = visit("heads", model="spoken-digits", sound=name, closed=True)
    assert "link" in sentences(elsewhere)


def test_what_all_sessions_share_reads_no_session():
    """A run of an own sound may be made again for whoever asks; only its session is told that the sound is there."""
    app = uploaded(visit("heads", model="spoken-digits", closed=True), sound_files.wav_bytes(tone(0.7)))
    assert_well(app)
    (name,) = [found if isinstance(found, str) else found[0] for found in [app.query_params["sound"]]]
    run = Run(ModelSpec("spoken-digits"), Media("sound", name))
    elsewhere = cache.trace(run, request=(sorted(ON_REQUEST)[0],))
    assert torch.equal(elsewhere.output, cache.trace(run).output)
    itself = cache.trace(run.but(edits=(Replace(point="pattern", layer=0, source=name),)))
    torch.testing.assert_close(itself.output, elsewhere.output)
    with pytest.raises(EncoderError, match="not here"):
        sound_input.SOUNDS.find(model_store.model(run.model), name)


@pytest.mark.parametrize("content", [b"", b"no sound", bytes(MOST_BYTES + 1)], ids=len)
def test_a_broken_file_is_a_sentence(content: bytes):
    app = uploaded(visit("heads", model="spoken-digits", closed=True), content)
    assert not app.exception
    assert len(app.error) == 1
    assert json.dumps("seven.wav")[1:-1] in sentences(app)


def test_a_link_to_a_sound_that_is_not_here_says_so_once() -> None:
    app = visit("heads", model="spoken-digits", sound="own-0123")
    assert_well(app)
    assert len([line for one in app.warning for line in one.value.splitlines() if line.strip()]) == 1


@pytest.mark.parametrize("model", ["minilm", "spoken-digits"])
def test_a_weight_leads_to_its_arithmetic(model: str) -> None:
    app = visit("heads", view="map", model=model, i="2", j="1")
    assert_well(app)
    assert "How this weight is made" in {button.label for button in app.main.button}
