"""What is taken away from a view: its numbers as a table, a page of HTML that stands alone, and the Python lines.

The command line and every page of the app make their files here, so a file says the same wherever it comes from.

Shapes: L layers, H heads, T tokens (queries i, keys j).
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from encoder.config import EncoderConfig
from encoder.errors import EncoderError
from encoder.export.document import Section, document, grid_picture
from encoder.figures import attention_heatmap
from encoder.measure import aggregate, ranking, tiled_attention
from encoder.measure.aggregate import SpecialTokens
from encoder.measure.align import Cell, Comparison
from encoder.measure.head_map import DenseMap, HeadMap
from encoder.pipeline import TextEncoder
from encoder.trace import Trace, pooling_block

if TYPE_CHECKING:
    import pandas as pd

#: Up to this many tokens each way a map is drawn cell by cell; above, a cell stands for a block of tokens.
EXACT_TOKENS = 256
#: Rows of the table of strongest weights, and side of the small maps.
STRONGEST, SMALL = 20, 64
#: Longest text, in tokens, whose heads are all drawn.
LONGEST_GRID = 2_048
#: Suffix of a file -> what it is called.
FORMATS = {".html": "HTML report", ".csv": "CSV", ".parquet": "Parquet"}

SPECIAL_WORDS = {"show": "shown", "zero": "cells set to 0", "renormalise": "left out, rows scaled to sum to 1"}


class Origin(Protocol):
    """How a model is made again. source: what `encoder.load` takes; or an architecture from scratch with its seed."""

    @property
    def source(self) -> str: ...
    @property
    def scratch(self) -> EncoderConfig | None: ...
    @property
    def seed(self) -> int: ...
    @property
    def norm(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def dtype(self) -> str: ...


@dataclasses.dataclass(frozen=True)
class ModelOrigin:
    """An `Origin`. norm: "trained", or "pre" or "post" for weights whose norms are moved."""

    source: str = "minilm"
    scratch: EncoderConfig | None = None
    seed: int = 0
    norm: str = "trained"
    device: str = "auto"
    dtype: str = "float32"


# --- the Python lines ------------------------------------------------------------------------------------------------


def model_lines(origin: Origin, name: str = "model") -> str:
    """The Python expression that makes a model again, as an assignment to `name`."""
    options = "" if origin.device == "auto" else f", device={origin.device!r}"
    if origin.scratch is not None:
        fields = ", ".join(f"{field}={value!r}" for field, value in config_fields(origin.scratch).items())
        tokenizer = 'encoder.load("minilm").tokenizer'
        options = options if origin.device in ("cpu", "cuda", "mps") else ""
        options += _dtype_option(origin)
        return f"{name} = encoder.build(encoder.EncoderConfig({fields}), {tokenizer}, seed={origin.seed}{options})"
    options += _dtype_option(origin)
    moved = "" if origin.norm == "trained" else f'.with_norm_placement("{origin.norm}")'
    return f"{name} = encoder.load({_quoted(origin.source)}{options}){moved}"


def _dtype_option(origin: Origin) -> str:
    return "" if origin.dtype == "float32" else f", dtype={origin.dtype!r}"


def config_fields(config: EncoderConfig) -> dict[str, object]:
    """The fewest fields that make this config again: what the other fields and the defaults imply is left out."""
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
    """Python that makes a view's trace again, and below it the lines `result` that give the numbers shown.

    result: uses the names `model` and `trace`; window, padded, stride: as in `trace_call`.
    """
    call = trace_call("model", text, pair, window, padded, stride)
    lines = ["import encoder", model_lines(origin), f"trace = {call}"]
    return "\n".join([*lines, *([result.strip("\n")] if result else [])]) + "\n"


def trace_call(
    model: str,
    text: str,
    pair: str | None = None,
    window: int | None = None,
    padded: Trace | None = None,
    stride: int | None = None,
) -> str:
    """The Python expression that runs a text; model: the name of the variable that holds the model.

    window: which sliding window of a text longer than the model takes; None: the text, cut where it is too long;
    stride: tokens from one window to the next, None: half of what one holds.
    padded: the trace that is to be made, whose padding there is, or was, is made as well; None: there is none.
    """
    length = None if padded is None else batch_length(padded)
    padding = ")" if length is None else f", pad_to={length})"
    padding += ".unpadded" if padded is not None and padded.n_left_out else ""
    typed = _quoted(text) + ("" if pair is None else f", {_quoted(pair)}")
    if window is not None:
        typed += "" if stride is None else f", stride={stride}"
        return f"{model}.trace_tokens({model}.windows({typed})[{window}].sentence{padding}"
    return f"{model}.trace({typed}{padding}"


def batch_length(trace: Trace) -> int | None:
    """Tokens of the batch that a text was padded for, be its padding in the trace or left out; None: not padded."""
    length = trace.n_tokens + trace.n_left_out
    return length if length > trace.n_real else None


def attention_lines(layer: int, head: int, special: SpecialTokens = "show", n_tokens: int = 0) -> str:
    """The lines that give one head's map as `weights`, and draw it; of a long text, in blocks of tokens, as shown."""
    block = pooling_block(max(n_tokens, 1), EXACT_TOKENS)
    options = "" if block == 1 else f", block={block}"
    draw = f"encoder.figures.attention_heatmap(weights, trace.labels{options})"
    if block > 1:
        pooled = f'tiled_attention.pooled_window(trace, {layer}, {head}, "{special}", {EXACT_TOKENS})'
        return f"from encoder.measure import tiled_attention\nweights, block = {pooled}\n{draw}"
    if special != "show":
        rows = f'tiled_attention.attention_rows(trace, {layer}, {head}, "{special}")'
        return f"from encoder.measure import tiled_attention\nweights = {rows}\n{draw}"
    return f"weights = trace.attention({layer}, {head})\n{draw}"


