"""The recorded runs that the page shows before anyone trains: `recipes/tasks` trains them and writes the file."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from encoder.errors import EncoderError
from encoder.inputs.json_file import safetensors_texts
from encoder.train.curves import DATA
from encoder.train.run_view import Frame, RunView
from encoder.train.settings import TaskSettings

FILE = DATA / "training_runs.safetensors"
#: The changes of what is recorded to a task's own settings: here the two placements differ.
DEEP = {"n_layers": 12, "warmup_steps": 0, "steps": 120}
RUNS = {
    f"{placement}-norm": TaskSettings(norm_placement=placement, record_every=6, frames=20, **DEEP)  # type: ignore[arg-type]
    for placement in ("pre", "post")
}
_COLUMNS = ("step", "loss", "held_out_loss", "accuracy", "learning_rate", "seconds")
_FRAME = ("steps", "sample", "mean", "predicted", "sinks")
#: Attention maps, kept as float16: a weight is off by at most 0.0003.
_MAPS = ("sample", "mean")


@dataclass(frozen=True, eq=False)
class Recording:
    """Finished runs by name. made: the date, and the version of torch."""

    views: dict[str, RunView]
    made: str


def to_bytes(views: Mapping[str, RunView], made: str) -> bytes:
    """One safetensors file: curves, losses and attention maps (float16); in the header the settings as JSON."""
    arrays: dict[str, np.ndarray] = {}
    for number, view in enumerate(views.values()):
        frames = view.frames
        found = {
            "losses": np.array(view.losses, dtype=np.float32),
            "curve": np.array([[point[name] for name in _COLUMNS] for point in view.curve]),
            "steps": np.array([frame.step for frame in frames]),
            **{name: np.stack([getattr(frame, name) for frame in frames]) for name in _FRAME[1:]},
        }
        found |= {name: found[name].astype(np.float16) for name in _MAPS}
        arrays |= {f"{number}.{name}": array for name, array in found.items()}
    about = {name: dataclasses.asdict(view.settings) for name, view in views.items()}
    return save(arrays, {"runs": json.dumps(about), "made": made})


def from_bytes(data: bytes) -> Recording:
    """Read what `to_bytes` wrote."""
    arrays = load(data)
    about = safetensors_texts(data)
    views = {}
    for number, (name, settings) in enumerate(json.loads(about["runs"]).items()):
        own = {part: arrays[f"{number}.{part}"] for part in ("losses", "curve", *_FRAME)}
        own |= {part: own[part].astype(np.float32) for part in _MAPS}
        if own["sinks"].shape[-1] == 4:  # recorded before ranks were
            own["sinks"] = np.pad(own["sinks"], [(0, 0)] * 3 + [(0, 1)], constant_values=np.nan)
        frames = zip(*(own[part] for part in _FRAME), strict=True)
        curve = tuple(dict(zip(_COLUMNS, map(float, row), strict=True)) for row in own["curve"])
        views[name] = RunView(
            settings=TaskSettings(**settings),
            status="done",
            active=False,
            step=len(own["losses"]),
            seconds=curve[-1]["seconds"],
            losses=tuple(map(float, own["losses"])),
            curve=curve,
            frames=tuple(Frame(int(step), *maps) for step, *maps in frames),
        )
    return Recording(views, about["made"])


@cache
def recorded(path: Path = FILE) -> Recording:
    """The recorded runs. Raises EncoderError without the file."""
    if not path.is_file():
        raise EncoderError(f"{path.name} is missing: record it with python -m recipes.tasks.")
    return from_bytes(path.read_bytes())
