"""Question answering: the spans of a passage that a head finds most probable as the answer.

The head gives each token of "question, passage" a logit of being the first token of the answer, and one of being the
last (Devlin et al. 2019). A span's score is the sum of both. Probabilities are over all spans of the passage that are
at most MOST_TOKENS long, and over "no answer", which is both logits of the first token, as in SQuAD 2.

Shapes: T tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.model.classifier import Classifier
from encoder.trace import tokens
from encoder.trace.trace import Trace

#: Tokens of the longest answer, as in the scripts of BERT.
MOST_TOKENS = 30


@dataclass(frozen=True)
class Span:
    """A possible answer. first, last: tokens, both included; text: as it is in the passage, "" for no answer."""

    first: int
    last: int
    text: str
    score: float
    probability: float


def answers(model: TextEncoder, trace: Trace, k: int = 5) -> list[Span]:
    """The `k` most probable spans of a trace of question and passage, `model.trace(question, passage)`.

    Raises EncoderError for a model without such a head, for a trace without a passage, and for a `k` below 1.
    """
    head_of(model)
    if trace.source is None or trace.source.pair is None:
        raise EncoderError("Question answering needs a question and a passage: specify the passage as second sentence.")
    if k < 1:
        raise EncoderError(f"k={k} is too small: ask for 1 answer or more.")
    start, end = span_logits(model, trace).double().unbind(-1)  # [T] each
    own = zip(tokens.sentences(trace), tokens.is_content(trace), strict=True)
    passage = [place for place, (sentence, is_content) in enumerate(own) if sentence == 1 and is_content]
    scores = start[passage, None] + end[None, passage]  # [t, t]
    steps = torch.arange(len(passage), device=scores.device)
    length = steps[None] - steps[:, None]
    scores = scores.masked_fill((length < 0) | (length >= MOST_TOKENS), float("-inf")).flatten()
    every = torch.cat((scores, (start[0] + end[0])[None]))
    best = every.topk(min(k, int(every.isfinite().sum())))
    probabilities = every.softmax(0)[best.indices].tolist()
    found = []
    for place, score, probability in zip(best.indices.tolist(), best.values.tolist(), probabilities, strict=True):
        if place == len(scores):
            found.append(Span(0, 0, "", score, probability))
            continue
        first, last = (passage[index] for index in divmod(place, len(passage)))
        words = trace.source.pair[trace.source.offsets[first][0] : trace.source.offsets[last][1]]
        found.append(Span(first, last, words, score, probability))
    return found


@torch.no_grad()
def span_logits(model: TextEncoder, trace: Trace) -> Tensor:
    """[T, 2]: the logits to be the first and the last token of the answer. Raises EncoderError without a head."""
    return head_of(model)(trace.output[None], trace.mask[None])[0]


def head_of(model: TextEncoder) -> Classifier:
    """The head. Raises EncoderError for a model without one."""
    head: Classifier | None = getattr(model, "span_head", None)  # an encoder of images has no such field
    if head is None:
        raise EncoderError(f"{model.name} has no question-answering head: choose a checkpoint that was saved with one.")
    return head