def _quoted(text: str) -> str:
    """A Python string in double quotes where that needs no escapes."""
    plain = '"' not in text and "\\" not in text and text.isprintable()
    return f'"{text}"' if plain else repr(text)


# --- the numbers -----------------------------------------------------------------------------------------------------


def attention_frame(
    weights: object,
    labels: Sequence[str],
    *,
    key_labels: Sequence[str] | None = None,
    block: int = 1,
    row_offset: int = 0,
    column_offset: int = 0,
) -> pd.DataFrame:
    """A map [R, C] as a table, a row a cell: query and key position, their tokens, weight.

    block, row_offset, column_offset: as in `figures.attention_heatmap`; of a pooled map the columns are query_first,
    query_last, key_first, key_last (token positions, both included) and largest_weight.
    """
    import pandas as pd

    array = np.asarray(weights, dtype=np.float32)
    n_rows, n_columns = array.shape
    rows = row_offset + block * np.repeat(np.arange(n_rows), n_columns)
    columns = column_offset + block * np.tile(np.arange(n_columns), n_rows)
    keys = labels if key_labels is None else key_labels
    if block == 1:
        return pd.DataFrame(
            {
                "query": rows,
                "query_token": [labels[row] for row in rows],
                "key": columns,
                "key_token": [keys[column] for column in columns],
                "weight": array.ravel(),
            }
        )
    return pd.DataFrame(
        {
            "query_first": rows,
            "query_last": np.minimum(rows + block, len(labels)) - 1,
            "key_first": columns,
            "key_last": np.minimum(columns + block, len(keys)) - 1,
            "largest_weight": array.ravel(),
        }
    )


def comparison_frame(found: Comparison, first: Sequence[str], second: Sequence[str]) -> pd.DataFrame:
    """Two maps and their difference, b - a, as a table: a row a cell of the maps, of a long text a block of cells.

    row, column: the cell's place in the three maps, from 0, the same in each: a row or column is a token of A, of B, or
    of both. query_a, key_b, ...: what stands there on either side, "–" where it has no such token and no weight.
    first, second [A]: what each row, and each column, is called on either side.
    """
    import pandas as pd

    shape = found.difference.shape
    rows, columns = (found.block * part.ravel() for part in np.indices(shape))
    weights = {
        name: part.numpy().ravel()
        for name, part in (("a", found.first), ("b", found.second), ("difference", found.difference))
    }
    names = {"a": np.array(first, dtype=object), "b": np.array(second, dtype=object)}
    places: dict[str, np.ndarray] = {}
    for place, axis, steps in (("row", "query", rows), ("column", "key", columns)):
        if found.block == 1:
            places |= {place: steps} | {f"{axis}_{side}": told[steps] for side, told in names.items()}
        else:
            places |= {f"{place}_first": steps, f"{place}_last": np.minimum(steps + found.block, len(first)) - 1}
    return pd.DataFrame(places | weights)


