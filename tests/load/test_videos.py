"""Videos on their way into VideoMAE and V-JEPA 2: frames, preparation, classes, what a trace says; next to
transformers."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers.models.videomae.image_processing_pil_videomae import VideoMAEImageProcessorPil

import encoder
from encoder import edits, measure
from encoder.causal import occlusion
from encoder.encoders.video import VideoEncoder
from encoder.errors import ConfigError, EncoderError, LoadError
from encoder.inputs import video
from encoder.inputs.image_files import ImageError
from encoder.measure import patches
from encoder.model.config import Patches
from tests.load import every_family, reference


def model_of(head: str = "Model", **fields: Any) -> torch.nn.Module:
    import transformers

    config = transformers.VideoMAEConfig(
        **{**every_family.VIDEO, "patch_size": 4, "num_hidden_layers": 2, "num_labels": 7, **fields}
    )
    kind = getattr(transformers, f"VideoMAE{head}")
    return reference.randomised(kind._from_config(config, attn_implementation="eager"), 0)


def loaded(theirs: torch.nn.Module, folder: Path) -> VideoEncoder:
    found = encoder.load(reference.write(theirs, folder, None), device="cpu")
    assert isinstance(found, VideoEncoder)
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> VideoEncoder:
    return loaded(model_of(), tmp_path_factory.mktemp("videos") / "model")


def clip(n_frames: int, height: int = 40, width: int = 52, seed: int = 0) -> np.ndarray:
    shape = (n_frames, height, width, 3)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("size", [(48, 36), (24, 24), (31, 90)], ids=str)
def test_the_preparation_of_its_processor(size: tuple[int, int], tmp_path: Path):
    theirs = VideoMAEImageProcessorPil(
        size={"shortest_edge": 29}, crop_size={"height": 24, "width": 24}, image_mean=[0.4, 0.5, 0.6], resample=3
    )
    theirs.save_pretrained(tmp_path / "model")
    ours = loaded(model_of(), tmp_path / "model")
    frames = clip(8, *size)
    expected = torch.as_tensor(np.asarray(theirs(list(frames))["pixel_values"][0])).float()
    torch.testing.assert_close(ours.prepare(frames), expected, atol=1e-4, rtol=0.0)
    torch.testing.assert_close(ours.prepare([Image.fromarray(one) for one in frames]), expected, atol=1e-4, rtol=0.0)


def test_the_file_of_a_video_comes_first(tmp_path: Path):
    folder = tmp_path / "model"
    reference.write(model_of(), folder, None)
    for file, mean in (("preprocessor_config.json", 0.1), ("video_preprocessor_config.json", 0.2)):
        (folder / file).write_text(json.dumps({"image_mean": [mean] * 3}))
        assert encoder.load(folder, device="cpu").preparation.mean == (mean,) * 3
    (folder / "processor_config.json").write_text(json.dumps({"video_processor": {"image_mean": [0.3] * 3}}))
    assert encoder.load(folder, device="cpu").preparation.mean == (0.3,) * 3
    (folder / "processor_config.json").write_text(json.dumps({"video_processor": 3}))
    with pytest.raises(LoadError, match="video_processor"):
        encoder.load(folder, device="cpu")


@torch.no_grad()
@pytest.mark.parametrize("mean", [True, False])
def test_classes(mean: bool, tmp_path: Path):
    theirs = model_of("ForVideoClassification", use_mean_pooling=mean)
    ours = loaded(theirs, tmp_path / "model")
    expected = theirs(every_family.FRAMES).logits.softmax(-1)[0]
    for one in (ours, encoder.load(encoder.save(ours, tmp_path / "saved"), device="cpu")):
        found = one.probabilities(one.trace_pixels(every_family.FRAMES[0]))
        torch.testing.assert_close(torch.tensor(list(found.values())), expected, atol=1e-5, rtol=0.0)
    assert dataclasses.asdict(ours.preparation)["resize"] == 24


def test_what_is_left_out_is_named_and_older_names_are_read(tmp_path: Path):
    from safetensors.torch import load_file, save_file

    sizes = {"decoder_hidden_size": 36, "decoder_num_hidden_layers": 1, "decoder_intermediate_size": 20}
    theirs = model_of("ForPreTraining", **sizes)
    ours = loaded(theirs, tmp_path / "model")
    assert any("decoder that reconstructs" in note for note in ours.notes)
    file = tmp_path / "model" / "model.safetensors"
    older = {
        name.replace("attention.query.bias", "attention.q_bias").replace(
            "attention.value.bias", "attention.v_bias"
        ): one
        for name, one in load_file(file).items()
    }
    assert any(name.endswith("q_bias") for name in older)
    save_file(older, file, metadata={"format": "pt"})
    again = encoder.load(tmp_path / "model", device="cpu")
    assert torch.equal(again.trace(clip(8)).output, ours.trace(clip(8)).output)


def test_a_live_model_shares_its_weights():
    theirs = model_of()
    ours = encoder.wrap(
        theirs, VideoMAEImageProcessorPil(size={"shortest_edge": 24}, crop_size={"height": 24, "width": 24})
    )
    assert not ours.notes
    with torch.no_grad():
        expected = theirs(every_family.FRAMES).last_hidden_state[0]
    torch.testing.assert_close(ours.trace_pixels(every_family.FRAMES[0]).output, expected, atol=1e-5, rtol=1e-5)


def jepa(head: str = "Model", **fields: Any) -> torch.nn.Module:
    import transformers

    config = transformers.VJEPA2Config(**{**every_family.VJEPA2, "num_pooler_layers": 1, **fields})
    return reference.randomised(getattr(transformers, f"VJEPA2{head}")._from_config(config), 0)


def test_vjepa2_cuts_the_middle_of_a_larger_frame(tmp_path: Path):
    """Whatever `size` says, as VJEPA2VideoProcessor does; the steps are those of VideoMAE's processor."""
    folder = reference.write(jepa(), tmp_path / "model", None)
    settings = {"crop_size": {"height": 24, "width": 24}, "size": {"shortest_edge": 900}, "resample": 2}
    (folder / "video_preprocessor_config.json").write_text(json.dumps(settings))
    ours, frames = encoder.load(folder, device="cpu"), clip(8, 50, 71)
    theirs = VideoMAEImageProcessorPil(
        size={"shortest_edge": int(24 * 256 / 224)},
        crop_size={"height": 24, "width": 24},
        image_mean=[0.485, 0.456, 0.406],
        image_std=[0.229, 0.224, 0.225],
    )
    expected = torch.as_tensor(np.asarray(theirs(list(frames))["pixel_values"][0])).float()
    torch.testing.assert_close(ours.prepare(frames), expected, atol=1e-4, rtol=0.0)


