"""A model that is already in memory, of transformers or sentence-transformers -> an encoder that shares its weights.

Neither library is imported here: their objects are known by what they have. What is small (config, tokenizer, settings)
is written by the object's own methods into a temporary folder, and read as any checkpoint is. The weights
are never written: `LiveWeights` stands in for the files.
"""

import contextlib
import dataclasses
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from encoder.checkpoints.folder import Loaded, load_folder
from encoder.checkpoints.generation import named
from encoder.checkpoints.tokenizer_classes import AS_SAVED
from encoder.checkpoints.weights import NUMBERS, WeightFiles
from encoder.errors import EncoderError, LoadError, quoted
from encoder.model.device import DTYPES

#: Modules that wrap another and have their names before its weights -> how to get the one inside.
OUTER = {
    "PeftModel": "model.merge_and_unload()", "DataParallel": "model.module",
    "DistributedDataParallel": "model.module", "OptimizedModule": "the model as it was before torch.compile",
}  # fmt: skip
#: The end of an error for a model of an unknown family.
MAPS = "You can still look at its attention: encoder.attentions(maps, tokens), with the maps that the model gives."
#: Names of copied weights in a note.
MOST_NAMED = 3


class LiveWeights(WeightFiles):
    """The weights of a module in memory, in the place of files. Nothing is copied."""

    shares = True

    def __init__(self, folder: Path, module: nn.Module) -> None:
        self.folder = folder
        self._tensors: dict[str, Tensor] = {}
        state = module.state_dict()
        _check_state(state)
        for name, value in state.items():
            self._tensors |= _apart(name, value.detach())
        self._stored = dict.fromkeys(self._tensors)  # type: ignore[assignment]

    def _renamed(self, names: Mapping[str, str]) -> WeightFiles:
        """As of files."""
        some: Any = super()._renamed(names)
        some._tensors = {new: self._tensors[name] for name, new in names.items()}
        return some

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a weight."""
        return tuple(self._tensors[name].shape)

    def kinds(self) -> set[str]:
        """The number types of the weights, as safetensors names them; one that it has no name for, as torch does."""
        names = {one: name for name, one in NUMBERS.items()}
        return {names.get(one.dtype, str(one.dtype)) for one in self._tensors.values()}

    def read(self, name: str) -> Tensor:
        """The weight itself. Raises LoadError for one that is quantised or on no device."""
        found = self._tensors[name]
        if found.dtype not in NUMBERS.values() or found.is_meta:
            where = "on the meta device" if found.is_meta else f"of the type {found.dtype}"
            raise LoadError(
                f"The weight {quoted(name)} is {where}: load the model in float32 or bfloat16, then wrap it."
            )
        return found


def _check_state(state: dict[str, Any]) -> None:
    """Raise LoadError for weights that are quantised, and for a model with adapters in it."""
    if odd := next((name for name, value in state.items() if not isinstance(value, Tensor)), None):
        raise LoadError(f"The weight {quoted(odd)} is quantised: wrap the model as it was before.")
    if odd := next((name for name in state if ".lora_" in name or ".base_layer." in name), None):
        raise LoadError(
            f"The model has an adapter of PEFT ({quoted(odd)}): merge it by merge_and_unload() of its PeftModel, or "
            "save the adapter into a folder with config.json and model.safetensors of its base, and call encoder.load."
        )


def _apart(name: str, value: Tensor) -> dict[str, Tensor]:
    """A weight by its names on disk: in memory the weights of all experts are one, [E, ...]."""
    place, joined, maps = name.rpartition(".experts.")
    if not joined or maps not in ("gate_up_proj", "down_proj"):
        return {name: value}
    kinds = maps.removesuffix("_proj").split("_")
    return {
        f"{place}.experts.{expert}.{kind}_proj.weight": part
        for expert, one in enumerate(value)
        for kind, part in zip(kinds, one.chunk(len(kinds)), strict=True)
    }


def wrap(model: Any, tokenizer: Any = None) -> Loaded:
    """A live model of transformers or sentence-transformers -> an encoder over the same weights.

    tokenizer: its fast tokenizer; of an encoder of other inputs, its processor; None for a model of
    sentence-transformers, which has its own. A weight whose layout differs is copied, and `notes` names it: layer scale
    is multiplied into its map, and float16 becomes float32. All others are shared: train the model further, and the
    encoder follows. Raises LoadError for a family that is not known; its attention maps open by `encoder.attentions`.
    """
    parts = _parts(model, tokenizer)
    first = next(iter(parts[0].module.parameters()), None)
    if first is None:
        raise LoadError(f"This {type(model).__name__} has no weights: specify a model of transformers.")
    devices = {parameter.device for part in parts for parameter in part.module.parameters()}
    if len(devices) > 1:
        raise LoadError(f"This model is on several devices ({', '.join(map(str, devices))}): move it to one.")
    dtype = first.dtype if first.dtype in DTYPES.values() else torch.float32
    name = _name(model, parts[0].module)
    with tempfile.TemporaryDirectory() as place, _as_load_error(name), torch.inference_mode(False):
        folder = Path(place).resolve() / "model"
        live = {part.write(folder): part.module for part in parts}
        _write_steps(model, folder)
        found = load_folder(
            folder, first.device, dtype, weights=lambda inside: LiveWeights(inside, live[inside.resolve()])
        )
    copied = _copied(found, [part.module for part in parts])
    return dataclasses.replace(found, **named(found, name), notes=(*found.notes, *copied))


@contextlib.contextmanager
def _as_load_error(name: str) -> Iterator[None]:
    try:
        yield
    except EncoderError as error:
        raise LoadError(f"{name} cannot be wrapped. {error} {MAPS}") from error
    except Exception as error:  # the last resort: the object may be of any class that has these methods
        raise LoadError(f"{name} cannot be wrapped ({type(error).__name__}: {quoted(str(error))}). {MAPS}") from error


# --- what the object has -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class LivePart:
    """A module with weights, and what writes its settings: a model with its tokenizer, or a Dense map."""

    module: nn.Module
    path: str = ""
    tokenizer: Any = None

    def write(self, folder: Path) -> Path:
        """Write all but the weights, and return the folder."""
        place = (folder / self.path).resolve()
        place.mkdir(parents=True, exist_ok=True)
        config: Any = getattr(self.module, "config", None)
        if config is None:
            self.module.save_config(str(place))  # type: ignore[operator]
            return place
        fields = json.loads(config.to_json_string()) | {"architectures": [type(self.module).__name__]}
        fields["dtype"] = _number_type(self.module)  # config.dtype is what the model was loaded in
        (place / "config.json").write_text(json.dumps(fields), encoding="utf-8")
        writes: Any = getattr(self.module, "generation_config", None)
        if writes is not None:
            (place / "generation_config.json").write_text(writes.to_json_string(), encoding="utf-8")
        if self.tokenizer is not None:
            self.tokenizer.save_pretrained(str(place))
            _keep_splitting(self.tokenizer, place)
        return place


def _keep_splitting(tokenizer: Any, place: Path) -> None:
    """Let tokenizer_config.json say that tokenizer.json is taken as it is: a live tokenizer may have been changed."""
    path = place / "tokenizer_config.json"
    if not (place / "tokenizer.json").is_file():
        return
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    fields = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    fields |= {"tokenizer_class": AS_SAVED[0], "model_input_names": list(inner.model_input_names)}
    path.write_text(json.dumps(fields), encoding="utf-8")


def _number_type(module: nn.Module) -> str:
    """The number type of a module's weights, as config.json names it."""
    return str(next(module.parameters()).dtype).removeprefix("torch.")


