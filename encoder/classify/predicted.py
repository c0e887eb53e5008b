"""Predictions of a classification head: of a text, of its tokens, and the entities that tagged tokens make.

Shapes: T tokens, D d_model, C classes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pandas as pd
import torch
from torch import Tensor

from encoder.classify.entity import Entity
from encoder.classify.label_spans import THRESHOLD, span_scores
from encoder.encoders.named import NamedEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.model.classifier import Classifier, Kind
from encoder.model.shown import Shown
from encoder.trace.head_input import vectors_for
from encoder.trace.tokens import sentences
from encoder.trace.trace import Trace

#: Prefixes of tags: begin, inside, end or last, a single word. "O" is outside of every entity.
BEGINS, GOES_ON = ("B-", "S-", "U-"), ("I-", "E-", "L-")
OUTSIDE = "O"


@dataclass(frozen=True, repr=False)
class Prediction(Shown):
    """Classes of a text. labels, logits, probabilities: C each, in the head's order.

    probabilities: they sum to 1, or each is independent (several labels at once); a regression has scores instead.
    """

    labels: tuple[str, ...]
    logits: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __repr__(self) -> str:
        return f"<Prediction of {len(self.labels):,} classes: {self.best}, {self.of(self.best):.4f}>"

    @property
    def best(self) -> str:
        """The label of the largest logit."""
        return self.labels[max(range(len(self.labels)), key=self.logits.__getitem__)]

    def of(self, label: str) -> float:
        """The probability of a label."""
        return self.probabilities[self.labels.index(label)]

    def table(self) -> pd.DataFrame:
        """A row for each class, in the head's order: label, logit, probability."""
        return pd.DataFrame({"label": self.labels, "logit": self.logits, "probability": self.probabilities})


@dataclass(frozen=True)
class TokenTag:
    """The most probable label of one token."""

    position: int
    label: str
    probability: float


def classifier_of(model: NamedEncoder, kind: Kind | None = None) -> Classifier:
    """The model's head. Raises EncoderError if it has none, or one of another kind."""
    head = model.classifier
    if head is None:
        raise EncoderError(
            f"{model.name} has no classification head: choose a checkpoint that was saved with one, or open a probe's."
        )
    if kind is not None and head.config.kind != kind:
        what = {"sequence": "classifies texts", "token": "tags tokens"}
        raise EncoderError(f"The head of {model.name} {what[head.config.kind]}: choose a model that {what[kind]}.")
    return head


def class_place(head: Classifier, label: str) -> int:
    """The place of a label. Raises EncoderError for a label that the head does not have."""
    if label not in head.config.labels:
        some = ", ".join(head.config.labels[:8]) + (" …" if len(head.config.labels) > 8 else "")
        raise EncoderError(f"The head has no class {quoted(label)}: choose one of {some}.")
    return head.config.labels.index(label)


@torch.no_grad()
def _logits(model: NamedEncoder, trace: Trace, kind: Kind) -> tuple[Classifier, Tensor]:
    head = classifier_of(model, kind)
    vectors = vectors_for(head, trace).unsqueeze(0)
    return head, head(vectors, trace.mask.unsqueeze(0))[0]


def predict(model: NamedEncoder, trace: Trace) -> Prediction:
    """The classes of a traced input. Raises EncoderError for a model without a head for whole inputs."""
    head, logits = _logits(model, trace, "sequence")
    return Prediction(head.config.labels, tuple(logits.float().tolist()), tuple(head.probabilities(logits).tolist()))


def probability(model: NamedEncoder, trace: Trace, label: str, position: int | None = None) -> float:
    """The probability of one class, of the text or of a token; a regression's score.

    Raises EncoderError for a class or a token that does not exist, and for a head of another kind.
    """
    head, logits = _logits(model, trace, "sequence" if position is None else "token")
    if position is not None:
        trace.check_token(position)
        logits = logits[position]
    return float(head.probabilities(logits)[class_place(head, label)])


def tags(model: NamedEncoder, trace: Trace) -> tuple[TokenTag, ...]:
    """The most probable label of every real token. Raises EncoderError for a model without a head for tokens."""
    head, logits = _logits(model, trace, "token")
    best, places = head.probabilities(logits[: trace.n_real]).max(dim=-1)
    labels = head.config.labels
    return tuple(
        TokenTag(position, labels[place], probability)
        for position, (place, probability) in enumerate(zip(places.tolist(), best.tolist(), strict=True))
    )


def entities(model: NamedEncoder, trace: Trace, *, threshold: float = THRESHOLD) -> tuple[Entity, ...]:
    """The labelled words of a text, in its order. The label of a word is that of its first token.

    Tags with prefixes (B- I- E- S-, or B- I- L- U-) join words to one entity; a label without prefix is a word's own.
    Words tagged O are left out. threshold: of GLiNER (`span_scores`), the score above which a span is an entity.
    """
    if isinstance(model, TextEncoder) and model.entity_head is not None:
        return span_scores(model, trace).entities(threshold)
    found: list[Entity] = []
    joins = False  # whether the word before belongs to the last entity
    for word in _words(trace, tags(model, trace)):
        tag = word.label
        if tag == OUTSIDE:
            joins = False
            continue
        prefixed = tag[:2] in BEGINS + GOES_ON
        label = tag[2:] if prefixed else tag
        word = replace(word, label=label)
        if joins and tag[:2] in GOES_ON and found[-1].label == label and found[-1].side == word.side:
            last = found.pop()
            least = min(last.probability, word.probability)
            word = replace(last, positions=last.positions + word.positions, end=word.end, probability=least)
        found.append(word)
        joins = prefixed
    return tuple(found)


def _words(trace: Trace, tagged: Iterable[TokenTag]) -> list[Entity]:
    """Each word as an entity of its own, whose label is its first token's tag."""
    source = trace.source
    assert source is not None
    found: list[Entity] = []
    word, sides = -1, sentences(trace)
    for tag in tagged:
        index = source.words[tag.position]
        if index < 0:
            continue
        if index == word:
            positions, end = (*found[-1].positions, tag.position), source.offsets[tag.position][1]
            found[-1] = replace(found[-1], positions=positions, end=end)
        else:
            place = source.offsets[tag.position]
            found.append(Entity(tag.label, (tag.position,), *place, sides[tag.position], tag.probability))
        word = index
    return found