def test_vjepa2_leaves_its_heads_out_by_name(tmp_path: Path):
    theirs = jepa("ForVideoClassification")
    ours = loaded(theirs, tmp_path / "model")
    assert ours.classifier is None
    assert sum("predictor" in note or "attentive pooler" in note for note in ours.notes) == 2
    live = encoder.wrap(theirs, VideoMAEImageProcessorPil(crop_size={"height": 24, "width": 24}))
    with torch.no_grad():
        expected = theirs.vjepa2(every_family.FRAMES, skip_predictor=True).last_hidden_state[0]
    for one in (ours, live):
        torch.testing.assert_close(one.trace_pixels(every_family.FRAMES[0]).output, expected, atol=1e-5, rtol=1e-5)
    assert not any("Copied" in note for note in live.notes)
    again = encoder.load(encoder.save(ours, tmp_path / "saved"), device="cpu")
    assert torch.equal(again.trace(clip(5)).output, ours.trace(clip(5)).output)


@pytest.mark.parametrize("wrong", [{"num_attention_heads": 12}, {"crop_size": 3}, {"frames_per_clip": 1}])
def test_fields_of_vjepa2_that_describe_none(wrong: dict[str, Any], tmp_path: Path):
    folder = reference.write(jepa(), tmp_path / "model", None)
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **wrong}))
    with pytest.raises(LoadError):
        encoder.load(folder, device="cpu")


