"""Python lines that make the model and the trace of a run again, so that a notebook gives the same numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from encoder.edits import Edit, format
from encoder.errors import EncoderError
from encoder.inputs.boxes import boxes_of
from encoder.inputs.nodes import given_nodes
from encoder.model.config import EncoderConfig
from encoder.run.values import DECODER, INVOICE, Media, ModelSpec, Run, Text
from encoder.trace.trace import Trace


def run_of(trace: Trace, model: ModelSpec) -> Run:
    """The run that makes the trace of a text again. A window of a long text becomes the beginning of the text.

    Raises EncoderError for a trace whose input is not text.
    """
    if trace.source is None:
        raise EncoderError("This trace is not of a text: its input is not in it.")
    length = batch_length(trace)
    shown = length is not None and not trace.n_left_out
    given = Text(
        trace.source.text,
        trace.source.pair,
        pad_to=length,
        padding=shown,
        boxes=boxes_of(trace.source),
        nodes=given_nodes(trace.source),
    )
    return Run(model, given, edits=trace.edits)


def model_lines(model: ModelSpec, name: str = "model") -> str:
    """The Python expression that makes a model again, as an assignment to `name`."""
    options = "" if model.device == "auto" else f", device={model.device!r}"
    dtype = "" if model.dtype == "float32" else f", dtype={model.dtype!r}"
    if model.untrained is not None:
        fields = ", ".join(f"{field}={value!r}" for field, value in config_fields(model.config).items())
        tokenizer = 'encoder.load("minilm").tokenizer'
        options = options if model.device in ("cpu", "cuda", "mps") else ""
        config = f"encoder.EncoderConfig({fields})"
        return f"{name} = encoder.build({config}, {tokenizer}, seed={model.untrained.seed}{options}{dtype})"
    moved = "" if model.norm == "trained" else f'.with_norm_placement("{model.norm}")'
    tower = f".{model.tower}" if model.tower not in ("", DECODER) else ""
    return f"{name} = encoder.load({_quoted(model.source)}{options}{dtype}){tower}{moved}"


def config_fields(config: EncoderConfig) -> dict[str, object]:
    """The fewest fields that make this config again: those that defaults and other fields imply are left out."""
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    optional = [f.name for f in dataclasses.fields(config) if f.default is not dataclasses.MISSING]
    for name in optional:
        fewer = {field: value for field, value in fields.items() if field != name}
        if EncoderConfig(**fewer) == config:
            fields = fewer
    return fields


def python_lines(
    run: Run,
    result: str = "",
    expression: tuple[str, str] | None = None,
    edits: str = "",
    *,
    is_traced: bool = True,
) -> str:
    """Python that makes the trace of a run again, followed by the lines `result` that give the numbers shown.

    result: uses the names `model` and `trace`; expression: of an input that is not text, an import and the Python
    expression that it needs, by default a file that the model opens; edits: lines that make the name `edits`, where
    the run's own edits need inputs that are not text; is_traced: False where `result` needs no `trace`.
    """
    if not is_traced:
        return _joined("import encoder", model_lines(run.model), result)
    imports, _ = expression or ("", "")
    opened = model_lines(run.model)
    if isinstance(run.input, Text) and run.input.page is not None:
        imports = "from encoder.inputs import example_page" if run.input.page == INVOICE else ""
        opened += f"\nmodel = model.with_page({_page(run.input.page)})"
        run = run.but(page=None)
    made = f"trace = {trace_call(run, 'model', expression, edits='edits' if edits else '')}"
    return _joined("import encoder", imports, opened, edits, made, result)


def _joined(*parts: str) -> str:
    """The parts that are not empty, one below the other."""
    return "\n".join(part.strip("\n") for part in parts if part) + "\n"


def trace_call(run: Run, model: str, expression: tuple[str, str] | None = None, edits: str = "") -> str:
    """The Python expression that runs the input of a run. model: the name of the variable that holds the model.

    expression: as of `python_lines`; edits: the Python expression of the edits, by default that of the run's own.
    """
    changes = edits or (edits_code(run.edits) if run.edits else "")
    options = f", edits={changes}" if changes else ""
    own = run.input
    if isinstance(own, Media):
        return f"{model}.trace({expression[1] if expression else f'{model}.open({_quoted(own.name)})'}{options})"
    typed = _quoted(own.text) + ("" if own.pair is None else f", {_quoted(own.pair)}")
    if run.model.tower == DECODER:
        target = run.target if run.target is None or isinstance(run.target, str) else list(run.target)
        forced = _quoted(target) if isinstance(target, str) else repr(target)
        return f"{model}.trace({typed}, target={forced}{options}).decoder"
    boxes = "" if own.boxes is None else f", boxes={list(own.boxes)}"
    boxes += "" if own.nodes is None else f", nodes={list(own.nodes)}"
    on_page = f"{model}.with_page({_page(own.page)})" if own.page is not None else model
    options = ("" if own.pad_to is None else f", pad_to={own.pad_to}") + options
    hidden = ".unpadded" if own.pad_to is not None and not own.padding else ""
    if own.window is None:
        return f"{on_page}.trace({typed}{boxes}{options}){hidden}"
    stride = "" if own.stride is None else f", stride={own.stride}"
    window = f"{on_page}.windows({typed}{boxes}{stride})[{own.window}].sentence"
    return f"{on_page}.trace_tokens({window}{options}){hidden}"


def _page(name: str) -> str:
    """The Python expression of the image of a page."""
    return "example_page.invoice()" if name == INVOICE else _quoted(name)


def edits_code(edits: Sequence[Edit]) -> str:
    """The Python expression of edits. Edits that hold a function or a Trace have no text: the name `edits`."""
    try:
        return f"encoder.edits.parse({format(edits)!r})"
    except EncoderError:
        return "edits"


def batch_length(trace: Trace) -> int | None:
    """The length in tokens that a text was padded to, whether its padding is shown or left out; None: not padded."""
    length = trace.n_tokens + trace.n_left_out
    return length if length > trace.n_real else None


def _quoted(text: str) -> str:
    """A Python string in double quotes where that needs no escapes."""
    plain = '"' not in text and "\\" not in text and text.isprintable()
    return f'"{text}"' if plain else repr(text)
