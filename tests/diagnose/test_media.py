"""Images and sounds: vectors of programs without the engine (transformers, Pillow, NumPy), each fault by its name."""

from __future__ import annotations

import base64
import io
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from transformers import WhisperFeatureExtractor
from transformers.audio_utils import mel_filter_bank, spectrogram
from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

import encoder
from encoder import diagnose
from encoder.cli import main
from encoder.diagnose import media
from encoder.diagnose.media import Media, MediaPipeline
from encoder.errors import EncoderError
from encoder.inputs.image_files import flat
from tests.diagnose.test_endpoint import reply, serving
from tests.load import joints, sounds
from tests.load.reference import image_model_of, write

SIDE = 24


def photo(height: int, width: int, seed: int) -> Image.Image:
    """Something like a photo: smooth colours, noise, a dark edge."""
    draw = np.random.default_rng(seed)
    coarse = draw.uniform(0, 255, (5, 7, 3)).astype(np.uint8)
    pixels = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)).astype(float)
    pixels += draw.normal(0, 20, pixels.shape)
    pixels[height // 3 : height // 2, : width // 4] *= 0.3
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


#: Wide, tall, square and large.
PHOTOS = [photo(60, 100, 0), photo(90, 50, 1), photo(40, 40, 2), photo(700, 1_100, 3)]


@dataclass(frozen=True)
class Reference:
    """A model of transformers, its folder and its processor."""

    folder: Path
    processor: Any
    vectors: Callable[[torch.Tensor], torch.Tensor]

    @torch.no_grad()
    def embed(self, images: list[Image.Image] = PHOTOS, **settings: Any) -> np.ndarray:
        """What the reference gives, or with other settings of its processor."""
        pixels = np.stack([self.processor(one, **settings)["pixel_values"][0] for one in images])
        return self.vectors(torch.from_numpy(pixels).float()).numpy()


CUT = {"size": {"shortest_edge": SIDE}, "crop_size": {"height": SIDE, "width": SIDE}}
LARGER = {"size": {"shortest_edge": 27}, "crop_size": {"height": SIDE, "width": SIDE}}
SQUARE = {"size": {"height": SIDE, "width": SIDE}}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Reference]:
    @lru_cache
    def made(name: str) -> Reference:
        folder = tmp_path_factory.mktemp(name)
        if name == "dinov2":
            model: Any = image_model_of("Dinov2", "Model", 3, mlp_ratio=2)
            write(model, folder, None)
            processor: Any = BitImageProcessorPil(**LARGER)
            give = lambda pixels: model(pixels).last_hidden_state[:, 0]  # noqa: E731
        else:
            model = joints.model_of(name)
            joints.write(model, folder, name)
            processor = CLIPImageProcessorPil(**CUT) if name == "clip" else SiglipImageProcessorPil(**SQUARE)
            give = lambda pixels: features(model.get_image_features(pixels))  # noqa: E731
        processor.save_pretrained(folder)
        return Reference(folder, processor, give)

    return made


def features(found: Any) -> torch.Tensor:
    """The vectors, as older and newer versions give them."""
    return found if isinstance(found, torch.Tensor) else found.pooler_output


@pytest.mark.parametrize("name", ["clip", "siglip", "dinov2"])
def test_what_transformers_prepares_is_sound(name: str, reference: Callable[[str], Reference]):
    theirs = reference(name)
    found = diagnose.find(theirs.folder, PHOTOS, theirs.embed())
    assert (found.verdict, found.faults) == ("sound", ())
    assert len(pickle.dumps(found)) < 20_000  # it is kept, and the images are not kept with it


IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
#: Fault -> (model, another setting of the processor, value of the fault).
SETTINGS: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "nearest": ("clip", {"resample": Image.Resampling.NEAREST}, "image-resize", {"scaling": "nearest"}),
    "bilinear": ("siglip", {"resample": Image.Resampling.BILINEAR}, "image-resize", {"scaling": "bilinear"}),
    "lanczos": ("dinov2", {"resample": Image.Resampling.LANCZOS}, "image-resize", {"scaling": "lanczos"}),
    "squashed": ("clip", {"size": SQUARE["size"]}, "image-crop", {"shape": "squashed"}),
    "cut": ("siglip", {**CUT, "do_center_crop": True}, "image-crop", {"shape": "cut at once"}),
    "not larger": ("dinov2", CUT, "image-crop", {"shape": "cut at once"}),
    "larger": ("clip", LARGER, "image-crop", {"shape": "cut after a larger scaling"}),
    "no mean": ("clip", {"do_normalize": False}, "image-normalise", {"values": "none"}),
    "ImageNet": ("siglip", IMAGENET, "image-normalise", {"values": "ImageNet"}),
    "0.5": ("dinov2", {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}, "image-normalise", {"values": "0.5 and 0.5"}),
    "not divided": ("clip", {"do_rescale": False}, "image-rescale", {"divisor": 1.0}),
    "divided twice": ("siglip", {"rescale_factor": 1 / 255**2}, "image-rescale", {"divisor": 255.0**2}),
}


@pytest.mark.sample(4, "another setting")
@pytest.mark.parametrize("case", SETTINGS)
def test_another_setting_of_the_processor_is_named(case: str, reference: Callable[[str], Reference]):
    name, settings, fault, parameters = SETTINGS[case]
    theirs = reference(name)
    found = diagnose.find(theirs.folder, PHOTOS, theirs.embed(**settings), together=1)
    assert [(one.name, one.parameters) for one in found.faults] == [(fault, parameters)]
    assert not found.alternatives


def bgr(image: Image.Image) -> Image.Image:
    return Image.fromarray(np.ascontiguousarray(np.asarray(image)[:, :, ::-1]))


def by_torch(image: Image.Image) -> Image.Image:
    """Scaled to the square without antialiasing, rounded to whole numbers, as OpenCV does."""
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float()
    found = torch.nn.functional.interpolate(pixels, size=(SIDE, SIDE), mode="bicubic", align_corners=False)
    return Image.fromarray(found[0].round().clamp(0, 255).permute(1, 2, 0).numpy().astype(np.uint8))


def in_bars(image: Image.Image) -> Image.Image:
    return ImageOps.pad(image, (SIDE, SIDE), Image.Resampling.BICUBIC, color="white")


def cut_first(image: Image.Image) -> Image.Image:
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))


def sent_small(image: Image.Image) -> Image.Image:
    made = image.copy()
    made.thumbnail((800, 800), Image.Resampling.BICUBIC, reducing_gap=None)
    return made


#: Fault -> (model, what is done to an image before the right processor, value of the fault).
BEFORE: dict[str, tuple[str, Callable[[Image.Image], Image.Image], str, dict[str, Any]]] = {
    "bgr": ("clip", bgr, "channel-order", {}),
    "no antialiasing": ("siglip", by_torch, "image-resize", {"scaling": "bicubic without antialiasing, rounded"}),
    "bars": ("siglip", in_bars, "image-crop", {"shape": "white bars"}),
    "cut first": ("clip", cut_first, "image-crop", {"shape": "cut first"}),
    "sent small": ("clip", sent_small, "image-scaled-first", {"side": 800}),
}


@pytest.mark.sample(3, "another change")
@pytest.mark.parametrize("case", BEFORE)
def test_what_is_done_to_an_image_before_is_named(case: str, reference: Callable[[str], Reference]):
    name, change, fault, parameters = BEFORE[case]
    theirs = reference(name)
    found = diagnose.find(theirs.folder, PHOTOS, theirs.embed([change(one) for one in PHOTOS]), together=1)
    assert [(one.name, one.parameters) for one in found.faults] == [(fault, parameters)]


def test_a_preparation_and_a_norm_are_named_together(reference: Callable[[str], Reference]):
    theirs = reference("siglip")
    vectors = theirs.embed([bgr(one) for one in PHOTOS])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = diagnose.find(theirs.folder, PHOTOS, vectors, together=2)
    assert {one.name for one in found.faults} == {"channel-order", "normalise-extra"}


@torch.no_grad()
def test_the_vector_before_the_projection_is_named(reference: Callable[[str], Reference]):
    theirs = reference("clip")
    model: Any = joints.model_of("clip")
    pixels = torch.from_numpy(np.stack([theirs.processor(one)["pixel_values"][0] for one in PHOTOS]))
    vectors = model.vision_model(pixels).pooler_output.numpy()
    assert [one.name for one in diagnose.find(theirs.folder, PHOTOS, vectors, together=1).faults] == [
        "projection-missing"
    ]


