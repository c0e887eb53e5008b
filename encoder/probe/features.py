"""What probes read: the vectors of each text before every layer and at the output, pooled in several ways.

Shapes: N texts, B texts of a batch, T tokens, L layers, D d_model.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from encoder.encoders.text import TextEncoder, of_text
from encoder.errors import EncoderError, quoted
from encoder.inputs.text import Batch, Tokenized, texts_of
from encoder.model.device import explain_out_of_memory
from encoder.model.pooling import Pooling, parts_of
from encoder.model.pooling import pool as pooled
from encoder.probe.tasks import Task
from encoder.trace import gradual
from encoder.trace.capture import record

View = Literal["mean", "cls", "max", "token"]
#: How the vectors of a text become one.
VIEWS: dict[View, str] = {"token": "One token", "mean": "Mean", "cls": "[CLS]", "max": "Maximum"}
BATCH = 32
#: Tokens of a text that are read.
MOST_TOKENS = 256


@dataclass(frozen=True, eq=False)
class Features:
    """vectors: view -> float32 [L + 1, N, D], row l the residual stream that enters layer l, row L the output.

    model: the name of the model; n_layers: L; n_cut: texts of which the first MOST_TOKENS tokens were read only.
    """

    vectors: dict[View, np.ndarray] = field(repr=False)
    model: str
    n_layers: int
    n_cut: int = 0


def iter_extract(model: TextEncoder, task: Task) -> Generator[float, None, Features]:
    """Run all texts, those of similar length together; yields the share that is done after each batch.

    "token" is the first token of the marked word, or of the first word. "cls" is the text's first token. Raises
    EncoderError for a marked word behind the tokens that are read.
    """
    n_layers = model.config.n_layers
    shape = (n_layers + 1, len(task), model.config.d_model)
    of_view: dict[View, np.ndarray] = {view: np.empty(shape, dtype=np.float32) for view in VIEWS}
    done = n_cut = 0
    for places, sentences, batch, streams in _runs(model, task.texts):
        n_cut += sum(sentence.cut for sentence in sentences)
        mask = batch.real
        marked = [_marked(task, place, one) for place, one in zip(places, sentences, strict=True)]
        rows = torch.arange(len(places), device=mask.device)
        for layer, stream in enumerate(streams):
            for view in VIEWS:
                vector = stream[rows, marked] if view == "token" else pooled(stream, mask, view)
                of_view[view][layer, places] = vector.cpu().numpy()
        done += len(places)
        yield done / len(task)
    return Features(of_view, model.name, n_layers, n_cut)


extract = gradual.at_once(iter_extract, "extract")


def iter_token_vectors(model: TextEncoder, task: Task, layer: int) -> Generator[float, None, list[np.ndarray]]:
    """The vectors of every text's tokens before one layer: N arrays float32 [T, D]; yields as `iter_extract`."""
    found: list[np.ndarray | None] = [None] * len(task)
    done = 0
    for places, sentences, _, streams in _runs(model, task.texts):
        for row, (place, sentence) in enumerate(zip(places, sentences, strict=True)):
            found[place] = streams[layer][row, : len(sentence)].cpu().numpy().copy()
        done += len(places)
        yield done / len(task)
    return [vectors for vectors in found if vectors is not None]


def vectors(
    model: TextEncoder, texts: Sequence[str] | str, layer: int = -1, pool: Pooling | str = "mean"
) -> np.ndarray:
    """float32 [N, D]: a vector of each text from one layer.

    layer: the residual stream that enters it; n_layers, or -1: the output. pool: how the vectors of tokens become one
    (`encoder.model.pooling.POOLINGS`, several joined by "+" give [N, n x D]). For the checkpoint's own vector use
    `model.embed`. Raises EncoderError for a layer or a pooling that does not exist, and without texts.
    """
    model, texts = of_text(model, "call its own embed."), texts_of(texts)
    n_layers = model.config.n_layers
    if not -n_layers - 1 <= layer <= n_layers:
        raise EncoderError(f"No layer {layer} in this model: choose 0 to {n_layers}, which is the output.")
    found = np.empty((len(texts), model.config.d_model * len(parts_of(pool))), dtype=np.float32)
    for places, _, batch, streams in _runs(model, texts, model.config.max_tokens):
        found[places] = pooled(streams[layer], batch.real, pool).cpu().numpy()
    return found


def _runs(
    model: TextEncoder, texts: Sequence[str], most_tokens: int = MOST_TOKENS
) -> Generator[tuple[list[int], list[Tokenized], Batch, list[Tensor]], None, None]:
    """Batches: places of the texts, their tokens, the padded batch, and L + 1 streams float32 [B, T, D]."""
    if not len(texts):
        raise EncoderError("No texts: specify at least one.")
    limit = min(most_tokens, model.config.max_tokens)
    tokens = [model.tokenize(text, max_tokens=limit) for text in texts]
    order = sorted(range(len(texts)), key=lambda place: len(tokens[place]))
    last, layers = model.config.after_layer, range(model.config.n_layers - 1)
    names = ["embedding", *(f"layers.{layer}.{last}" for layer in layers), "output"]
    for first in range(0, len(order), BATCH):
        places = order[first : first + BATCH]
        sentences = [tokens[place] for place in places]
        batch = model.tokenizer.batch(sentences, model.device)
        with explain_out_of_memory(model.device, batch.ids.numel()), record() as recorder, torch.no_grad():
            model.encoder(batch.ids, batch.mask, batch.segments, places=batch.places)
        yield places, sentences, batch, [recorder.values[name].float() for name in names]


def _marked(task: Task, place: int, sentence: Tokenized) -> int:
    """The first token of the marked word, of the first word without one, or 0 in a text without words."""
    start, end = (0, len(task.texts[place])) if task.spans is None else task.spans[place]
    inside = (
        position
        for position, (first, last) in enumerate(sentence.offsets)
        if not sentence.special[position] and first < end and last > start
    )
    found = next(inside, None)
    if found is None and task.spans is not None and sentence.cut:
        raise EncoderError(
            f"{quoted(task.texts[place][start:end])} lies behind the first {len(sentence)} tokens of its text, and "
            f"probes read no more: shorten the text that begins {quoted(task.texts[place][:60])}."
        )
    return found or 0