def test_frames_are_sampled_as_transformers_samples():
    from transformers.video_utils import VideoMetadata, default_sample_indices_fn

    for n_frames in (8, 9, 31, 100):
        theirs = default_sample_indices_fn(VideoMetadata(total_num_frames=n_frames), num_frames=8)
        assert video.sampled(n_frames, 8) == tuple(theirs)
    assert video.sampled(3, 8) == (0, 0, 0, 1, 1, 1, 2, 2)


def test_what_a_trace_says(model: VideoEncoder, tmp_path: Path):
    frames = clip(8)
    trace = model.trace(frames, edits=[edits.AblateHead(1, 2)])
    assert (trace.kind, trace.n_tokens) == ("video", 4 * 36)
    assert (trace.labels[0], trace.labels[37]) == ("f0-1 r0 c0", "f2-3 r0 c1")
    assert not any(trace.layout.special)
    again = encoder.open_trace(trace.save(tmp_path / "trace.safetensors"))
    assert again.layout == trace.layout
    assert trace.position.shape == (144, 48)
    assert "VideoEncoder" in repr(model)


def test_where_a_tubelet_is(model: VideoEncoder):
    """A change of two frames at one place changes one token, at that place of the sheet."""
    blank = torch.zeros(8, 3, 24, 24)
    marked = blank.clone()
    marked[5, :, 4:8, 20:24] = 1.0  # frames 4 and 5 are step 2
    change = model.trace_pixels(marked).residual["embedding"] - model.trace_pixels(blank).residual["embedding"]
    (token,) = change.abs().amax(-1).nonzero().flatten().tolist()
    grid = model.layout
    assert grid.tokens[token] == "f4-5 r1 c5"
    assert (grid.rows, grid.columns) == (12, 12)  # two by two steps
    assert grid.place(token) == (7, 5)
    assert grid.token(7, 5) == token
    assert grid.coordinates[grid.patches.index(token)] == (2, 1, 5)
    shown = model.sheet(torch.rand(8, 3, 24, 24))
    assert shown.shape == (3, 48, 48)


def test_the_sheet_shows_the_first_frame_of_each_step(model: VideoEncoder):
    frames = np.stack([np.full((24, 24, 3), 10 * index, dtype=np.uint8) for index in range(8)])
    sheet = (model.sheet(frames) * 255).round()
    assert [int(sheet[0, row, column]) for row in (0, 24) for column in (0, 24)] == [0, 20, 40, 60]


def test_measures_of_patches_know_time(model: VideoEncoder):
    trace = model.trace(clip(8))
    over = patches.over_image(trace, torch.arange(144.0))
    assert over[0, :7].tolist() == [0, 1, 2, 3, 4, 5, 36]
    distances = patches.attention_distances(trace)
    assert float(distances.max()) <= 4 * 5 * 2**0.5  # within a frame
    near, far = patches.neighbour_similarity(trace)
    assert max(abs(near), abs(far)) <= 1
    assert measure.patches.patch_norms(trace).patches.shape == (3, 144)


def test_occlusion_covers_one_tubelet(model: VideoEncoder):
    frames = clip(8)
    which = np.zeros((1, 144), dtype=bool)
    which[0, 7 * 12 + 5] = True  # of the sheet: step 2, row 1, column 5
    found = occlusion.covered(model, frames, which)
    changed = (found[0] != model.prepare(frames)).nonzero()
    assert changed[:, 0].unique().tolist() == [4, 5]
    assert changed[:, 2].unique().tolist() == [4, 5, 6, 7]
    assert changed[:, 3].unique().tolist() == [20, 21, 22, 23]