def cells_frame(cells: Sequence[Cell], labels: Sequence[str]) -> pd.DataFrame:
    """The cells in which two maps differ, as a table; labels: of the steps."""
    import pandas as pd

    return pd.DataFrame(
        {
            "query": [labels[cell.query] for cell in cells],
            "key": [labels[cell.key] for cell in cells],
            "A": [cell.first for cell in cells],
            "B": [cell.second for cell in cells],
            "B - A": [cell.difference for cell in cells],
        }
    )


def head_frame(trace: Trace, layer: int, head: int, special: SpecialTokens = "show") -> pd.DataFrame:
    """`attention_frame` of one head: exact up to EXACT_TOKENS tokens, above in blocks of tokens."""
    weights, block = tiled_attention.pooled_window(trace, layer, head, special, EXACT_TOKENS)
    frame = attention_frame(weights.cpu(), trace.labels, block=block)
    frame.insert(0, "layer", layer)
    frame.insert(1, "head", head)
    return frame


def strongest_frame(
    trace: Trace, layer: int, head: int, special: SpecialTokens = "show", k: int = STRONGEST
) -> pd.DataFrame:
    """The k strongest weights of a head, strongest first."""
    import pandas as pd

    pairs = tiled_attention.strongest_pairs(trace, layer, head, special, k)
    return pd.DataFrame(
        {
            "query": [query for query, _, _ in pairs],
            "from": [trace.labels[query] for query, _, _ in pairs],
            "key": [key for _, key, _ in pairs],
            "to": [trace.labels[key] for _, key, _ in pairs],
            "weight": [weight for _, _, weight in pairs],
        }
    )


def row_frame(trace: Trace, layer: int, head: int, query: int, special: SpecialTokens = "show") -> pd.DataFrame:
    """What one query token attends to, strongest first, STRONGEST keys at most."""
    import pandas as pd

    row = tiled_attention.attention_rows(trace, layer, head, special, slice(query, query + 1))[0]
    found = ranking.strongest(row, STRONGEST)
    return pd.DataFrame(
        {
            "key": [key for key, _ in found],
            "to": [trace.labels[key] for key, _ in found],
            "weight": [weight for _, weight in found],
        }
    )


def as_csv(frame: pd.DataFrame) -> bytes:
    """UTF-8 with a byte-order mark, which spreadsheets need to read other scripts than Latin."""
    return frame.to_csv(index=False).encode("utf-8-sig")


def as_parquet(frame: pd.DataFrame, facts: dict[str, str] | None = None) -> bytes:
    """A Parquet file; `facts` travel in it and are `frame.attrs` again when pandas reads it."""
    frame = frame.copy(deep=False)
    frame.attrs = dict(facts or {})
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False, engine="pyarrow")
    return buffer.getvalue()


# --- the report ------------------------------------------------------------------------------------------------------


def facts(model: TextEncoder, trace: Trace, **more: object) -> dict[str, str]:
    """What a report says of model and text before anything else; `more` follows."""
    config = model.config
    said = {
        "Model": f"{model.name}: {model.n_parameters:,} parameters, {config.n_layers} layers × {config.n_heads} heads, "
        f"width {config.d_model}, {config.norm_placement}-norm",
        "Tokens": f"{trace.n_real:,}",
    }
    source = trace.source
    if source is not None and source.cut:
        start = next((first for first, end in source.offsets if end), 0)
        part = "a window of " if source.text[:start].strip() else "the first "
        part = part if source.pair is None else ""  # either sentence may be cut, or slide
        said["Tokens"] = f"{part}{len(source):,} of {source.n_full:,}; the model takes {config.max_tokens:,}"
    length = batch_length(trace)
    if length is not None:
        hidden = ", which is left out here" if trace.n_left_out else ""
        said["Tokens"] += f", padded to {length:,} as in a batch{hidden}"
    if model.notes:
        said["Note"] = " ".join(model.notes)
    return said | {_heading(name): str(value) for name, value in more.items()}


