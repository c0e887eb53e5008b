"""A Trace as a file: `trace.save(file)` writes it, `encoder.open_trace(file)` opens it.

One file of safetensors: "values/NAME" for each recorded value, "mask", and "weights/NAME" for the encoder's weights.
Its metadata has the version, and as JSON the architecture, the tokens and the edits. Attention maps by themselves are a
file of `encoder.checkpoints.maps`.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from torch import Tensor

from encoder import disk
from encoder.checkpoints import trace_shapes
from encoder.checkpoints.json_fields import from_fields
from encoder.checkpoints.maps import NAME, open_maps
from encoder.edits import Edit, format, parse
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError, LoadError, quoted
from encoder.inputs.layout import Layout, PageGrid, PatchGrid, TubeletGrid
from encoder.inputs.sound_layout import SpectrogramGrid, TimeSteps
from encoder.model.config import EncoderConfig
from encoder.model.encoder import Encoder, unfilled
from encoder.trace.attention_maps import AttentionMaps
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace

FORMAT = "encoderscope trace 1"
LAYOUTS = {kind.__name__: kind for kind in (PageGrid, PatchGrid, SpectrogramGrid, TimeSteps, TubeletGrid)}
#: Fields of a Trace that are JSON as they are.
PLAIN = ("tokens", "labels", "ids", "n_left_out")
#: Further fields of a DecoderTrace: tensors, and JSON.
OF_DECODER = ("memory_mask", "log_probabilities")
PLAIN_OF_DECODER = ("memory_labels", "next_ids", "n_prompt")


def save(trace: Trace, file: str | Path, *, weights: bool = True) -> Path:
    """`Trace.save`."""
    from safetensors.torch import save as to_bytes

    path = Path(file)
    if isinstance(trace, AttentionMaps) and trace.decoder is not None:
        tensors = {NAME: trace.decoder.values[NAME]}
        metadata = {"tokens": json.dumps(trace.decoder.tokens), "keys": json.dumps(trace.tokens)}
    elif isinstance(trace, AttentionMaps):
        tensors, metadata = {NAME: trace.maps}, {"tokens": json.dumps(trace.tokens)}
    else:
        tensors, about = _parts(trace, weights)
        metadata = {"format": FORMAT, "trace": json.dumps(about)}
    try:
        # Copies: values of one batch are parts of one tensor, which safetensors refuses.
        copies = {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}
        content = to_bytes(copies, metadata)
    except Exception as error:  # safetensors has errors of its own
        raise disk.not_written(str(path), error) from error
    return disk.write_file(path, content)


def _parts(trace: Trace, weights: bool) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a trace, and the rest of it as JSON; those of `trace.decoder` begin with "decoder/"."""
    if any(type(edit).resolve is not Edit.resolve for edit in trace.edits):
        raise EncoderError("An edit of this trace takes values from another run: save a trace without it.")
    tensors = {f"values/{name}": value for name, value in trace.values.items()} | {"mask": trace.mask}
    if weights:
        tensors |= {f"weights/{name}": value for name, value in trace.encoder.state_dict().items()}
    about = {name: getattr(trace, name) for name in PLAIN} | {"edits": format(trace.edits)}
    about |= {"config": dataclasses.asdict(trace.config), "source": None, "layout": None}
    if trace.source is not None:
        about["source"] = dataclasses.asdict(trace.source)
    if dataclasses.is_dataclass(trace.layout):
        about["layout"] = {"kind": type(trace.layout).__name__, "fields": dataclasses.asdict(trace.layout)}
    if isinstance(trace, DecoderTrace):
        tensors |= {name: getattr(trace, name) for name in OF_DECODER}
        about |= {name: getattr(trace, name) for name in PLAIN_OF_DECODER}
    if trace.decoder is not None:
        found, about["decoder"] = _parts(trace.decoder, weights)
        tensors |= {f"decoder/{name}": value for name, value in found.items()}
    return tensors, about


def open_trace(file: str | Path, model: NamedEncoder | None = None) -> Trace:
    """Open what `Trace.save` wrote, or a file of attention maps.

    model: whose weights are used; it is needed where the file has none, and where outcomes or gradients are computed.
    Raises LoadError for a file of another kind or version, a broken one, and a model of another architecture.
    """
    from safetensors import safe_open

    path = Path(file)
    try:
        disk.check_regular(path)
        with safe_open(path, framework="pt") as opened:
            metadata: dict[str, str] = opened.metadata() or {}
            if metadata.get("format") == FORMAT:
                about = json.loads(metadata["trace"])
                shapes = {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118
                trace_shapes.check(about, shapes)
                return _made({name: opened.get_tensor(name) for name in shapes}, about, path, model)
    except LoadError:
        raise
    except OSError as error:
        raise LoadError(f"{path.name} cannot be read ({error.strerror or error}): check its path.") from error
    except Exception as error:  # whatever a foreign header makes of the libraries below
        said = quoted(str(error)) if str(error) else type(error).__name__
        raise LoadError(f"{path.name} is not a readable trace ({said}): save it again.") from error
    maps = open_maps(path)
    if isinstance(maps, AttentionMaps):
        return maps
    found = quoted(metadata.get("format", "no format"))
    raise LoadError(f"{path.name} has {found}, and this version opens {FORMAT!r}: save the trace again.")


class _Recorded(dict[str, Tensor]):
    """The values of a file. One that is not there was not recorded."""

    def __missing__(self, name: str) -> Tensor:
        raise EncoderError(f"This trace has no value {quoted(name)}: record it again.")


def _made(tensors: dict[str, Tensor], about: dict[str, Any], path: Path, model: NamedEncoder | None) -> Trace:
    config = from_fields(EncoderConfig, about["config"], "config")
    weights = _under("weights/", tensors)
    if model is not None:
        encoder = model.encoder
        if encoder.config != config:
            raise LoadError(f"{path.name} is a trace of another architecture than {model.name}: choose its model.")
    elif not weights:
        raise LoadError(f"{path.name} has no weights: open_trace(file, model) with the model that made the trace.")
    else:
        with unfilled():
            encoder = Encoder(config)
        encoder.load_state_dict(weights, strict=True, assign=True)
    layout, source = about["layout"], about["source"]
    edits = parse(about["edits"])
    kind: type[Trace] = Trace
    more: dict[str, Any] = {}
    if "next_ids" in about:
        kind = DecoderTrace
        more |= {name: tensors[name] for name in OF_DECODER}
        more |= {name: trace_shapes.tuples(about[name]) for name in PLAIN_OF_DECODER}
    elif about.get("decoder") is not None:
        writer = None if model is None else model.decoder
        more["decoder"] = _made(_under("decoder/", tensors), about["decoder"], path, writer)
    return kind(
        encoder=encoder.eval(),
        mask=tensors["mask"],
        values=MappingProxyType(_Recorded(_under("values/", tensors))),
        model=model,
        source=None if source is None else trace_shapes.source_of(source),
        layout=None if layout is None else _layout_of(layout, len(tensors["mask"])),
        edits=edits,
        applied=edits,
        **{name: trace_shapes.tuples(about[name]) for name in PLAIN},
        **more,
    )


def _layout_of(layout: Mapping[str, Any], n_tokens: int) -> Layout:
    made: Layout = from_fields(LAYOUTS[layout["kind"]], layout["fields"], "layout")
    return trace_shapes.fitting(made, n_tokens)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