@pytest.mark.parametrize("ending", ["gif", "webp", "png", "tif"])
def test_a_file_of_frames(model: VideoEncoder, ending: str, tmp_path: Path):
    frames = [Image.new("RGB", (20, 16), (12 * index, 200 - 12 * index, 7)) for index in range(16)]
    options = {"lossless": True} if ending == "webp" else {}
    frames[0].save(tmp_path / f"clip.{ending}", save_all=True, append_images=frames[1:], **options)
    opened = model.open(tmp_path / f"clip.{ending}")
    assert len(opened) == 8  # every second one
    for index, frame in enumerate(opened.frames):
        assert frame.shape == (16, 20, 3)
        assert tuple(frame[3, 5]) == (24 * index, 200 - 24 * index, 7)
    assert torch.equal(model.prepare(opened), model.prepare([np.array(one) for one in frames]))


def test_a_folder_of_frames_is_in_the_order_of_its_numbers(model: VideoEncoder, tmp_path: Path):
    for index in range(12):
        Image.new("L", (10, 10), 20 * index).save(tmp_path / f"frame{index}.png")
    opened = model.open(tmp_path)
    assert [int(frame[0, 0]) // 20 for frame in opened.frames] == list(video.sampled(12, 8))


def wrong_inputs(place: Path) -> dict[str, Any]:
    (place / "empty").mkdir()
    (place / "text.gif").write_text("no image")
    return {
        "not a video": 3,
        "one image": np.zeros((24, 24, 3), np.uint8),
        "a picture": Image.new("RGB", (9, 9)),
        "nothing": [],
        "what is no image": ["a", "b"],
        "numbers too large": np.full((4, 9, 9, 3), 3.0),
    }


def test_what_is_no_video(model: VideoEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for given in wrong_inputs(tmp_path).values():
        with pytest.raises(ImageError, match=r": (specify|scale|stack)"):
            model.trace(given)
    with pytest.raises(EncoderError, match=r"prepare\(\)"):
        model.trace_pixels(torch.zeros(8, 3, 24, 20))
    for given in (3, None, np.zeros((2, 9, 9, 3))):
        with pytest.raises(ImageError, match="specify a path"):
            model.open(given)  # type: ignore[arg-type]
    for path in ("empty", "text.gif", "none.gif"):
        with pytest.raises(ImageError, match=r": (put|use|check)"):
            model.open(tmp_path / path)
    frames = [Image.new("RGB", (20, 16), (index, 0, 0)) for index in range(9)]
    frames[0].save(tmp_path / "clip.gif", save_all=True, append_images=frames[1:])
    for limit, value in (("MOST_FRAMES", 8), ("MOST_PIXELS", 9 * 20 * 16 - 1)):
        with monkeypatch.context() as patched:
            patched.setattr(video, limit, value)
            with pytest.raises(ImageError, match=r": (cut|scale)"):
                model.open(tmp_path / "clip.gif")


@pytest.mark.parametrize(
    "wrong", [{"cls": True}, {"tubelet": 9}, {"frames": -1}, {"norm": True}, {"table": (2, 2)}], ids=str
)
def test_sizes_that_are_none(wrong: dict[str, Any]):
    with pytest.raises(ConfigError):
        Patches(24, 4, **{"cls": False, "frames": 8, **wrong})


@pytest.mark.parametrize(
    "wrong", [{"num_frames": 1}, {"tubelet_size": 0}, {"patch_size": 25}, {"image_size": [24, 20]}, {"qv_bias": 3}]
)
def test_fields_that_describe_none(wrong: dict[str, Any], tmp_path: Path):
    folder = reference.write(model_of(), tmp_path / "model", None)
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **wrong}))
    with pytest.raises(LoadError):
        encoder.load(folder, device="cpu")