def _heading(name: str) -> str:
    """ "special_tokens" -> "Special tokens"."""
    return name[:1].upper() + name[1:].replace("_", " ")


def head_name(config: EncoderConfig, layer: int | None, head: int | None) -> str:
    """What a map is called: "L0 H2"; averaged where layer or head is None: "L0, mean of 12 heads"."""
    if layer is not None and head is not None:
        return f"L{layer} H{head}"
    if layer is not None:
        return f"L{layer}, mean of {config.n_heads} heads"
    if head is not None:
        return f"H{head}, mean of {config.n_layers} layers"
    return f"Mean of all {config.n_layers * config.n_heads} heads"


def typed(trace: Trace) -> str:
    """The sentence, and the second one below it."""
    source = trace.source
    if source is None:
        return " ".join(trace.labels)
    return source.text if source.pair is None else f"{source.text}\n{source.pair}"


def head_sections(
    trace: Trace,
    layer: int,
    head: int,
    *,
    special: SpecialTokens = "show",
    selected: tuple[int | None, int | None] = (None, None),
    colours: str = "viridis",
    scale: str = "fixed",
    log: bool = False,
) -> list[Section]:
    """One head's map, all heads as a picture, the strongest weights, and the selected query's row."""
    weights, block = tiled_attention.pooled_window(trace, layer, head, special, EXACT_TOKENS)
    figure = attention_heatmap(
        weights.cpu(),
        trace.labels,
        block=block,
        scale=scale,  # type: ignore[arg-type]
        log=log,
        colours=colours,
        selected=selected,
    )
    sections = [
        Section(f"L{layer} H{head}", figure=figure, sentences=[how_to_read(trace, special, block)]),
        Section("The strongest weights of this head", table=strongest_frame(trace, layer, head, special)),
    ]
    if selected[0] is not None:
        what = f"What “{trace.labels[selected[0]]}” (token {selected[0]}) attends to"
        sections.append(Section(what, table=row_frame(trace, layer, head, selected[0], special)))
    return [*sections, every_head_section(trace, (layer, head), colours)]


def map_frame(shown: DenseMap) -> pd.DataFrame:
    """`attention_frame` of a map with options: its rows and columns may stand for words, or for one of two sentences.

    query, key: position of the first token that a row or column stands for.
    """
    frame = attention_frame(shown.weights, shown.query_labels, key_labels=shown.key_labels)
    for axis, tokens in (("query", shown.query_tokens), ("key", shown.key_tokens)):
        first = {place: tokens(place)[0] for place in range(frame[axis].max() + 1)}
        frame[axis] = frame[axis].map(first)
    return frame


def pooled_frame(trace: Trace, layer: int | None, head: int | None, special: SpecialTokens = "show") -> pd.DataFrame:
    """`attention_frame` of a long text's map in blocks of tokens; layer or head None: averaged over it."""
    weights, block = tiled_attention.pooled_window(trace, layer, head, special, EXACT_TOKENS)
    return attention_frame(weights.cpu(), trace.labels, block=block)


def pairs_frame(shown: HeadMap, k: int = STRONGEST) -> pd.DataFrame:
    """The k strongest weights of a map with options, strongest first; positions tell repeated words apart."""
    import pandas as pd

    cells = shown.strongest(k)
    return pd.DataFrame(
        {
            "query": [shown.query_tokens(row)[0] for row, _, _ in cells],
            "from": [shown.query_labels[row] for row, _, _ in cells],
            "key": [shown.key_tokens(column)[0] for _, column, _ in cells],
            "to": [shown.key_labels[column] for _, column, _ in cells],
            "weight": [weight for _, _, weight in cells],
        }
    )


def reached_frame(shown: HeadMap, rows: Sequence[int]) -> pd.DataFrame:
    """What some rows of a map attend to, summed, strongest first, STRONGEST keys at most."""
    import pandas as pd

    found = ranking.strongest(shown.from_rows(rows), STRONGEST)
    return pd.DataFrame(
        {
            "key": [shown.key_tokens(column)[0] for column, _ in found],
            "to": [shown.key_labels[column] for column, _ in found],
            "weight": [weight for _, weight in found],
        }
    )


