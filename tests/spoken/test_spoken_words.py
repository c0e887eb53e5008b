"""The bundled pair of spoken digits and captions: its card, voices that it never heard, both towers, saving."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import encoder
from encoder import EncoderError, JointEncoder
from encoder.checkpoints import bundled
from encoder.inputs import captions, spoken_digits
from recipes.spoken.voices import HELD_OUT_VOICES, TRAINING_VOICES
from recipes.spoken_words.captions import draw
from recipes.spoken_words.training import WordsRecipe, train
from recipes.zero_shot import held_out_vectors, of_held_out
from tests.pages.apps import assert_well, visit, words

SHOWN = "a voice says {number}"


@pytest.fixture(scope="module")
def pair() -> JointEncoder:
    found = encoder.load("spoken-words", device="cpu")
    assert isinstance(found, JointEncoder)
    return found


def test_the_card_has_the_figures_of_the_weights(pair: JointEncoder):
    card = (bundled.bundled_folder("spoken-words") / "MODEL_CARD.md").read_text(encoding="utf-8")
    shown = float(re.search(r"without noise \| \"a voice says three\" \| 80 \| ([0-9.]+)", card)[1])
    assert of_held_out(pair, SHOWN, held_out_vectors(pair)).accuracy == pytest.approx(shown, abs=0.013)  # one recording
    assert shown > 0.9
    assert f"{pair.n_parameters:,} parameters" in card


def test_no_voice_of_a_recording_was_in_training():
    heard = {one.voice.partition(",")[0] for one in spoken_digits.held_out()}
    assert heard == set(HELD_OUT_VOICES)
    assert not heard & set(TRAINING_VOICES)


def test_unseen_templates_are_in_no_training_caption():
    import random

    numbers = random.Random(0)
    seen = {draw(numbers, digit % 10).text for digit in range(3_000)}
    made = {captions.filled(one, word) for one in spoken_digits.UNSEEN_TEMPLATES for word in captions.WORDS}
    assert not seen & made


def test_both_towers_are_encoders(pair: JointEncoder):
    seven = spoken_digits.examples()["seven"].sound
    assert set(pair.towers) == {"text", "sound"}
    heard, read = pair.trace(seven), pair.trace("a voice says seven")
    assert (heard.kind, read.kind) == ("sound", "text")
    torch.testing.assert_close(pair.other_vector(heard), pair.embed_sounds([seven])[0], atol=1e-6, rtol=0.0)
    texts = [captions.filled(SHOWN, word) for word in captions.WORDS]
    assert int(pair.probabilities([seven], texts)[0].argmax()) == 7
    assert pair.projected_tokens(heard).shape == (heard.n_tokens, pair.sound.width_of_vectors)
    with pytest.raises(EncoderError, match="sound and text"):
        _ = pair.image
    with pytest.raises(EncoderError, match="image and text"):
        _ = encoder.load("digit-words", device="cpu").sound


def test_it_is_saved_and_loaded(pair: JointEncoder, tmp_path: Path):
    seven = spoken_digits.examples()["seven"].sound
    again = encoder.load(encoder.save(pair, tmp_path / "pair"), device="cpu")
    assert torch.equal(again.embed_sounds([seven]), pair.embed_sounds([seven]))
    one = encoder.load(
        encoder.save(encoder.load("spoken-digits", device="cpu"), tmp_path / "one", layout="encoderscope"), device="cpu"
    )
    assert one.probabilities(one.trace(seven)) == encoder.load("spoken-digits", device="cpu").probabilities(
        encoder.load("spoken-digits", device="cpu").trace(seven)
    )
    for change in ('"n_mels": 64', '"kind": "KaldiMel"', '"rate": 16000'):
        path = tmp_path / "one" / "config.json"
        before = path.read_text(encoding="utf-8")
        last = before.rindex(change)  # the preparation follows the encoder
        wrong = change.replace("64", "63").replace("Kaldi", "x").replace("16000", "1")
        path.write_text(before[:last] + wrong + before[last + len(change) :], encoding="utf-8")
        with pytest.raises(encoder.LoadError):
            encoder.load(tmp_path / "one")
        path.write_text(before, encoding="utf-8")


def test_the_recipe_learns_from_a_few_recordings():
    clips = torch.randn(10, 192, 64).half()
    made = train(WordsRecipe(epochs=2, batch=5, warmup_steps=1), clips, torch.arange(10))
    assert made.scale > 0
    assert made.text.config.vocab_size == len(made.text.tokenizer.backend.get_vocab())


def test_the_page_compares_captions_with_the_sound():
    app = visit("predict", model="spoken-words", sound="three")
    assert_well(app)
    assert "a voice says three" in words(app)
    other = visit("heads", model="spoken-words", tower="sound")
    assert_well(other)
