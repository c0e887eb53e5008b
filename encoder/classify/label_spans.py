"""GLiNER: a score for every span of words and every label that you type (Zaratiana et al. 2024).

    trace = model.trace(with_labels(model, ["person", "place"], "Ada lived in London."))
    span_scores(model, trace).entities(0.5)

The labels are the first tokens of the trace. A score is the sigmoid of a logit, so those of a span need not sum to 1.

Shapes: S spans, C labels, T tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd
import torch

from encoder.classify.entity import Entity
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.label_prompt import LabelPrompt
from encoder.model.entity_head import EntityHead
from encoder.trace.trace import Trace

#: A span with a score above this is an entity, as in gliner.
THRESHOLD = 0.5


@dataclass(frozen=True)
class Word:
    """A word of the text. positions: of its tokens; start, end: characters."""

    positions: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class SpanScores:
    """The score of every span for every label.

    text: with its labels; start: its first character after them; labels: C; words: those of the text; spans: S pairs
    (first word, last word); logits [S, C].
    """

    text: str
    start: int
    labels: tuple[str, ...]
    words: tuple[Word, ...]
    spans: tuple[tuple[int, int], ...]
    logits: torch.Tensor

    @cached_property
    def scores(self) -> torch.Tensor:
        """[S, C]: the sigmoid of each logit."""
        return self.logits.sigmoid()

    def of(self, span: int) -> tuple[int, int]:
        """The characters (start, end) of a span."""
        first, last = self.spans[span]
        return self.words[first].start, self.words[last].end

    def entities(self, threshold: float = THRESHOLD) -> tuple[Entity, ...]:
        """The entities, in the order of the text: from the largest score above the threshold on, each span that shares
        no word with one before it. Raises EncoderError for a threshold that is not a score.
        """
        found = []
        for span, label in self._chosen(threshold):
            first, last = self.spans[span]
            positions = tuple(place for word in self.words[first : last + 1] for place in word.positions)
            found.append(Entity(self.labels[label], positions, *self.of(span), 0, float(self.scores[span, label])))
        return tuple(found)

    def _chosen(self, threshold: float) -> list[tuple[int, int]]:
        """(span, label) of the entities."""
        if not 0.0 <= threshold <= 1.0:
            raise EncoderError(f"threshold={threshold} is not a score: choose 0 to 1.")
        candidates = (self.scores > threshold).nonzero().tolist()
        candidates.sort(key=lambda one: -float(self.scores[one[0], one[1]]))
        taken: set[int] = set()
        found = []
        for span, label in candidates:
            inside = set(range(self.spans[span][0], self.spans[span][1] + 1))
            if not taken & inside:
                taken |= inside
                found.append((span, label))
        return sorted(found, key=lambda one: self.spans[one[0]])

    def table(self, threshold: float = THRESHOLD) -> pd.DataFrame:
        """A row for each span, the largest score first: its characters in the text without labels, its words, its best
        label and the score of that, whether it is an entity (`entities`), and its score for each label.
        """
        places = [self.of(span) for span in range(len(self.spans))]
        best = self.scores.max(dim=1) if len(self.spans) else None
        chosen = {span for span, _ in self._chosen(threshold)}
        columns = {
            "start": [start - self.start for start, _ in places],
            "end": [end - self.start for _, end in places],
            "span": [self.text[start:end] for start, end in places],
            "label": [] if best is None else [self.labels[place] for place in best.indices.tolist()],
            "score": [] if best is None else best.values.tolist(),
            "entity": [span in chosen for span in range(len(self.spans))],
        }
        columns |= {f"score of {label}": self.scores[:, place].tolist() for place, label in enumerate(self.labels)}
        return pd.DataFrame(columns).sort_values("score", ascending=False, kind="stable", ignore_index=True)


def _read(model: TextEncoder) -> tuple[EntityHead, LabelPrompt]:
    """The head, and how its texts are written. Raises EncoderError for a model without such a head."""
    head: EntityHead | None = getattr(model, "entity_head", None)
    prompt = None if head is None else model.tokenizer.label_prompt
    if head is None or prompt is None:
        raise EncoderError(f"{model.name} has no head for labels in words: choose a checkpoint of GLiNER.")
    return head, prompt


def with_labels(model: TextEncoder, labels: Sequence[str], text: str) -> str:
    """The input of the model: the labels, then the text, cut where the checkpoint says (384 words).

    Raises EncoderError for a model without such a head, and TextError for no label, an empty one, or one given twice.
    """
    return _read(model)[1].before(labels, text)


@torch.no_grad()
def span_scores(model: TextEncoder, trace: Trace) -> SpanScores:
    """The scores of a trace of a text with its labels (`with_labels`).

    Of a trace that was cut, only the words in it have spans. Raises EncoderError for a model without such a head, for a
    trace without labels, and for a word without a token.
    """
    (head, prompt), source = _read(model), trace.source
    labels = () if source is None else prompt.labels(source.text)
    if source is not None and source.pair is not None:
        raise EncoderError("GLiNER accepts one text: leave the second sentence out.")
    if source is None or not labels:
        raise EncoderError(
            "This text has no labels: trace classify.with_labels(model, ['person', 'place'], text), type them on the "
            "page Predict, or specify --labels on the command line."
        )
    places = [place for place, one in enumerate(trace.ids[: trace.n_real]) if one == head.config.marker_id]
    if len(places) != len(labels):
        raise EncoderError(
            f"The labels fill the {trace.n_real:,} tokens that {model.name} accepts: specify fewer or shorter labels."
        )
    words, after = _words(trace, prompt), source.text[prompt.end(source.text) :]
    start = len(source.text) - len(after.lstrip())
    spans = head.spans(len(words))
    if not words:
        return SpanScores(source.text, start, labels, (), (), torch.zeros(0, len(labels)))
    pairs = tuple((first, last) for first, last in spans.tolist())
    where = torch.tensor(places) + int(not head.config.reads_marker)
    vectors = trace.output[[word.positions[0] for word in words]]
    logits = head(vectors, trace.output[where.to(trace.output.device)], spans.to(trace.output.device))
    return SpanScores(source.text, start, labels, words, pairs, logits.float().cpu())


def _words(trace: Trace, prompt: LabelPrompt) -> tuple[Word, ...]:
    """The words of the text after its labels, each with its tokens.

    Raises EncoderError for a word without a token, such as a zero-width space in BERT: gliner gives it the vector of
    the next word, and its entities are then in the wrong places.
    """
    source = trace.source
    assert source is not None
    start = prompt.end(source.text)
    found: dict[int, Word] = {}
    for place, word in enumerate(source.words):
        first, last = source.offsets[place]
        if word < 0 or first < start:
            continue
        before = found.get(word, Word((), first, last))
        found[word] = Word((*before.positions, place), before.start, last)
    typed = [one for one in prompt.words(source.text) if one[0] >= start]
    if len(found) < len(typed) and not source.cut:
        starts = [word.start for word in found.values()]
        missing = next(source.text[a:b] for a, b in typed if not any(a <= one < b for one in starts))
        raise EncoderError(f"The tokenizer has no token for {quoted(missing)}: leave it out.")
    return tuple(found.values())