def reaching_frame(shown: HeadMap, columns: Sequence[int]) -> pd.DataFrame:
    """Who attends to some columns of a map, summed, strongest first, STRONGEST queries at most."""
    import pandas as pd

    found = ranking.strongest(shown.to_columns(columns), STRONGEST)
    return pd.DataFrame(
        {
            "query": [shown.query_tokens(row)[0] for row, _ in found],
            "from": [shown.query_labels[row] for row, _ in found],
            "weight": [weight for _, weight in found],
        }
    )


def every_head_section(trace: Trace, selected: tuple[int, int] | None, colours: str = "viridis") -> Section:
    """All heads as small maps, as the model computed them; of a very long text a sentence in their place."""
    config = trace.config
    title = f"All {config.n_layers} × {config.n_heads} heads"
    if trace.n_tokens > LONGEST_GRID:
        said = f"Small maps of all heads are drawn up to {LONGEST_GRID:,} tokens; this text has {trace.n_tokens:,}."
        return Section(title, sentences=[said])
    small = aggregate.to_uint8(trace.thumbnails(SMALL))
    picture = grid_picture(small, colours=colours, selected=selected, alt=f"{title} as small maps")
    frame = "" if selected is None else "; the frame marks the head above"
    return Section(
        title, picture=picture, sentences=[f"Layers downwards, heads to the right{frame}. Colours run from 0 to 1."]
    )


def how_to_read(trace: Trace, special: SpecialTokens, block: int) -> str:
    """What the rows, columns and cells of a head's map are."""
    if block > 1:
        return (
            f"{trace.n_tokens:,} tokens: each cell is the largest weight among {block} × {block} pairs of tokens. "
            "Rows are query tokens, columns key tokens."
        )
    sums = {
        "show": "Each row is a query token and sums to 1; each column is a key token that it attends to.",
        "zero": "Rows are query tokens, columns key tokens. The cells of special tokens are set to 0 here; the model "
        "itself saw them.",
        "renormalise": "Rows are query tokens, columns key tokens. Special tokens are left out and each row is scaled "
        "to sum to 1; the model itself saw them.",
    }
    return sums[special]


def head_report(
    model: TextEncoder,
    trace: Trace,
    origin: Origin,
    layer: int,
    head: int,
    *,
    special: SpecialTokens = "show",
    link: str = "",
    **look: object,
) -> str:
    """A standalone HTML page on one head. look: `selected`, `colours`, `scale`, `log` of `head_sections`."""
    source = trace.source
    code = ""
    if source is not None:
        shown = attention_lines(layer, head, special, trace.n_tokens)
        code = python_lines(origin, source.text, source.pair, shown, padded=trace)
    return document(
        f"L{layer} H{head} of {model.name}",
        head_sections(trace, layer, head, special=special, **look),  # type: ignore[arg-type]
        text=typed(trace),
        facts=facts(model, trace, layer=layer, head=head, special_tokens=SPECIAL_WORDS[special]),
        code=code,
        link=link,
        footer=footer(),
    )


def footer() -> str:
    """The last line of every report."""
    from encoder import __version__

    return (
        f"Made with Encoderscope {__version__}. Layers and heads count from 0; rows attend to columns. "
        "Every number was computed by the model on this text."
    )


def head_file(
    suffix: str,
    model: TextEncoder,
    trace: Trace,
    origin: Origin,
    layer: int,
    head: int,
    special: SpecialTokens = "show",
) -> bytes:
    """One head as the content of a file: a report, or its numbers. Raises EncoderError for a suffix not in FORMATS."""
    if suffix not in FORMATS:
        raise EncoderError(f"{suffix!r} is no format known here: choose one of {', '.join(FORMATS)}.")
    if suffix == ".html":
        return head_report(model, trace, origin, layer, head, special=special).encode()
    frame = head_frame(trace, layer, head, special)
    if suffix == ".csv":
        return as_csv(frame)
    said = facts(model, trace, layer=layer, head=head, special_tokens=SPECIAL_WORDS[special], text=typed(trace))
    return as_parquet(frame, said)
