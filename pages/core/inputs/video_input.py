"""The chosen video: an example, an animation or image files. Its name in the address is `video`.

A video of a visitor stays in the session (`file_input`), as the frames that the open model accepts.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image

from encoder import VideoEncoder
from encoder.inputs import example_videos, image_files, video
from encoder.inputs.video import Video
from pages.core.inputs import kept_file
from pages.core.inputs.file_input import FileInput
from pages.core.inputs.image_input import SHOWN_SIDE
from pages.core.stores import input_kinds
from pages.core.words import errors_said, plain
from pages.state import Param, choice, state, string

WAYS = {"example": "Example", "file": "Your frames"}
CLIPS = {"digits": "Two moving digits", "pan": "A pan over a temple"}
#: The longer side of a kept frame, in pixels.
KEPT_SIDE = 512
#: Files of one upload.
MOST_FILES = 200


@state.register
class VideoParams:
    """video: the name of the input; way: where the next one comes from."""

    video: Param[str] = string()
    way: Param[str] = choice("example", WAYS, url="video_from")


@cache
def clip(name: str) -> Video:
    """An example."""
    return Video(tuple(example_videos.clip(name)))


class VideoInput(FileInput):
    """Videos. The name of an own one says for how many frames it was sampled."""

    kind, own = "video", "frames-"
    most_bytes = image_files.MOST_BYTES

    def examples(self, model: VideoEncoder) -> Mapping[str, str]:
        return CLIPS

    def first(self, model: VideoEncoder) -> str:
        return next(iter(CLIPS))

    def bundled(self, model: VideoEncoder, name: str) -> Any:
        return clip(name) if name in CLIPS else None

    def is_of_this_model(self, model: VideoEncoder, name: str) -> bool:
        return name.startswith(f"{self.own}{model.patches.frames}-")

    def whole(self, model: VideoEncoder, name: str) -> Any:
        if name not in CLIPS and not self.is_of_this_model(model, name):
            raise self._missing()
        return super().whole(model, name)

    def names(self, model: VideoEncoder) -> dict[str, str]:
        found = super().names(model)
        return {name: title for name, title in found.items() if name in CLIPS or self.is_of_this_model(model, name)}

    def title(self, name: str) -> str:
        return CLIPS.get(name) or super().title(name)

    def controls(self, model: VideoEncoder) -> None:
        super().controls(model)
        given, wanted = len(self.find(model, self.current(model))), model.patches.frames
        if given < wanted:
            st.caption(f"The model accepts {wanted} frames; this video has {given}, so frames are repeated.")

    def choose_way(self, model: VideoEncoder) -> str:
        return state.segmented(self.way, "Video from", WAYS, width="content", label_visibility="collapsed")

    def endings(self) -> list[str]:
        return list(dict.fromkeys((*video.ENDINGS, *image_files.ENDINGS)))

    def take_files(self, model: VideoEncoder) -> None:
        """One animation, or an image for each frame, in the order of their names."""
        with errors_said():
            files = kept_file.upload_many(
                "One animation (GIF, WebP, PNG, TIFF), or an image for each frame",
                "video-file", "video", self.endings(), self.most_bytes, MOST_FILES,
            )  # fmt: skip
            files.sort(key=lambda file: video.by_number(file.name))
            seen, key = (model.patches.frames, *(file.file_id for file in files)), "_video_file"
            if files and st.session_state.get(key) != seen:
                called = plain(files[0].name) if len(files) == 1 else f"{len(files)} images"
                name = self._kept(model, [file.getvalue() for file in files], files[0].name, called)
                st.session_state[key] = seen
                self.choose(name)

    def _kept(self, model: VideoEncoder, contents: Sequence[bytes], file: str, called: str) -> str:
        """The name of a video, which is kept."""
        count = model.patches.frames
        opened = (
            video.open_video(contents[0], count, file) if len(contents) == 1 else video.of_pictures(contents, count)
        )
        digest = hashlib.sha256(b"".join(hashlib.sha256(one).digest() for one in contents)).hexdigest()[:32]
        return self.keep(f"{self.own}{count}-{digest}", f"{called} ({len(opened)} frames)", _smaller(opened))

    def code(self, model: VideoEncoder, name: str) -> tuple[str, str]:
        if name in CLIPS:
            return "from encoder.inputs import example_videos", f'example_videos.clip("{name}")'
        return "", 'model.open("your-video.gif")'

    def shown(self, model: VideoEncoder, name: str) -> np.ndarray:
        """The first frame of each time step as the model sees it, side by side: uint8 [H, W, 3]."""
        found = Image.fromarray(model.picture(self.find(model, name)))
        found.thumbnail((SHOWN_SIDE, SHOWN_SIDE))
        return np.array(found)


def _smaller(opened: Video) -> Video:
    frames = []
    for frame in opened.frames:
        image = Image.fromarray(frame)
        image.thumbnail((KEPT_SIDE, KEPT_SIDE))
        frames.append(np.array(image))
    return Video(tuple(frames))


VIDEOS = VideoInput(VideoParams.video, VideoParams.way)
input_kinds.SOURCES["video"] = VIDEOS
