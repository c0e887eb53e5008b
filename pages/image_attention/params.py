"""The address parameters of the page “Image attention”."""

from __future__ import annotations

from dataclasses import dataclass

from pages.state.params import Param, choice, number
from pages.state.url_state import state

OVERLAYS = {"attention": "Attention", "weighted": "Norm-weighted", "rollout": "Rollout", "occlusion": "Occlusion"}


@state.register
@dataclass(frozen=True)
class Params:
    """overlay: the weights over the image; opacity: of their colours."""

    overlay: Param[str] = choice("attention", OVERLAYS, url="over_image")
    opacity: Param[float] = number(0.65, 0.0, 1.0, url="over_image_opacity")
