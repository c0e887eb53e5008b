"""Every family of sound against transformers: outputs, attention maps and preparation; and what a trace says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from encoder import AudioEncoder, EncoderError, LoadError, Sound, SoundError, causal, explain
from encoder.edits import AblateHead, DropPositions
from encoder.explain.cost import cost
from encoder.inputs.log_mel import KaldiMel, NemoMel, Samples, StackedMel, WhisperMel
from tests.load import sounds
from tests.load.test_parity import close, compare

pytestmark = pytest.mark.sample(3, "another checkpoint")

each_family = pytest.mark.parametrize("family", sounds.FAMILIES)


@each_family
@pytest.mark.parametrize("n_layers", [1, 3], ids=["1 layer", "3 layers"])
def test_outputs_and_every_attention_map(family: str, n_layers: int, checkpoint: Callable):
    pair = checkpoint(family, n_layers=n_layers)
    for seconds in (0.041, 0.2) if pair.ours.takes_any_length else (0.4,):
        sound = sounds.tone(seconds)
        trace = pair.ours.trace(sound)
        compare(trace, sounds.run(pair.theirs, pair.ours.prepare(sound)[None]))
        assert trace.kind == "sound"
        assert set(trace.ids) == {-1}


@each_family
def test_the_checkpoints_are_telling(family: str, checkpoint: Callable):
    """A test of the tests: attention far from uniform and from a spike, and tokens that differ."""
    trace = checkpoint(family).ours.trace(sounds.tone(0.2))
    largest = torch.stack([trace.layer_attention(layer) for layer in range(3)]).amax(-1)
    assert 3 / trace.n_tokens < float(largest.mean()) < 0.95
    assert float(trace.output.std(0).mean()) > 0.1


@pytest.mark.parametrize("family", ["wav2vec2", "wav2vec2-stable", "hubert"])
def test_norms_and_positions_follow_from_the_fields(family: str, checkpoint: Callable):
    config = checkpoint(family).ours.config
    stable = family.endswith("stable")
    assert config.norm_placement == ("pre" if stable else "post")
    assert (config.embedding_norm, config.final_norm) == (not stable, stable)
    assert config.position == "convolutional"


def test_positions_of_a_convolution_are_recorded_and_edited(checkpoint: Callable):
    model, sound = checkpoint("wav2vec2").ours, sounds.tone(0.2)
    trace = model.trace(sound)
    assert trace.position is not None
    assert trace.position.shape == (trace.n_tokens, 40)
    without = model.trace(sound, edits=[DropPositions()])
    assert float(without.position.abs().max()) == 0.0
    close(without.values["embedding_norm.input"], without.values["embedding.tokens"], "no positions")


# --- preparation -----------------------------------------------------------------------------------------------------


def their_features(name: str, sound: Sound, **settings: object) -> np.ndarray:
    import transformers

    extractor = getattr(transformers, f"{name}FeatureExtractor")(**settings)
    found = extractor(sound.samples, sampling_rate=sound.rate, return_tensors="np")
    features = np.asarray(found["input_values" if "input_values" in found else "input_features"][0])
    real = np.asarray(found["attention_mask"][0], dtype=bool) if name in ("SeamlessM4T", "Parakeet") else slice(None)
    return features[real]


@pytest.mark.filterwarnings("ignore:At least one mel filter")
@pytest.mark.parametrize("seconds", [0.03, 0.7, 2.0])
def test_features_of_ast(seconds: float):
    sound = sounds.tone(seconds)
    settings = {"num_mel_bins": 80, "max_length": 120, "mean": -5.0, "std": 3.0}
    ours = KaldiMel(n_mels=80, n_frames=120, mean=-5.0, std=3.0).features(sound.samples)
    np.testing.assert_allclose(ours, their_features("AST", sound, **settings), atol=1e-4)
    plain = KaldiMel(n_mels=80, n_frames=120, mean=None).features(sound.samples)
    np.testing.assert_allclose(
        plain, their_features("AST", sound, num_mel_bins=80, max_length=120, do_normalize=False), atol=1e-4
    )


@pytest.mark.parametrize("seconds", [0.03, 0.7, 3.0])
@pytest.mark.parametrize("n_mels", [80, 128])
def test_features_of_whisper(seconds: float, n_mels: int):
    sound = sounds.tone(seconds)
    theirs = their_features("Whisper", sound, feature_size=n_mels, chunk_length=2)
    np.testing.assert_allclose(WhisperMel(n_mels=n_mels, seconds=2).features(sound.samples), theirs, atol=1e-4)


@pytest.mark.parametrize("seconds", [0.0421, 0.7, 2.005])
def test_features_of_wav2vec2_bert_and_parakeet(seconds: float):
    """What transformers masks as padding, a step that is not full, is left out."""
    sound = sounds.tone(seconds)
    theirs = their_features("SeamlessM4T", sound, num_mel_bins=40, stride=3)
    found = StackedMel(n_mels=40, stacked=3)
    np.testing.assert_allclose(found.features(sound.samples)[: len(theirs)], theirs, atol=1e-4)
    assert len(found.features(sound.samples)) == found.n_steps(len(sound.samples))
    theirs = their_features("Parakeet", sound, feature_size=40, win_length=320)
    found = NemoMel(n_mels=40, frame=320)
    np.testing.assert_allclose(found.features(sound.samples), theirs, atol=2e-4)
    assert len(theirs) == found.n_steps(len(sound.samples))


@pytest.mark.parametrize("normalised", [True, False])
def test_samples_of_wav2vec2(normalised: bool):
    sound = sounds.tone(0.7)
    theirs = their_features("Wav2Vec2", sound, do_normalize=normalised)
    np.testing.assert_allclose(Samples(normalised=normalised).features(sound.samples), theirs, atol=1e-4)


def with_settings(family: str, checkpoint: Callable, tmp_path: Path, **fields: object) -> AudioEncoder:
    shutil.copytree(checkpoint(family).folder, tmp_path / "model")
    (tmp_path / "model" / "preprocessor_config.json").write_text(json.dumps(fields))
    return encoder.load(tmp_path / "model", device="cpu")


def test_the_checkpoints_own_settings(checkpoint: Callable, tmp_path: Path):
    model = with_settings("ast", checkpoint, tmp_path, mean=-1.0, std=2.0, sampling_rate=8000, num_mel_bins=48)
    assert model.preparation == KaldiMel(8000, 48, 64, -1.0, 2.0)
    assert model.layout.spans[2].end == pytest.approx(16 * 160 / 8000)


@pytest.mark.parametrize(
    ("family", "fields"),
    [
        ("ast", {"num_mel_bins": 64}), ("ast", {"std": 0}), ("whisper", {"feature_size": 80}),
        ("whisper", {"chunk_length": 7}), ("wav2vec2", {"sampling_rate": "fast"}), ("hubert", {"do_normalize": 3}),
        ("wav2vec2-bert", {"num_mel_bins": 40}),
        ("parakeet", {"feature_size": 128}), ("parakeet", {"sampling_rate": 8000}),
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_fit_no_model(family: str, fields: dict, checkpoint: Callable, tmp_path: Path):
    with pytest.raises(LoadError, match=next(iter(fields)) if "chunk" not in str(fields) else "frames"):
        with_settings(family, checkpoint, tmp_path, **fields)


# --- tokens ----------------------------------------------------------------------------------------------------------


def test_tokens_of_a_spectrogram(checkpoint: Callable):
    model = checkpoint("ast").ours
    trace = model.trace(sounds.tone(0.4))
    n_times, n_bands = (64 - 16) // 8 + 1, (48 - 16) // 6 + 1
    assert trace.n_tokens == n_times * n_bands + 2 == model.config.max_tokens
    assert trace.tokens[:4] == ("[CLS]", "[DIST]", "0.00-0.16 s b0", "0.08-0.24 s b0")
    assert trace.tokens[2 + n_times] == "0.00-0.16 s b1"


def test_a_patch_is_where_its_name_says(checkpoint: Callable):
    model = checkpoint("ast").ours
    marked = torch.zeros(2, 64, 48)
    marked[1, 24:40, 12:28] = 1.0  # frames 24 to 39 and bands 12 to 27: the third patch of time, the second band
    with torch.no_grad():
        blank, other = model.encoder.embedding.tokens(marked)
    change = (other - blank)[2:].abs().sum(-1)
    assert model.layout.tokens[2 + int(change.argmax())] == "0.24-0.40 s b2"


def test_tokens_of_time_steps(checkpoint: Callable):
    model = checkpoint("wav2vec2").ours
    trace = model.trace(sounds.tone(0.2))
    assert trace.tokens[:2] == ("0.00-0.00 s", "0.00-0.00 s")
    assert trace.layout.spans[100].start == pytest.approx(100 * 20 / 16_000)
    whisper = checkpoint("whisper").ours
    assert whisper.trace(sounds.tone(0.2)).tokens[10] == "0.20-0.22 s"
    assert whisper.seconds == 1


@pytest.mark.parametrize("rate", [8_000, 11_025, 44_100])
def test_another_rate_is_resampled(rate: int, checkpoint: Callable):
    model = checkpoint("wav2vec2").ours
    for seconds in (0.1, 0.1003):
        sound = sounds.tone(seconds, rate)
        assert model.trace(sound).n_tokens == len(model.layout_of(sound).tokens)


def test_sounds_that_do_not_fit(checkpoint: Callable):
    model = checkpoint("wav2vec2").ours
    with pytest.raises(SoundError, match="ms"):
        model.trace(Sound(np.zeros(20), 16_000))
    with pytest.raises(SoundError, match="str"):
        model.trace("seven")


@each_family
def test_edits_and_measures(family: str, checkpoint: Callable):
    model = checkpoint(family).ours
    trace = model.trace(sounds.tone(0.2), edits=[AblateHead(1, 2)], request=["z"])
    assert float(trace.z(1, 2).abs().max()) == 0.0
    assert trace.thumbnails(16).shape[:2] == (3, 5)
    assert model.with_norm_placement("post" if model.config.norm_placement == "pre" else "pre").moved_norms


def test_whispers_sines_are_named(tmp_path: Path):
    """transformers draws them at first; the random tables of the other tests are not sines."""
    import transformers

    name, fields = sounds.FAMILIES["whisper"]
    config = getattr(transformers, f"{name}Config")(**{**fields, "encoder_layers": 1})
    transformers.WhisperModel(config).save_pretrained(tmp_path / "plain")
    assert any("sines" in note for note in encoder.load(tmp_path / "plain", device="cpu").notes)


@each_family
def test_the_cost_counts_what_a_sound_needs(family: str, checkpoint: Callable):
    model = checkpoint(family).ours
    assert cost(model.config, 20, model.n_parameters).around > 0
    trace = model.trace(sounds.tone(0.2))
    with pytest.raises(EncoderError, match="text"):
        explain.chain(trace)


# --- heads -----------------------------------------------------------------------------------------------------------


def test_classes_of_ast(checkpoint: Callable):
    pair = checkpoint("ast", "ForAudioClassification", id2label={0: "dog", 1: "rain", 2: "drum"})
    sound = sounds.tone(0.4)
    with torch.no_grad():
        theirs = pair.theirs(pair.ours.prepare(sound)[None]).logits[0].softmax(-1)
    found = pair.ours.probabilities(pair.ours.trace(sound))
    assert list(found) == ["dog", "rain", "drum"]
    close(torch.tensor(list(found.values())), theirs, "probabilities")


@pytest.mark.parametrize("summed", [False, True], ids=["last layer", "all layers"])
@pytest.mark.parametrize(
    ("family", "head"),
    [
        ("wav2vec2", "ForSequenceClassification"),
        ("wav2vec2-stable", "ForSequenceClassification"),
        ("hubert", "ForSequenceClassification"),
        ("hubert-stable", "ForSequenceClassification"),
        ("wav2vec2-conformer", "ForSequenceClassification"),
        ("wav2vec2-bert", "ForSequenceClassification"),
        ("whisper", "ForAudioClassification"),
    ],
)
def test_classes_of_the_mean_over_time(family: str, head: str, summed: bool, checkpoint: Callable):
    more = {"num_labels": 7, "use_weighted_layer_sum": summed, "classifier_proj_size": 28}
    pair = checkpoint(family, head, n_layers=2, **more)
    sound = sounds.tone(0.4)
    with torch.no_grad():
        theirs = pair.theirs(pair.ours.prepare(sound)[None]).logits[0].softmax(-1)
    found = pair.ours.probabilities(pair.ours.trace(sound))
    close(torch.tensor(list(found.values())), theirs, "probabilities")
    assert (pair.ours.classifier.layer_weights is not None) == summed
    if summed:  # effects are measured at the output, which is not all that this head uses
        with pytest.raises(EncoderError, match="uses"):
            causal.ablate_each_head(pair.ours, pair.ours.trace(sound), causal.ClassProbability("LABEL_1"))


@pytest.mark.parametrize(
    ("family", "head", "meaning"),
    [
        ("whisper", "ForConditionalGeneration", "decoder"),
        ("wav2vec2", "ForCTC", "CTC"),
        ("wav2vec2", "ForPreTraining", "pretraining"),
        ("hubert", "ForCTC", "CTC"),
        ("wav2vec2-conformer", "ForPreTraining", "pretraining"),
        ("wav2vec2-bert", "ForCTC", "CTC"),
    ],
)
def test_heads_that_are_left_out(family: str, head: str, meaning: str, checkpoint: Callable):
    pair = checkpoint(family, head, n_layers=1)
    assert any(meaning in note for note in pair.ours.notes)
    with pytest.raises(EncoderError, match="classification head"):
        pair.ours.probabilities(pair.ours.trace(sounds.tone(0.2)))
