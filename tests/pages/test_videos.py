"""Pages with a video in place of a sentence: frames side by side, uploads, the pages that cannot take one."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from streamlit.testing.v1 import AppTest

import encoder
from encoder import explain
from encoder.inputs import example_videos
from encoder.measure import patches
from pages.base.access import visitors
from tests.load import every_family
from tests.pages.apps import assert_well, sentences, visit, words, written
from tests.pages.test_model import picture
from tests.test_components import unpack

#: Pages that show a video, with the values that open its parts.
PAGES: dict[str, dict[str, str]] = {
    "heads": {"view": "text", "i": "30"},
    "contribution": {"beyond": "deletion"},
    "feed_forward": {},
    "interventions": {},
    "norms": {"norm_part": "others"},
    "positions": {},
    "pre_post": {},
    "predict": {},
    "texts": {},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    case = every_family.VIDEOS["videomae"]
    return every_family.write(case, case.make(), tmp_path_factory.mktemp("videos") / "tiny-video")


@pytest.fixture(autouse=True)
def own_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)


def opened(folder: Path, page: str, **values: str) -> AppTest:
    return visit(page, model="other", source=str(folder), closed=True, **values)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_a_video(folder: Path, page: str):
    app = opened(folder, page, **PAGES[page])
    assert_well(app)
    assert not [one for one in app.caption if "swap_horiz" in one.value]


@pytest.mark.parametrize("page", ["diagnose", "probes"])
def test_a_page_without_videos_says_so(folder: Path, page: str):
    app = opened(folder, page)
    assert_well(app)
    assert any("uses videos" in one.value for one in app.caption)


def drawn(app: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    found = [one.proto for one in app.get("bidi_component") if one.proto.component_name == "encoderscope_patch_map"]
    return unpack(found[0].bytes)


def test_heads_lays_weights_over_the_frames(folder: Path):
    app = opened(folder, "heads", i="30", layer="1", head="2")
    header, arrays = drawn(app)
    model = encoder.load(folder, device="cpu")
    trace = model.trace(example_videos.clip("digits"))
    over = patches.over_image(trace, trace.attention(1, 2, slice(30, 31))[0])
    np.testing.assert_allclose(arrays["weights"], over, atol=1e-5)
    assert header["tile"] == 3
    assert header["names"][3] == "f2-3 r0 c0"  # the second frame is to the right of the first
    assert arrays["image"].shape == (48, 48, 3)
    assert "f6\\-7 r1 c0" in words(app)


def file_of(n_frames: int) -> bytes:
    frames = [Image.new("RGB", (30, 26), (20 * index, 0, 90)) for index in range(n_frames)]
    content = io.BytesIO()
    frames[0].save(content, "GIF", save_all=True, append_images=frames[1:])
    return content.getvalue()


def test_the_numbers_of_a_video_are_checked(folder: Path, monkeypatch: pytest.MonkeyPatch):
    place = {"start": "1", "layer": "1", "head": "2", "i": "3", "j": "5", "step": "scores", "check": "1"}
    header = picture(opened(folder, "model", **place))
    model = encoder.load(folder, device="cpu")
    score = float(model.trace(example_videos.clip("digits")).scores(1, 2)[3, 5])
    name, shown, *_, agrees, count = header["parts"]["scores"]["checks"][0]
    assert (name, agrees, count) == ("scores", True, 36)
    assert shown == pytest.approx(score, abs=1e-4)
    monkeypatch.setattr(explain, "LONGEST_CHECK", 30)
    assert "fewer tokens" in picture(opened(folder, "model", **place))["checkSaid"]


def test_frames_of_ones_own(folder: Path):
    app = opened(folder, "heads", video_from="file")
    upload = app.file_uploader(key="video-file")
    app = upload.set_value([("clip.gif", file_of(11), "image/gif")]).run()
    assert_well(app)
    name = np.atleast_1d(app.query_params["video"])[0]
    assert name.startswith("frames-8-")
    elsewhere = opened(folder, "heads", video=name)
    assert "link" in sentences(elsewhere)  # the file stays in the other session
    one = app.file_uploader(key="video-file").set_value([("clip.gif", file_of(3), "image/gif")]).run()
    assert "frames are repeated" in written(one)
    broken = app.file_uploader(key="video-file").set_value([("clip.gif", b"no frames", "image/gif")]).run()
    assert not broken.exception
    assert len(broken.error) == 1


def test_the_clips_move():
    for name in example_videos.CLIPS:
        frames = torch.from_numpy(example_videos.clip(name).astype(np.float32))
        assert frames.shape[0] == example_videos.FRAMES
        assert frames.shape[1:3] == (frames.shape[1],) * 2
        assert float(frames.diff(dim=0).abs().amax(dim=(1, 2, 3)).min()) > 0
