"""SPLADE's vector of a text: a weight for each word of the vocabulary, and the tokens that gave it.

With logits of the masked-word head at token t, the weight of word v is max over t of log(1 + relu(logit_tv)) (Formal et
al. 2021); the first SPLADE sums over t. Two texts are compared by the dot product of their weights, word by word.

Shapes: T tokens, V vocabulary, W words with a weight.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.encoders.text import POSITIONS_AT_ONCE, TextEncoder
from encoder.errors import EncoderError
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
    if model.mlm_head is None:
        raise EncoderError(f"{model.name} has no masked-word head, which SPLADE needs: choose another checkpoint.")
    how = model.sparse or SparseConfig()
    total = torch.zeros(model.config.vocab_size, device=trace.output.device)
    largest, source = torch.zeros_like(total), torch.zeros_like(total, dtype=torch.long)
    for places in torch.split(torch.arange(trace.n_real, device=total.device), POSITIONS_AT_ONCE):
        given = token_weights(model, trace.output[places], how)  # [t, V]
        most, place = given.max(dim=0)
        total = torch.maximum(total, most) if how.pooling == "max" else total + given.sum(dim=0)
        source = torch.where(most > largest, places[place], source)
        largest = torch.maximum(largest, most)
    order = total.argsort(descending=True, stable=True)
    ids = order[total[order] > 0]
    return SparseVector(
        ids=tuple(ids.tolist()),
        words=tuple(map(model.tokenizer.token, ids.tolist())),
        weights=tuple(total[ids].tolist()),
        sources=tuple(source[ids].tolist()),
        shares=tuple((largest[ids] / total[ids]).tolist()),
    )


@torch.no_grad()
def token_weights(model: TextEncoder, output: Tensor, how: SparseConfig) -> Tensor:
    """Outputs [t, D] of some tokens -> [t, V]: what each gives to each word."""
    assert model.mlm_head is not None
    logits = model.mlm_head(output, model.encoder.embedding.tokens.weight).float()
    weights = torch.log1p(logits.relu())
    return torch.log1p(weights) if how.twice else weights