def _parts(model: Any, tokenizer: Any) -> list[LivePart]:
    """The modules of an object whose weights are used. Raises LoadError for an object that is not such a model."""
    kind = type(model).__name__
    outer = next((one.__name__ for one in type(model).__mro__ if one.__name__ in OUTER), None)
    if outer is not None:
        raise LoadError(f"A {kind} wraps another model: specify {OUTER[outer]}.")
    if not isinstance(model, nn.Module):
        raise LoadError(f"wrap accepts a model in memory, not {kind}: for a name or a folder call encoder.load.")
    if _is_sentence_transformer(model):
        found = []
        modules: Any = model
        for index, module in enumerate(modules):
            inner = getattr(module, "auto_model", None)
            if inner is not None:
                found.append(LivePart(inner, tokenizer=tokenizer or getattr(module, "processor", module.tokenizer)))
            elif next(module.parameters(), None) is not None:
                found.append(LivePart(module, f"{index}_{type(module).__name__}"))
        return found
    if not hasattr(getattr(model, "config", None), "to_json_string"):
        raise LoadError(f"A {kind} has no config of transformers, so its architecture is not known. {MAPS}")
    if tokenizer is None:
        raise LoadError(f"A {kind} needs its tokenizer, or its processor: wrap(model, tokenizer).")
    if not hasattr(tokenizer, "save_pretrained"):
        raise LoadError(f"{type(tokenizer).__name__} is not a tokenizer of transformers: specify AutoTokenizer's.")
    return [LivePart(model, tokenizer=tokenizer)]