def test_square_images_hide_a_cut_and_the_probes_show_it(reference: Callable[[str], Reference]):
    theirs = reference("siglip")
    square = [photo(50, 50, seed) for seed in range(3)]
    settings = {**CUT, "do_center_crop": True}
    assert diagnose.find(theirs.folder, square, theirs.embed(square, **settings)).verdict == "sound"
    sizes = [one.size for one in diagnose.media_probes(encoder.load(theirs.folder).image).values()]
    assert any(width != height for width, height in sizes)
    assert any(max(size) >= 4_000 for size in sizes)


def test_a_turned_image_is_unknown(reference: Callable[[str], Reference]):
    theirs = reference("clip")
    vectors = theirs.embed([one.transpose(Image.Transpose.TRANSVERSE) for one in PHOTOS])
    found = diagnose.find(theirs.folder, PHOTOS, vectors, together=1)
    assert (found.verdict, found.faults) == ("unknown", ())
    assert "channel-order" in found.excluded
    assert set(found.next_texts) == {f"probe-{name}.png" for name in ("square", "wide", "tall", "small", "large")}


# --- sounds -----------------------------------------------------------------------------------------------------------

HEARD = [sounds.tone(0.4), sounds.tone(0.9, seed=1), sounds.tone(1.5, seed=2), sounds.tone(0.7, 22_050, seed=3)]


@pytest.fixture(scope="module")
def whisper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whisper")
    sounds.model_of("whisper", "Model", 2).save_pretrained(folder)
    extractor().save_pretrained(folder)
    return folder


def extractor() -> WhisperFeatureExtractor:
    return WhisperFeatureExtractor(feature_size=24, chunk_length=1)


@torch.no_grad()
def heard(features: list[np.ndarray]) -> np.ndarray:
    """The mean of what Whisper's encoder makes of features."""
    model = sounds.model_of("whisper", "Model", 2).get_encoder()
    return model(torch.from_numpy(np.stack(features)).float()).last_hidden_state.mean(1).numpy()


def theirs(samples: np.ndarray) -> np.ndarray:
    """Features by transformers."""
    return extractor()(samples, sampling_rate=16_000, return_tensors="np")["input_features"][0]


def by_hand(samples: np.ndarray, *, norm: str | None = "slaney", scale: str = "slaney", log: str = "log10",
            late: bool = False) -> np.ndarray:  # fmt: skip
    """Features by the functions of transformers, with choices."""
    filters = mel_filter_bank(201, 24, 0.0, 8_000.0, 16_000, norm=norm, mel_scale=scale)
    filled = samples[:16_000] if late else np.pad(samples[:16_000], (0, max(0, 16_000 - len(samples))))
    found = spectrogram(filled, np.hanning(401)[:-1], 400, 160, power=2.0, mel_filters=filters, log_mel=log)[:, :-1]
    found = (np.maximum(found, found.max() - 8.0) + 4.0) / 4.0
    return np.pad(found, ((0, 0), (0, 100 - found.shape[1]))).astype(np.float32)


#: Fault -> (features of resampled samples, name, value).
SPECTROGRAMS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str, dict[str, Any]]] = {
    "htk": (lambda x: by_hand(x, norm=None, scale="htk"), "mel-filters", {"filters": "HTK"}),
    "no area": (lambda x: by_hand(x, norm=None), "mel-filters", {"filters": "Slaney of equal height"}),
    "ln": (lambda x: by_hand(x, log="log"), "log-mel", {"how": "natural logarithm"}),
    "late": (lambda x: by_hand(x, late=True), "sound-padding", {}),
    "16 bits": (lambda x: theirs(x * 32_768), "sound-scale", {"factor": 32_768.0}),
    "not scaled": (lambda x: theirs(x) * 4 - 4, "log-mel", {"how": "not scaled"}),
}


@pytest.mark.parametrize("case", SPECTROGRAMS)
def test_another_spectrogram_is_named(case: str, whisper: Path):
    features, fault, parameters = SPECTROGRAMS[case]
    vectors = heard([features(one.at(16_000).samples) for one in HEARD])
    found = diagnose.find(whisper, HEARD, vectors, together=1)
    assert [(one.name, one.parameters) for one in found.faults] == [(fault, parameters)]


