"""The values of the page “Head atlas” in the address, beside the atlas and the open head."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.measure.head_definitions import HEAD_MEASURES
from pages.core.corpora.atlases import AtlasParams as AtlasParams  # registered before the first run
from pages.state.params import Head, Param, choice, heads, string
from pages.state.url_state import state

#: Name -> title.
MEASURES = {one.name: one.title for one in HEAD_MEASURES}
PARTS = {"texts": "Examples", "offsets": "Offsets", "spread": "Spread", "labels": "Labels", "similar": "Similar"}


@state.register
@dataclass(frozen=True)
class Params:
    """The measure, the second atlas, and the open part of the head's card."""

    measure: Param[str] = choice("previous", MEASURES, url="atlas_measure")
    against: Param[str] = string(url="atlas_against", public="an atlas of this server, chosen from a list")
    card: Param[str] = choice("texts", PARTS, url="atlas_card")
    label: Param[str] = string(url="atlas_label", public="a label of the atlas, chosen from a list")
    # The open head of an atlas of another model than the sidebar's.
    foreign: Param[list[Head]] = heads(1, url="atlas_head")
