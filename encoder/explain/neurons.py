"""The neurons of the feed-forward layers: which are active, what each adds, and which words its output vector favours.

Shapes: L layers, T tokens, D d_model, F width of the FFN, C columns of a pooled map, V vocabulary.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.explain.arithmetic import Floats
from encoder.explain.place import Place
from encoder.measure.residual_stream import sublayer_updates
from encoder.model.config import Sublayer
from encoder.trace.trace import Trace


def most_active(hidden: Floats) -> NDArray[np.integer]:
    """hidden [T, F] -> all neurons [F], those with the largest absolute activation at any token first."""
    return np.argsort(-np.abs(hidden).max(axis=0), kind="stable")


def first_with(order: NDArray[np.integer], n: int, also: Iterable[int]) -> NDArray[np.integer]:
    """The first n neurons of an order, and of the rest of it those in `also`."""
    wanted = np.isin(order, list(also))
    wanted[:n] = True
    return order[wanted]


@dataclass(frozen=True, eq=False)
class NeuronMap:
    """Activations of ordered neurons in blocks of columns. values [T, C]: of each block the activation of the largest
    size, with its sign; neurons [T, C]: whose it is; block: neurons in a column."""

    values: Floats
    neurons: NDArray[np.integer]
    block: int


def neuron_map(hidden: Floats, order: NDArray[np.integer], most: int) -> NeuronMap:
    """The neurons `order` of hidden [T, F] as a map of at most `most` columns."""
    block = -(-len(order) // most)
    n_columns = -(-len(order) // block)
    n_missing = n_columns * block - len(order)
    neurons = np.concatenate([order, np.full(n_missing, order[-1])]).reshape(n_columns, block)
    values = hidden[:, neurons]  # [T, C, block]
    chosen = np.abs(values).argmax(axis=2)[..., None]
    picked = np.take_along_axis(np.broadcast_to(neurons, values.shape), chosen, axis=2)[..., 0]
    return NeuronMap(np.take_along_axis(values, chosen, axis=2)[..., 0], picked, block)


@torch.no_grad()
def update_sizes(trace: Trace) -> dict[Sublayer, Floats]:
    """|f(x)| / |x| of each sublayer, [L, T] each: the norm of its update over that of the residual stream before it."""
    found: dict[Sublayer, list[NDArray[np.floating]]] = defaultdict(list)
    for layer in range(trace.config.n_layers):
        for sublayer, before, update in sublayer_updates(trace, layer):
            norm = before.double().norm(dim=-1).clamp(min=torch.finfo(torch.float32).tiny)
            found[sublayer].append((update.double().norm(dim=-1) / norm).float().cpu().numpy())
    return {sublayer: np.stack(sizes) for sublayer, sizes in found.items()}


@dataclass(frozen=True)
class PromotedWords:
    """A reading of a neuron's output vector: words with their scores, and the position of the mask where it is read.

    highest: largest score first; lowest: lowest first; (id, token, score) each; position: None without a text.
    """

    highest: tuple[tuple[int, str, float], ...]
    lowest: tuple[tuple[int, str, float], ...]
    position: int | None


def promoted_words(
    model: TextEncoder, layer: int, neuron: int, trace: Trace | None = None, k: int = 8
) -> PromotedWords:
    """The words whose scores a neuron's output vector, added to the output, raises and lowers most.

    After Geva et al. 2021, who multiply it by the word vectors of a decoder. An encoder's masked-word head has a dense
    map, an activation and a norm before the word vectors. With a trace that has a mask token: their derivative at the
    first mask, in the direction of the vector. Without: dense map, centring and gain only. Later layers are left out,
    so it is a reading and not an effect. Raises EncoderError for a model without a masked-word head.
    """
    head = model.mlm_head
    if head is None:
        raise EncoderError(f"{model.name} has no masked-word head: choose a model that predicts hidden words.")
    Place(layer=layer, neuron=neuron).checked(model.config, 1)
    vector = model.encoder.block(layer).ffn.w_out.weight.detach()[:, neuron]  # [D]
    table = model.encoder.embedding.tokens.weight
    assert isinstance(table, Tensor)
    position = None if trace is None else first_mask(model, trace)
    if trace is not None and position is not None:
        # By reverse mode: the levels of torch's forward mode are shared by all threads.
        at = trace.output[position].detach()
        scores = _derivative(lambda x: head(x, table), at, vector)  # [V]
    else:
        with torch.no_grad():
            mapped = torch.nn.functional.linear(vector, head.dense.weight)
            own: Tensor | None = head.table
            words = table if own is None else own
            scores = (words @ ((mapped - mapped.mean()) * head.norm.weight)).float()  # [V]
    return PromotedWords(_words(model, scores.topk(k)), _words(model, scores.topk(k, largest=False)), position)


def _derivative(function: Callable[[Tensor], Tensor], at: Tensor, direction: Tensor) -> Tensor:
    """Derivative of function: [D] -> [V] in a direction [D], float32 [V]; by differentiating twice in reverse mode."""
    _, found = torch.autograd.functional.jvp(function, at, direction)  # type: ignore[no-untyped-call]
    return found.detach().float()


def _words(model: TextEncoder, found: tuple[Tensor, Tensor]) -> tuple[tuple[int, str, float], ...]:
    """(scores, ids) [k] -> (id, token, score) each."""
    pairs = zip(found[1].tolist(), found[0].tolist(), strict=True)
    return tuple((one, model.tokenizer.token(one), score) for one, score in pairs)


def first_mask(model: TextEncoder, trace: Trace) -> int | None:
    """The position of the first mask token; None where there is none."""
    token = model.tokenizer.mask_token
    return trace.tokens.index(token) if token in trace.tokens else None
