"""A recorded run of the probes, which the page shows before anyone trains them.

`python -m encoder.probe.recorded` trains them again, which takes minutes, and writes the file.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from encoder import disk
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.inputs.json_file import safetensors_texts
from encoder.probe.features import VIEWS, View, extract
from encoder.probe.linear import Curve, Score, accuracy_by_layer
from encoder.probe.tasks import bundled

FILE = Path(__file__).parents[1] / "data" / "probes.safetensors"
#: What is recorded: a bundled model, a bundled task, and the vectors of one token.
MODEL, TASK = "minilm", "word_pos"
RECORDED: tuple[View, ...] = ("token", "mean", "cls")


def to_bytes(curves: dict[View, Curve]) -> bytes:
    """One safetensors file: predictions of every layer as bytes; the names of the classes in the header."""
    arrays: dict[str, np.ndarray] = {}
    about: dict[str, object] = {}
    for view, curve in curves.items():
        for part, scores in (("scores", curve.scores), ("controls", curve.controls)):
            arrays[f"{view}.{part}.predicted"] = np.stack([one.predicted for one in scores]).astype(np.uint8)
            arrays[f"{view}.{part}.right"] = np.stack([one.right for one in scores]).astype(np.uint8)
            about[f"{view}.{part}"] = scores[0].classes
        about[f"{view}.n_cut"] = curve.n_cut
    return save(arrays, {"about": json.dumps(about)})


def from_bytes(data: bytes) -> dict[View, Curve]:
    """Read what `to_bytes` wrote."""
    arrays = load(data)
    about = json.loads(safetensors_texts(data)["about"])

    def scores(view: str, part: str) -> tuple[Score, ...]:
        rows = zip(arrays[f"{view}.{part}.predicted"], arrays[f"{view}.{part}.right"], strict=True)
        classes = tuple(about[f"{view}.{part}"])
        return tuple(Score(classes, predicted.astype(int), right.astype(bool)) for predicted, right in rows)

    return {
        view: Curve(view, scores(view, "scores"), scores(view, "controls"), about[f"{view}.n_cut"])
        for view in VIEWS
        if f"{view}.scores" in about
    }


@cache
def recorded(path: Path = FILE) -> dict[View, Curve]:
    """View -> the recorded curve of MODEL on TASK. Raises EncoderError without the file."""
    if not path.is_file():
        raise EncoderError(f"{path.name} is missing: record it with python -m encoder.probe.recorded.")
    return from_bytes(path.read_bytes())


def main() -> None:
    """Train the probes and write the file."""
    from encoder.checkpoints import load

    task = bundled(TASK)
    model = load(MODEL, device="cpu")
    assert isinstance(model, TextEncoder)
    features = extract(model, task)
    disk.write_file(FILE, to_bytes({view: accuracy_by_layer(features, task, view) for view in RECORDED}))


if __name__ == "__main__":
    main()
