"""Standalone HTML reports of a page or of one head, and the facts that every export states.

The command line and every page of the app use these functions, so the same view always gives the same file.
"""

import io
from collections.abc import Mapping

import pandas as pd

from encoder.documents import csv_file
from encoder.documents.document import Section, document
from encoder.drawing import still
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError
from encoder.inputs.boxes import assumed
from encoder.maps import aggregate
from encoder.run import ModelSpec, Run
from encoder.run.address import write_text
from encoder.run.code import batch_length, edits_code, python_lines, run_of
from encoder.trace.trace import Trace
from encoder.version import __version__
from encoder.views.view import HeadView

#: Side of the small maps, in cells.
SMALL = 64
#: The longest text, in tokens, for which a report draws all heads.
LONGEST_GRID = 2_048
#: How to read the numbers of a report about one text.
FOOTER = "Layers and heads count from 0; rows attend to columns. Every number was computed by the model on this input."


def page(model: NamedEncoder, spec: ModelSpec, view: HeadView) -> str:
    """The report of a view, which opens without a network. spec: how Python opens the model."""
    trace, code, named = view.trace, "", ""
    if trace.source is not None and not trace.source.n_page_tokens:  # nobody knows the file of the image
        layer, head = view.heads[0]
        run = run_of(trace, spec).but(layer=layer, head=head)
        code, named = python_lines(run, view.code()), address_of(run)
    title, said = f"{view.name} of {model.name}", facts(model, trace, **view.facts())
    return document(title, sections(view), text=typed(trace), facts=said, code=code, run=named, footer=footer())


def address_of(run: Run) -> str:
    """How a file names its run (`encoder.run.files.open_run`); empty where its edits are only in Python."""
    try:
        return write_text(run)
    except EncoderError:
        return ""


def as_csv(frame: pd.DataFrame) -> bytes:
    """A CSV file for spreadsheets: texts in any script, and none of them a formula."""
    return csv_file.as_csv(frame, for_spreadsheets=True)


def as_parquet(frame: pd.DataFrame, facts: Mapping[str, str] | None = None) -> bytes:
    """A Parquet file; `facts` travel in it and are `frame.attrs` again when pandas reads it."""
    frame = frame.copy(deep=False)
    frame.attrs.clear()
    frame.attrs.update(facts or {})
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False, engine="pyarrow")
    return buffer.getvalue()


def sections(view: HeadView, colours: str = "blue") -> list[Section]:
    """The parts of a view's report: its own, then all heads as small maps."""
    layer, head = view.heads[0]
    selected = None if layer is None or head is None else (layer, head)
    return [*view.sections(), every_head_section(view.trace, selected, colours)]


def facts(model: NamedEncoder, trace: Trace, **more: object) -> dict[str, str]:
    """What a report states about model and text; `more` follows, special_tokens as "Special tokens"."""
    config = model.config
    said = {"Model": model_fact(model), "Tokens": f"{trace.n_real:,}"}
    source = trace.source
    if source is not None and source.cut:
        part = ""  # of a pair, either sentence may be cut, or slide
        if source.pair is None:
            start = next((first for first, end in source.offsets if end), 0)
            part = "a window of " if source.text[:start].strip() else "the first "
        said["Tokens"] = f"{part}{len(source):,} of {source.n_full:,}; the model accepts {config.max_tokens:,}"
    length = batch_length(trace)
    if length is not None:
        hidden = "; padding is not shown" if trace.n_left_out else ""
        said["Tokens"] += f", padded to {length:,} as in a batch{hidden}"
    if not_known := assumed(config.places, source):
        said["Places"] = not_known
    elif trace.places is not None:
        said["Places"] = "a path for each node" if config.boxes is None else "a box for each word"
    if config.page is not None:
        said["Image of the page"] = "read" if config.reads_page else "not read"
    if trace.edits:
        said["Edits"] = edits_code(trace.edits)
    if model.remarks:
        said["Note"] = " ".join(model.remarks)
    return said | {name[:1].upper() + name[1:].replace("_", " "): str(value) for name, value in more.items()}


def model_fact(model: NamedEncoder) -> str:
    """A model's name and sizes."""
    config = model.config
    return (
        f"{model.name}: {model.n_parameters:,} parameters, {config.n_layers} layers × {config.n_heads} heads, "
        f"width {config.d_model}, {config.norm_placement}-norm"
    )


def typed(trace: Trace) -> str:
    """The sentence, and the second one below it."""
    source = trace.source
    if source is None:
        return " ".join(trace.labels)
    return source.text if source.pair is None else f"{source.text}\n{source.pair}"


def every_head_section(trace: Trace, selected: tuple[int, int] | None, colours: str = "blue") -> Section:
    """All heads as small maps, as the model computed them; for a very long text a sentence in their place."""
    config = trace.config
    title = f"All {config.n_layers} × {config.n_heads} heads"
    if trace.n_tokens > LONGEST_GRID:
        said = f"Small maps of all heads are drawn up to {LONGEST_GRID:,} tokens; this text has {trace.n_tokens:,}."
        return Section(title, sentences=[said])
    small = aggregate.to_uint8(trace.thumbnails(SMALL))
    picture = still.grid("", small, colours=colours, selected=selected, alt=f"{title} as small maps").svg()
    said = "Each row is a layer, each column a head number. Colours run from 0 to 1."
    if selected is not None:
        said += " The frame marks the head above."
    return Section(title, picture=picture, sentences=[said])


def footer(said: str = FOOTER) -> str:
    """The last line of every report. said: how to read its numbers."""
    return f"Made with Encoderscope {__version__}. {said}"
