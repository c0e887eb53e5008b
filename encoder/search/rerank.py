"""Ranking again with a cross-encoder: it processes query and text together, and gives the pair one score.

The bi-encoder's vectors are computed once for all queries. A cross-encoder processes each pair for each query, so it
orders only the first hits (Nogueira and Cho 2019).
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import torch

from encoder.classify import classifier_of
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.model.device import explain_out_of_memory
from encoder.trace import gradual

#: Hits that are ranked again, and pairs that are read at a time.
TOP, BATCH = 20, 8


@dataclass(frozen=True)
class Reranked:
    """One hit in its new order. place: of the text; score: the logit of the pair; before: its former rank, from 1."""

    place: int
    score: float
    before: int


def check_cross_encoder(model: TextEncoder) -> None:
    """Raise EncoderError for a model that gives pairs no single score."""
    head = classifier_of(model, "sequence")
    if len(head.config.labels) != 1:
        raise EncoderError(
            f"{model.name} has {len(head.config.labels)} classes, and a cross-encoder has one: choose another folder."
        )


def iter_rerank(
    model: TextEncoder, query: str, texts: Sequence[str], places: Sequence[int]
) -> Generator[float, None, tuple[Reranked, ...]]:
    """Order the hits `places` of `texts` by the cross-encoder; yields the share that is done after each batch.

    Long pairs are cut, the longer text first. Raises EncoderError for a model without a head of one label.
    """
    check_cross_encoder(model)
    assert model.classifier is not None
    scores: list[float] = []
    for first in range(0, len(places), BATCH):
        pairs = [model.tokenize(query, texts[place]) for place in places[first : first + BATCH]]
        batch = model.tokenizer.batch(pairs, model.device)
        with explain_out_of_memory(model.device, batch.ids.numel()), torch.no_grad():
            output = model.encoder(batch.ids, batch.mask, batch.segments)
            scores += model.classifier(output, batch.real)[:, 0].float().tolist()
        yield len(scores) / len(places)
    order = sorted(range(len(places)), key=lambda rank: -scores[rank])
    return tuple(Reranked(places[rank], scores[rank], rank + 1) for rank in order)


rerank = gradual.at_once(iter_rerank, "rerank")