def _is_sentence_transformer(model: Any) -> bool:
    return isinstance(model, nn.Sequential) and len(model) > 0 and hasattr(model[0], "auto_model")


def _write_steps(model: Any, folder: Path) -> None:
    """modules.json and the settings of each module, where the object is of sentence-transformers."""
    if not _is_sentence_transformer(model):
        return
    activation = getattr(model, "activation_fn", None)  # of a cross-encoder
    listed = []
    for index, module in enumerate(model):
        kind = type(module).__name__
        path = "" if hasattr(module, "auto_model") else f"{index}_{kind}"
        listed.append({"idx": index, "name": str(index), "path": path, "type": f"{type(module).__module__}.{kind}"})
        if path:
            (folder / path).mkdir(parents=True, exist_ok=True)
            module.save_config(str(folder / path))
    (folder / "modules.json").write_text(json.dumps(listed), encoding="utf-8")
    first: Any = model[0]
    own: dict[str, Any] = getattr(first, "get_config_dict", dict)()
    keys = ("transformer_task", "modality_config", "module_output_name", "processing_kwargs")
    limits = {"max_seq_length": first.max_seq_length} | {key: own[key] for key in keys if key in own}
    more = ("query_length", "document_length", "query_expansion")  # of late interaction
    limits |= {name: getattr(first, name) for name in more if getattr(first, name, None) is not None}
    (folder / "sentence_bert_config.json").write_text(json.dumps(limits), encoding="utf-8")
    names = ("prompts", "default_prompt_name", "truncate_dim")
    settings = {name: getattr(model, name) for name in names if getattr(model, name, None) is not None}
    if activation is not None:
        settings["activation_fn"] = f"{type(activation).__module__}.{type(activation).__name__}"
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings), encoding="utf-8")


def _name(model: Any, module: Any) -> str:
    """A name for people: the checkpoint's that the model came from, else its class."""
    path = str(getattr(module.config, "name_or_path", "") or "").rstrip("/")
    return path.rsplit("/", 1)[-1] or type(model).__name__


def _copied(found: Any, modules: list[nn.Module]) -> tuple[str, ...]:
    """A sentence that names the weights that could not be shared."""
    theirs = {value.untyped_storage().data_ptr() for module in modules for value in module.state_dict().values()}
    ours: dict[str, Tensor] = {}
    for kind, tower in found.towers.items():
        before = f"{kind}." if len(found.towers) > 1 else ""
        for name, module in {"encoder": tower.encoder, **tower.heads}.items():
            place = before if name == "encoder" else f"{before}{name}."
            ours |= {place + key: value for key, value in module.state_dict().items()}
    names = [name for name, value in ours.items() if value.untyped_storage().data_ptr() not in theirs]
    if not names:
        return ()
    shown = ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
    return (f"Copied, not shared: {len(names)} of {len(ours)} weights ({shown}). Wrap the model again after training.",)
