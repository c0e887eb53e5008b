"""ModelKey: what names a model with all that changes its results."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from encoder.edits import Edit
from encoder.export.python_code import Origin

#: The tower of a key that names a model's decoder; the text's pair is then the target.
DECODER = "decoder"


@dataclass(frozen=True)
class ModelKey(Origin):
    """Which model runs, where and how: its origin, and what a trace depends on besides.

    source: also TRAINED and the id of a model that was trained here;
    window: number of the sliding window of a long text, None: its beginning; stride: tokens between windows, None: half
    a window; pad: padded length, None: no padding; padding: whether the trace keeps padding's rows and columns; edits:
    changes to the forward pass.
    """

    window: int | None = None
    stride: int | None = None
    pad: int | None = None
    padding: bool = False
    edits: tuple[Edit, ...] = ()

    @property
    def of_model(self) -> ModelKey:
        """The part of the key that names the model, without window, padding and edits."""
        if (self.window, self.stride, self.pad, self.padding, self.edits) == (None, None, None, False, ()):
            return self  # a page asks for it a hundred times
        return dataclasses.replace(self, window=None, stride=None, pad=None, padding=False, edits=())

    @property
    def of_checkpoint(self) -> ModelKey:
        """The part of the key that names what is loaded: without the encoder of a pair and moved norms."""
        key = self.of_model
        return key if (key.tower, key.norm) == ("", "trained") else dataclasses.replace(key, tower="", norm="trained")
