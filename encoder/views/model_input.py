"""What the model's picture shows next to its rows: the text, image, video or sound that the tokens come from.

Shapes: T tokens of the trace, W tokens of the window, H x W pixels of an image, N samples, P parts of a waveform.
"""

import base64
import io

import numpy as np
import torch
from PIL import Image

from encoder.errors import EncoderError
from encoder.explain.place import Place
from encoder.inputs.layout import PatchGrid
from encoder.inputs.sound import Sound
from encoder.measure.sounds import sound_layout
from encoder.trace.trace import Trace

#: The longest text whose tokens are named in its strip; of a longer one the strip shows numbers only.
NAMED_TOKENS = 1_024
#: The longer side of an image, in pixels; a smaller one travels without loss.
MOST_PIXELS, LOSSLESS_PIXELS = 256, 64
#: Parts of a waveform, each as its lowest and its highest sample.
WAVE_PARTS = 480

Given = Sound | np.ndarray


def beside(
    trace: Trace, place: Place, window: slice, query: int | None, given: Given | None
) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """The input as a whole: values of the header, and arrays.

    `received` [T], float32: the weights of the query in the open head, or without one, their mean over the window.
    given: uint8 [H, W, 3] or [H, W], an image as the model sees it, or a video's frames side by side; or the Sound; of
    a text nothing is needed.
    Raises EncoderError for an array of another shape, and for an input that is not the trace's.
    """
    rows = window if query is None else slice(query, query + 1)
    received = trace.attention(place.layer, place.head, rows).float().mean(dim=0).cpu().numpy()
    header: dict[str, object] = {"kind": trace.kind, "of": query}
    arrays = {"received": received.astype(np.float32)}
    if trace.kind == "text" and trace.n_tokens <= NAMED_TOKENS:
        header["labels"] = list(trace.labels)
    elif isinstance(trace.layout, PatchGrid):
        grid = trace.layout
        header |= {"rows": grid.rows, "columns": grid.columns, "patches": list(grid.patches), "tile": grid.tile}
        if trace.kind == "video":  # the sheet's rows are not those of a frame
            header["labels"] = list(trace.labels)
        if given is not None:
            header |= _image(given, MOST_PIXELS * (2 if grid.tile else 1))
    elif trace.kind == "sound":
        spans = sound_layout(trace).spans
        header["spans"] = [
            None if span is None else [round(span.start, 4), round(span.end, 4), span.band] for span in spans
        ]
        if given is not None:
            wave, header["seconds"] = _wave(given)
            arrays["wave"] = wave
    return header, arrays


def _image(given: Given, most: int) -> dict[str, object]:
    """The image as a data URI, its longer side at most so many pixels; smooth: whether it is large enough to be drawn
    with smoothing."""
    if not isinstance(given, np.ndarray) or given.dtype != np.uint8 or given.shape[2:] not in ((), (3,)):
        raise EncoderError("This trace is of an image: specify its pixels as uint8 [H, W, 3] or [H, W].")
    picture, file = Image.fromarray(given), io.BytesIO()
    small = max(picture.size) <= LOSSLESS_PIXELS
    picture.thumbnail((most, most))
    picture.save(file, "PNG") if small else picture.save(file, "WEBP", quality=80)
    data = base64.b64encode(file.getvalue()).decode()
    return {"uri": f"data:image/{'png' if small else 'webp'};base64,{data}", "smooth": not small}


def _wave(given: Given) -> tuple[np.ndarray, float]:
    """float32 [2, P]: lowest and highest sample of each part, and the seconds of all parts together."""
    if not isinstance(given, Sound):
        raise EncoderError("This trace is of a sound: specify the encoder.inputs.sound.Sound that it was made from.")
    samples = torch.from_numpy(np.array(given.samples))
    parts = samples.tensor_split(min(WAVE_PARTS, len(samples)))
    return np.stack([[float(part.min()) for part in parts], [float(part.max()) for part in parts]]).astype(
        np.float32
    ), given.seconds
