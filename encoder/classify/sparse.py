"""SPLADE's vector of a text: a weight for each word of the vocabulary, and the tokens that gave it.

With logits of the masked-word head at token t, the weight of word v is max over t of log(1 + relu(logit_tv)) (Formal et
al. 2021); the first SPLADE sums over t. Two texts are compared by the dot product of their weights, word by word.

Shapes: T tokens, V vocabulary, W words with a weight.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.encoders.text import POSITIONS_AT_ONCE, TextEncoder
from encoder.model.pooling import SparseConfig
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class SparseVector:
    """The words with a weight, the heaviest first.

    ids, words [W]; weights [W]; sources [W]: the token that gave the largest part of a weight; shares [W]: that part of
    the weight, 1 where the maximum is taken.
    """

    ids: tuple[int, ...]
    words: tuple[str, ...]
    weights: tuple[float, ...]
    sources: tuple[int, ...]
    shares: tuple[float, ...]


def sparse_vector(model: TextEncoder, trace: Trace) -> SparseVector:
    """The weights of a text, by the checkpoint's own pooling, else by the maximum.

    A model that was not trained as SPLADE has weights for most words. Raises EncoderError for a model without a
    masked-word head.
    """
    how = model.sparse or SparseConfig()
    total, largest, source = _present(model, trace) if how.pooling == "present" else _pooled(model, trace, how)
    order = total.argsort(descending=True, stable=True)
    ids = order[total[order] > 0][: how.most]
    return SparseVector(
        ids=tuple(ids.tolist()),
        words=tuple(map(model.tokenizer.token, ids.tolist())),
        weights=tuple(total[ids].tolist()),
        sources=tuple(source[ids].tolist()),
        shares=tuple((largest[ids] / total[ids]).tolist()),
    )


def _pooled(model: TextEncoder, trace: Trace, how: SparseConfig) -> tuple[Tensor, Tensor, Tensor]:
    """[V] each: the weight of each word, the largest part of a token, and that token."""
    total = torch.zeros(model.config.vocab_size, device=trace.output.device)
    largest, source = torch.zeros_like(total), torch.zeros_like(total, dtype=torch.long)
    for places in torch.split(torch.arange(trace.n_real, device=total.device), POSITIONS_AT_ONCE):
        with torch.no_grad():
            given = model.token_weights(trace.output[places])  # [t, V]
        most, place = given.max(dim=0)
        total = torch.maximum(total, most) if how.pooling == "max" else total + given.sum(dim=0)
        source = torch.where(most > largest, places[place], source)
        largest = torch.maximum(largest, most)
    return total, largest, source


def _present(model: TextEncoder, trace: Trace) -> tuple[Tensor, Tensor, Tensor]:
    """The same where a word that is in the text has its own weight: the first token with it gives all of it."""
    total = model.vector_of(trace).float()
    source = torch.zeros_like(total, dtype=torch.long)
    for place in reversed(range(trace.n_real)):
        source[trace.ids[place]] = place
    return total, total, source