def test_the_features_of_transformers_are_sound_and_a_rate_that_is_ignored_is_named(whisper: Path):
    vectors = heard([theirs(one.at(16_000).samples) for one in HEARD])
    assert diagnose.find(whisper, HEARD, vectors).verdict == "sound"
    vectors = heard([theirs(one.samples) for one in HEARD])
    assert [one.name for one in diagnose.find(whisper, HEARD, vectors, together=1).faults] == ["sound-rate"]


# --- the command ------------------------------------------------------------------------------------------------------


def test_probes_are_written_and_diagnosed(
    reference: Callable[[str], Reference], tmp_path: Path, capsys: pytest.CaptureFixture
):
    theirs = reference("siglip")
    folder = tmp_path / "probes"
    assert main.main(["diagnose", str(theirs.folder), "--probes", "--media", str(folder)]) == 0
    files = sorted(folder.iterdir())
    files = [one for one in files if one.suffix == ".png"]
    np.save(tmp_path / "theirs.npy", theirs.embed([bgr(Image.open(one)) for one in files]))
    capsys.readouterr()
    words = f"diagnose {theirs.folder} --media {folder} --vectors {tmp_path / 'theirs.npy'} --together 1 --json"
    assert main.main(words.split()) == 1
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["faults"]] == ["channel-order"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("diagnose digits-pre --media nowhere --vectors x.npy", "nowhere"),
        ("diagnose digits-pre --media . --onnx model.onnx", "no files"),
        ("diagnose digits-pre --media sounds --onnx model.onnx", "--onnx"),
        ("diagnose digits-pre --media sounds --texts a.txt --vectors x.npy", "--texts"),
        ("diagnose digits-pre --media sounds --vectors x.npy", "x.npy"),
        ("diagnose twin-pre --media . --vectors x.npy", "images"),
        ("diagnose digits-pre --media sounds --vectors x.npy --prompt query", "--prompt"),
        ("golden write digits-pre --prompt query --out x.safetensors", "--prompt"),
        ("fingerprint digits-pre --prompt query", "--prompt"),
    ],
)
def test_wrong_use_of_media_is_a_sentence(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.chdir(tmp_path)
    Path("sounds").mkdir()
    Path("sounds/a.wav").write_bytes(b"RIFF")
    assert main.main(words.split()) == 2
    assert said in capsys.readouterr().err


def test_files_that_are_no_images_or_too_large_are_a_sentence():
    given = {"good.png": media.content(photo(9, 9, 0)), "bad.png": b"GIF89a"}
    with pytest.raises(EncoderError, match=r"bad\.png"):
        diagnose.find("digits-pre", given, np.ones((2, 64)))
    with pytest.raises(EncoderError, match="fewer or smaller"):
        diagnose.find("digits-pre", [photo(9, 9, 0), photo(9, 9, 1)], np.ones((2, 64)), most_numbers=100)


def test_every_pixel_of_a_large_jpeg_counts(tmp_path: Path, reference: Callable[[str], Reference]):
    """The app shows it from half of its pixels, which is another image for the model."""
    photo(2_100, 2_300, 4).save(tmp_path / "large.jpg", quality=90)
    theirs = reference("siglip")
    vectors = theirs.embed([Image.open(tmp_path / "large.jpg").convert("RGB"), PHOTOS[0]])
    assert diagnose.find(theirs.folder, [tmp_path / "large.jpg", PHOTOS[0]], vectors, together=1).verdict == "sound"


# --- golden files, servers --------------------------------------------------------------------------------------------


def images_of(addresses: list[str]) -> list[Image.Image]:
    """What a server reads from addresses that hold files."""
    return [Image.open(io.BytesIO(base64.b64decode(one.partition("base64,")[2]))) for one in addresses]


def test_a_golden_file_of_images_holds_them_and_is_checked_by_a_server(
    reference: Callable[[str], Reference],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
):
    monkeypatch.chdir(tmp_path)
    theirs = reference("clip")
    Path("images").mkdir()
    for number, one in enumerate(PHOTOS[:3]):
        one.save(f"images/{number}.png")
    assert main.main(f"golden write {theirs.folder} --media images --layers 0,3 --out golden.safetensors".split()) == 0
    golden = diagnose.read_golden("golden.safetensors")
    assert golden.inputs == {one.name: one.read_bytes() for one in sorted(Path("images").iterdir())}
    assert [len(one) for one in golden.layers[3]] == [encoder.load(theirs.folder).image.config.max_tokens] * 3
    np.testing.assert_allclose(golden.vectors, theirs.embed(PHOTOS[:3]), atol=1e-5)
    trace = golden.run.trace(find=lambda name: Image.open(f"images/{name}"))
    np.testing.assert_allclose(golden.layers[3][0], trace.output.numpy(), atol=1e-5)

    swaps = [lambda one: one]  # what the server does to an image

    def answer(handler, body) -> None:
        assert body["modality"] == "image"
        reply(handler, theirs.embed([swaps[-1](one) for one in images_of(body["input"])]).tolist())

    def infinity(handler, body) -> None:
        refused = not all(isinstance(one, str) for one in body.get("input", [0]))
        reply(handler, {"detail": "input: a list of addresses"}, 422) if refused else answer(handler, body)

    with serving(infinity) as url:
        command = f"golden check golden.safetensors --endpoint {url} --json".split()
        assert main.main(command) == 0
        swaps.append(bgr)
        capsys.readouterr()
        assert main.main(command) == 1
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["faults"]] == ["channel-order"]
    assert found["fingerprint"] == golden.fingerprint.id
    words = f"fingerprint {theirs.folder} --compare golden.safetensors --json".split()
    assert (main.main([*words, "--media"]), main.main(words)) == (0, 1)


