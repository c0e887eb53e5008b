"""A classification head as one safetensors file: its weights, and its labels and options in the header."""

import dataclasses
import json
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.json_file import safetensors_texts
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.model.encoder import unfilled

FORMAT = "encoderscope head 1"


def head_to_bytes(head: Classifier, model: str = "") -> bytes:
    """The file. model: the name of the model whose vectors the head uses."""
    about = {"format": FORMAT, "model": model, "head": json.dumps(dataclasses.asdict(head.config))}
    weights = {name: value.detach().cpu().float().contiguous() for name, value in head.state_dict().items()}
    return save(weights, about)


def head_from_bytes(data: bytes) -> tuple[Classifier, str]:
    """The head, and the name of its model. Raises EncoderError for a damaged file, or a file of another kind."""
    try:
        weights = load(data)
        about = safetensors_texts(data)
    except (SafetensorError, ValueError, AttributeError) as error:
        what = quoted(str(error))
        raise EncoderError(f"This file is not a readable safetensors file ({what}): save the head again.") from None
    if about.get("format") != FORMAT:
        raise EncoderError("This file is not a head of Encoderscope: choose the file that the page Probes saved.")
    try:
        head = _filled(_config(json.loads(about["head"])), weights)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise EncoderError(f"This head does not fit together ({quoted(str(error))}): save it again.") from None
    return head.eval(), str(about.get("model", ""))


def _filled(config: ClassifierConfig, weights: dict[str, torch.Tensor]) -> Classifier:
    """The head with these weights. No memory is taken before their names and shapes fit. Raises ValueError."""
    shape = weights["dense.weight" if config.dense else "out.weight"].shape
    if len(shape) != 2:
        raise ValueError(f"a map of shape {tuple(shape)}")
    with unfilled():
        head = Classifier(shape[1], config)
    wanted = {name: tuple(value.shape) for name, value in head.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    if wanted != found:
        name = min(name for name in wanted | found if wanted.get(name) != found.get(name))
        raise ValueError(f"{name} has the shape {found.get(name)}, and its options make it {wanted.get(name)}")
    head.load_state_dict({name: value.float() for name, value in weights.items()}, assign=True)
    return head.requires_grad_(True)


def _config(fields: dict[str, Any]) -> ClassifierConfig:
    return ClassifierConfig(**fields | {"labels": tuple(str(label) for label in fields["labels"])})


def with_head(model: TextEncoder, head: Classifier) -> TextEncoder:
    """The model with this head in place of its own. Raises EncoderError where the head does not fit."""
    width = (head.dense or head.out).weight.shape[1]
    if width != model.config.d_model:
        raise EncoderError(
            f"This head accepts vectors of {width} numbers, and those of {model.name} have {model.config.d_model}: "
            "choose the model that it was trained on."
        )
    layer = head.config.layer
    if layer is not None and layer > model.config.n_layers:
        raise EncoderError(f"This head uses layer {layer}, and {model.name} has {model.config.n_layers} layers.")
    placed = Classifier(width, head.config)
    placed.load_state_dict(head.state_dict())
    placed = placed.to(device=model.device, dtype=model.encoder.dtype).eval()
    return dataclasses.replace(model, classifier=placed)


def linear_head(weight: torch.Tensor, bias: torch.Tensor, config: ClassifierConfig) -> Classifier:
    """A head of one linear map: weight [C, D], bias [C]."""
    head = Classifier(weight.shape[1], config)
    with torch.no_grad():
        head.out.weight.copy_(weight)
        head.out.bias.copy_(bias)
    return head.eval()
