"""A trained task as one safetensors file, for a download and an upload: weights, with the settings in the header.

A file may come from anywhere. Only tensors and text are read, and each is checked against the settings before a model
is built.
"""

import dataclasses
import json

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from encoder.errors import EncoderError, LoadError, quoted
from encoder.inputs.json_file import safetensors_texts
from encoder.train.run_view import HeldOut
from encoder.train.settings import TaskSettings
from encoder.train.task_model import TaskModel, TrainedTask

#: Larger files are refused; the largest run of the page takes about 40 MB.
MAX_BYTES = 64_000_000
FORMAT = "encoderscope task 1"
_SETTINGS, _STEP = "settings", "step"


def to_bytes(task: TrainedTask) -> bytes:
    """One file: `encoder.*` and `head.*` in float32, and in the header the settings as JSON and the step."""
    about = {"format": FORMAT, _SETTINGS: json.dumps(dataclasses.asdict(task.settings)), _STEP: str(task.step)}
    weights = {name: value.detach().float().cpu().contiguous() for name, value in task.model.state_dict().items()}
    return save(weights, about)


def from_bytes(data: bytes, name: str = "This file") -> TrainedTask:
    """Read what `to_bytes` wrote. name: what an error calls the file.

    Raises LoadError with the reason for a file that is too large, not safetensors, of another kind, or damaged.
    """
    if len(data) > MAX_BYTES:
        raise LoadError(f"{name} has {len(data) / 1e6:,.0f} MB: choose a file of at most {MAX_BYTES // 10**6} MB.")
    weights, about = _parsed(data, name)
    settings, step = _settings(about, name)
    config, task = settings.config(), settings.make_task()
    with torch.device("meta"):  # shapes only: a header that asks for a huge model gets no memory
        empty = TaskModel(config, len(task.classes))
    wanted = {key: tuple(value.shape) for key, value in empty.state_dict().items()}
    _check(weights, wanted, name)
    model = TaskModel(config, len(task.classes), registers=settings.registers)
    model.load_state_dict(weights)
    model.eval()
    return TrainedTask(settings, step, model)


def held_out_accuracy(task: TrainedTask) -> float:
    """Share of right answers on the held-out sequences of the run."""
    held_out = HeldOut.of(task.settings)
    return float((task.predict(held_out.inputs) == held_out.answers).float().mean())


def _parsed(data: bytes, name: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """(weights, metadata of the header)."""
    try:
        weights = load(data)
        about = safetensors_texts(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise LoadError(f"{name} is not a valid safetensors file: {quoted(str(error))}. Save the run again.") from error
    if about.get("format") != FORMAT:
        raise LoadError(
            f"{name} was not saved on this page. Open other checkpoints as a folder or Hub id, in the list of models."
        )
    return weights, about


def _settings(about: dict[str, str], name: str) -> tuple[TaskSettings, int]:
    known = {field.name: field.default for field in dataclasses.fields(TaskSettings)}
    try:
        fields = json.loads(about[_SETTINGS])
        step = int(about[_STEP])
        wrong = [key for key in fields if key not in known or not _same_kind(fields[key], known[key])]
        if wrong or step < 0:
            raise ValueError(f"{quoted(wrong[0])} has no valid value" if wrong else f"step {step} is negative")
        return TaskSettings(**fields), step
    except (EncoderError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LoadError(f"The settings in {name} are not valid ({quoted(str(error))}): save the run again.") from error


def _same_kind(value: object, default: object) -> bool:
    """Whether a JSON value has the type of the field; an integer is valid for a float."""
    allowed = (int, float) if isinstance(default, float) else (type(default),)
    return isinstance(value, allowed) and isinstance(value, bool) == isinstance(default, bool)


def _check(weights: dict[str, Tensor], wanted: dict[str, tuple[int, ...]], name: str) -> None:
    for key in sorted(set(wanted) ^ set(weights)):
        problem = "lacks" if key in wanted else "has a surplus"
        raise LoadError(f"{name} {problem} tensor {quoted(key)}: save the run again.")
    for key, value in weights.items():
        if tuple(value.shape) != wanted[key]:
            raise LoadError(f"{key} in {name} has shape {list(value.shape)}; its settings say {list(wanted[key])}.")
        if not value.is_floating_point() or not bool(torch.isfinite(value).all()):
            raise LoadError(f"{key} in {name} holds numbers that are not finite: train the run again.")