@pytest.mark.parametrize("source", ["digits-pre", "spoken-digits"])
def test_a_golden_file_of_probes_is_that_of_the_model(source: str, tmp_path: Path, capsys: pytest.CaptureFixture):
    file = tmp_path / "golden.safetensors"
    assert main.main(["golden", "write", source, "--out", str(file)]) == 0
    golden, model = diagnose.read_golden(file), encoder.load(source)
    assert golden.inputs == diagnose.probe_files(model.takes)
    vectors = model.embed([model.open(one) for one in golden.files.values()]).numpy()
    np.save(tmp_path / "vectors.npy", vectors)
    assert main.main(["golden", "check", str(file), "--vectors", str(tmp_path / "vectors.npy")]) == 0
    arrays = load_file(file)
    arrays["sizes"][0] += 1
    with safe_open(file, "np") as opened:
        save_file(arrays, tmp_path / "broken.safetensors", opened.metadata())
    with pytest.raises(EncoderError, match="golden write"):
        diagnose.read_golden(tmp_path / "broken.safetensors")


@pytest.mark.parametrize("name", ["digits-pre", "digit-words", "spoken-digits"])
def test_the_right_pipeline_is_that_of_embed(name: str):
    model = diagnose.folders.signal_encoder(encoder.load(name))
    given = [one for key, one in diagnose.media_probes(model).items() if "large" not in key]
    media = Media.of(model, given)
    base = MediaPipeline.of_media(model, media)
    np.testing.assert_allclose(base.vectors(tuple(media.given)), model.embed(given).numpy(), atol=1e-5)


def test_the_file_of_any_image_opens_as_the_image_and_an_array_has_none():
    for mode in ("F", "CMYK", "RGBA", "I;16", "1"):
        image = Image.new(mode, (9, 7), 1)
        np.testing.assert_array_equal(np.array(Image.open(io.BytesIO(media.content(image)))), np.array(flat(image)))
    with pytest.raises(EncoderError, match="ndarray"):
        diagnose.make_golden("digits-pre", [np.zeros((24, 24, 3), np.uint8)], model=encoder.load("digits-pre"))
    with pytest.raises(EncoderError, match="pixels"):
        media.content(Image.new("RGB", (0, 5)))


def test_a_text_is_no_image():
    with pytest.raises(EncoderError, match="text"):
        diagnose.find("digits-pre", ["a text"], np.ones((1, 64)))
    with pytest.raises(EncoderError, match="image"):
        diagnose.find("digits-pre", [3], np.ones((1, 64)))
