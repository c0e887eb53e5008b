"""Python lines that make a page's model and trace again, so that a notebook gives the same numbers."""

import dataclasses
from collections.abc import Sequence

from encoder.edits import Edit, format
from encoder.errors import EncoderError
from encoder.model.config import EncoderConfig
from encoder.trace.trace import Trace


@dataclasses.dataclass(frozen=True)
class Origin:
    """How to make a model again.

    source: what `encoder.load` accepts; tower: "text" or "image" for one encoder of a model of both, "decoder" for the
    decoder's pass over a target; scratch, seed: the architecture of an untrained model; norm: "trained", or "pre" or
    "post" for the same weights with the norms moved.
    """

    source: str = "minilm"
    tower: str = ""
    scratch: EncoderConfig | None = None
    seed: int = 0
    norm: str = "trained"
    device: str = "auto"
    dtype: str = "float32"


def model_lines(origin: Origin, name: str = "model") -> str:
    """The Python expression that makes a model again, as an assignment to `name`."""
    options = "" if origin.device == "auto" else f", device={origin.device!r}"
    dtype = "" if origin.dtype == "float32" else f", dtype={origin.dtype!r}"
    if origin.scratch is not None:
        fields = ", ".join(f"{field}={value!r}" for field, value in config_fields(origin.scratch).items())
        tokenizer = 'encoder.load("minilm").tokenizer'
        options = options if origin.device in ("cpu", "cuda", "mps") else ""
        config = f"encoder.EncoderConfig({fields})"
        return f"{name} = encoder.build({config}, {tokenizer}, seed={origin.seed}{options}{dtype})"
    moved = "" if origin.norm == "trained" else f'.with_norm_placement("{origin.norm}")'
    tower = f".{origin.tower}" if origin.tower not in ("", "decoder") else ""
    return f"{name} = encoder.load({_quoted(origin.source)}{options}{dtype}){tower}{moved}"


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
    origin: Origin,
    text: str,
    pair: str | None = None,
    result: str = "",
    window: int | None = None,
    padded: Trace | None = None,
    stride: int | None = None,
) -> str:
    """Python that makes a view's trace again, followed by the lines `result` that give the numbers shown.

    result: uses the names `model` and `trace`; window, padded, stride: as in `trace_call`.
    """
    call = trace_call("model", text, pair, window, padded, stride)
    if origin.tower == "decoder" and pair is not None:
        call = f"model.trace({_quoted(text)}, target={_quoted(pair)}).decoder"
    return _joined("import encoder", model_lines(origin), f"trace = {call}", result)


def lines_of_input(origin: Origin, imports: str, given: str, result: str, edits: str = "") -> str:
    """`python_lines` for an input that is not text. given: the Python expression of the input, from `imports`; edits:
    lines that make the name `edits`.
    """
    call = f"model.trace({given}{', edits=edits' if edits else ''})"
    return _joined("import encoder", imports, model_lines(origin), edits, f"trace = {call}", result)


def _joined(*parts: str) -> str:
    """The parts that are not empty, one below the other."""
    return "\n".join(part.strip("\n") for part in parts if part) + "\n"


def trace_call(
    model: str,
    text: str,
    pair: str | None = None,
    window: int | None = None,
    padded: Trace | None = None,
    stride: int | None = None,
) -> str:
    """The Python expression that runs a text; model: the name of the variable that holds the model.

    window: number of the sliding window of a long text; None: the text, cut at the model's limit.
    stride: tokens from one window to the next; None: half a window.
    padded: the trace to make again with its padding and its edits; None: without.
    """
    length = None if padded is None else batch_length(padded)
    padding = "" if length is None else f", pad_to={length}"
    padding += "" if padded is None or not padded.edits else f", edits={edits_code(padded.edits)}"
    padding += ")"
    padding += ".unpadded" if padded is not None and padded.n_left_out else ""
    typed = _quoted(text) + ("" if pair is None else f", {_quoted(pair)}")
    if window is not None:
        typed += "" if stride is None else f", stride={stride}"
        return f"{model}.trace_tokens({model}.windows({typed})[{window}].sentence{padding}"
    return f"{model}.trace({typed}{padding}"


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
