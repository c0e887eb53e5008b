"""Position information of an encoder, for any number of positions, and its effect on a sentence.

Shapes: N positions, T tokens, D d_model, E width of the tables, K width of a head, H heads.
"""

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.errors import EncoderError
from encoder.model import attend, biases
from encoder.model.distances import ScoreTerms, all_distances
from encoder.model.embed import is_sine_halves, sinusoidal
from encoder.model.encoder import Encoder
from encoder.model.rotary import rotate
from encoder.model.sines import is_sines_of_grid
from encoder.trace import tokens
from encoder.trace.capture import record
from encoder.trace.trace import Trace


@torch.no_grad()
def added(encoder: Encoder, n_positions: int) -> np.ndarray | None:
    """[N, E] float32: the vectors that the model adds at positions 0 .. N-1; None where it adds none (rotary, none).

    Raises EncoderError for more positions than the model has.
    """
    _check_number(encoder, n_positions)
    real = torch.full(
        (1, n_positions), encoder.config.pad_id + 1, device=encoder.device
    )  # any id that is not a padding
    rows = encoder.embedding.positions(real, None, n_positions)
    return None if rows is None else rows.float().reshape(n_positions, -1).cpu().numpy()


def _check_number(encoder: Encoder, n_positions: int) -> None:
    longest = encoder.config.max_tokens
    if n_positions > longest:
        raise EncoderError(f"{n_positions:,} positions: this model has {longest:,}. Ask for those or fewer.")


def sines(n_positions: int, width: int) -> np.ndarray:
    """[N, width] float32: the sinusoidal encoding (Vaswani et al. 2017, 3.5). Raises EncoderError for an odd width."""
    if width % 2:
        raise EncoderError(f"width={width}: sines and cosines come in pairs, so the width must be even.")
    return sinusoidal(torch.arange(n_positions), width).numpy()


def slowest_first(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """table [N, E] -> (components [E], [N, E] their values, each less its median), the slowest change first.

    The change of a component: the mean square of its steps from one position to the next, next to its variance. The
    first position is left out of it: models add something else to it.
    """
    later = table[1:].astype(np.float64)
    steps, spread = np.square(np.diff(later, axis=0)), later.var(axis=0)
    speed = steps.mean(axis=0) / np.maximum(spread, np.finfo(np.float32).tiny) if len(steps) else spread
    components = np.argsort(speed, kind="stable").astype(np.int32)
    return components, (table - np.median(table, axis=0))[:, components]


def are_stored_sines(table: np.ndarray) -> bool:
    """Whether a table [N, E] is Whisper's sinusoidal encoding (Radford et al. 2022, code): `is_sine_halves`."""
    return is_sine_halves(torch.tensor(table))


def has_sines_of_grid(encoder: Encoder) -> bool:
    """Whether the positions of the patches are sines of their rows and columns (AIMv2)."""
    table = encoder.embedding.positions.table
    return table is not None and encoder.config.patches is not None and is_sines_of_grid(table.weight.detach())


def turns(encoder: Encoder, layer: int, n_positions: int) -> tuple[np.ndarray, np.ndarray]:
    """cos, sin [N, K/2] float32 of the angle that rotates pair c of a layer's queries and keys at each position; in
    V-JEPA 2 of its first component. Those of a table in the weights may be of no angle, so that lengths change.

    Raises EncoderError where positions are not rotary, and for more than a table has.
    """
    if encoder.config.rotary_table:
        _check_number(encoder, n_positions)
    cos, sin = _rotation(encoder, layer, torch.arange(n_positions))
    pairs = cos.shape[1] // 2  # the second half repeats the first
    return cos[:, :pairs].numpy(), sin[:, :pairs].numpy()


def longer(cos: np.ndarray, sin: np.ndarray) -> tuple[float, float]:
    """cos, sin [N, K/2] of `turns` -> the least and the largest factor by which a pair's length grows. 1 where they are
    those of angles."""
    factors = np.hypot(cos, sin)
    return float(factors.min()), float(factors.max())


def turned_apart(cos: np.ndarray) -> np.ndarray:
    """cos [N, K/2] of `turns` -> [N]: dot product of two equal unit vectors, rotated as at positions so far apart.

    The vector has the same norm in every pair, and each pair contributes the cosine of the angle between the two
    positions. For equal vectors the sign of the offset does not matter; for a query and a key it does.
    """
    return cos.astype(np.float64).mean(axis=1)


@torch.no_grad()
def turned_products(
    trace: Trace, layer: int, head: int, query: int, key: int, farthest: int
) -> tuple[np.ndarray, np.ndarray]:
    """(signed offsets j - i, q . k there): the dot product of two tokens' query and key at each offset.

    Both are rotated back to position 0, then the key is rotated by each offset, -farthest .. farthest. At the tokens'
    own offset, this is the product in the scores. Raises EncoderError where positions are not rotary, turn what queries
    and keys are made of, or turn by a table.
    """
    if trace.config.rotary_grid:
        raise EncoderError("This model rotates by rows and columns: its products follow no offset of tokens.")
    if trace.config.rotary_input:
        raise EncoderError("This model rotates before its queries and keys are made: their product follows no offset.")
    if trace.config.rotary_table:
        raise EncoderError("This model rotates by a table of its weights: its products follow no offset of tokens.")
    q, k, _ = trace.layer_qkv(layer)
    cos, sin = _rotation(trace.encoder, layer, torch.tensor([query, key]))
    paired = trace.config.rotary_interleaved
    # The opposite angle rotates back.
    q0, k0 = (
        rotate(vector.float().cpu(), cos[row : row + 1], -sin[row : row + 1], paired)
        for row, vector in enumerate((q[head, query : query + 1], k[head, key : key + 1]))
    )
    distances = torch.arange(-farthest, farthest + 1)
    cos, sin = _rotation(trace.encoder, layer, distances)
    return distances.numpy(), (rotate(k0.expand(len(distances), -1), cos, sin, paired) @ q0[0]).numpy()


@torch.no_grad()
def _rotation(encoder: Encoder, layer: int, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos, sin [N, K] of the angles at any positions, negative ones too."""
    config = encoder.config
    if config.position != "rotary":
        raise EncoderError(f"The positions of this model are {config.position}: no query or key is rotated.")
    scaling = config.rotary_of_layer(layer)[1]
    length = 1.0 if scaling is None else scaling.length  # YaRN lengthens the vectors, and an angle has no length
    cos, sin = (one.cpu() for one in encoder.rotation(layer, positions.to(encoder.device)))
    return cos / length, sin / length


@torch.no_grad()
def distance_biases(encoder: Encoder, farthest: int, layer: int = 0) -> tuple[np.ndarray, np.ndarray] | None:
    """(signed offsets j - i, [H, offsets]: the bias of each head's scores there); None without such a bias.

    From -farthest to farthest, or to 0 in a causal model, whose queries attend to no later key. A learned one, or
    ALiBi's. layer: whose table; most models have one for all layers.
    """
    distances = torch.arange(-farthest, 1 if encoder.config.causal else farthest + 1)
    if encoder.config.position == "alibi":
        slopes = biases.alibi_slopes(encoder.config.n_heads)
        return distances.numpy(), biases.alibi(slopes, torch.zeros(1), distances)[:, 0].numpy() + 0.0  # not -0.0
    weights = encoder.bias_table(layer)
    if weights is None or encoder.config.relative_grid:
        return None
    table = weights.float().cpu()
    config = encoder.config
    zero = torch.zeros(1, dtype=torch.long)
    bias = biases.relative_bias(table, zero, distances, config.relative_max_distance, config.relative_one_sided)
    return distances.numpy(), bias[:, 0].numpy()


@torch.no_grad()
def grid_biases(encoder: Encoder, layer: int) -> np.ndarray | None:
    """[H, 2S - 1, 2S - 1]: BEiT's bias of each head's scores, by the offsets of rows and of columns, key minus query,
    from -(S - 1) to S - 1 on a grid of S x S patches; None without such a bias."""
    patches, weights = encoder.config.patches, encoder.bias_table(layer)
    if patches is None or weights is None or not encoder.config.relative_grid:
        return None
    width = 2 * patches.side - 1
    table = weights[: width * width].float().cpu().T.reshape(-1, width, width)  # by query minus key
    return table.flip(1, 2).numpy()


@torch.no_grad()
def score_terms(trace: Trace, layer: int, head: int, rows: slice) -> dict[str, np.ndarray]:
    """The parts of the scores of a head, [Ti, T] each, scaled: they sum to the scores before the mask.

    Raises EncoderError where the scores have only one part.
    """
    context, rows = trace.contexts[layer], slice(*rows.indices(trace.n_tokens))
    q, k, _ = (one[head][None].float() for one in trace.layer_qkv(layer))
    found = {"content to content": attend.scores(q[:, rows], k, context.scale)}
    for name, term in _terms(trace, layer).apart(q[:, rows], k, context.encoded, rows, slice(head, head + 1)).items():
        found[name] = term * context.scale
    return {name: term[0].cpu().numpy() for name, term in found.items()}


@torch.no_grad()
def terms_by_offset(
    trace: Trace, layer: int, head: int, query: int, key: int, farthest: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(signed offsets j - i, name -> [N]): the terms of one query and one key at each offset, scaled."""
    offsets, scale = torch.arange(-farthest, farthest + 1), trace.contexts[layer].scale
    places = torch.cat((torch.zeros(1, dtype=torch.long), offsets)).to(trace.mask.device)  # the query's, then the keys'
    q, k, _ = (one[head][None].float() for one in trace.layer_qkv(layer))
    terms = _terms(trace, layer) if trace.config.distance_keys is None else _of_places(trace, layer, places)
    keys = k[:, key : key + 1].expand(-1, len(places), -1)
    apart = terms.apart(q[:, query : query + 1], keys, places, slice(0, 1), slice(head, head + 1))
    return offsets.numpy(), {name: (term[0, 0, 1:] * scale).cpu().numpy() for name, term in apart.items()}


def _terms(trace: Trace, layer: int) -> ScoreTerms:
    terms = trace.contexts[layer].terms
    if terms is None:
        raise EncoderError("The scores of this model have no terms of positions: choose a DeBERTa or a Conformer.")
    return terms


def _of_places(trace: Trace, layer: int, places: Tensor) -> ScoreTerms:
    """The terms of tokens at any places."""
    return trace.encoder.block(layer).attention.distance_terms(*all_distances(places))


@torch.no_grad()
def lengths(trace: Trace) -> tuple[float, float] | None:
    """Mean norms of the (position, token) vectors that the embedding adds, over real tokens; None without positions."""
    if trace.position is None:
        return None
    both = (trace.position, trace.values["embedding.tokens"])
    position, token = (float(x[: trace.n_real].float().norm(dim=-1).mean()) for x in both)
    return position, token


@dataclass(frozen=True, eq=False)
class OrderEffect:
    """The effect of reversing the tokens of each sentence; special tokens and closing punctuation keep their places.

    order [T]: the token at each position of the reversed text; moved [T] bool: the tokens with another position;
    cosine [T]: of every token's output with its output before;
    difference: the largest change of an output vector, relative to its norm; same: the change is only rounding.
    """

    order: np.ndarray
    moved: np.ndarray
    cosine: np.ndarray
    difference: float
    same: bool


@torch.no_grad()
def order_effect(trace: Trace) -> OrderEffect:
    """Run each sentence's tokens in reverse order and compare every token's output: one forward pass, with the edits
    of the trace.

    Without positions an encoder gives the same vectors in another order, but for rounding (Vaswani et al. 2017, 3.5).
    """
    device = trace.encoder.device
    order = torch.tensor(_reversed(trace))  # position p now holds token order[p]
    ids = torch.tensor(trace.ids)[order].to(device)
    segments = None if trace.source is None else torch.zeros_like(ids)
    if segments is not None and trace.source is not None:
        segments[: len(trace.source)] = torch.tensor(trace.source.segments, device=device)
    mask = None if trace.n_real == trace.n_tokens else trace.mask.unsqueeze(0)
    places = None if trace.places is None else trace.places[order.to(device)].unsqueeze(0)
    segments = None if segments is None else segments.unsqueeze(0)
    with record(trace.applied) if trace.applied else nullcontext():
        turned = trace.encoder(ids.unsqueeze(0), mask, segments, places=places)[0]
    now = torch.empty_like(turned)
    now[order.to(device)] = turned
    before, after = trace.output.float(), now.float()
    change = (after - before).norm(dim=-1) / before.norm(dim=-1).clamp(min=torch.finfo(torch.float32).tiny)
    difference = float(change[: trace.n_real].max())
    return OrderEffect(
        order=order.numpy(),
        moved=(order != torch.arange(len(order))).numpy(),
        cosine=torch.cosine_similarity(before, after, dim=-1).cpu().numpy(),
        difference=difference,
        same=difference < (1e-4 if trace.output.dtype == torch.float32 else 0.1),  # through several layers
    )


def _reversed(trace: Trace) -> list[int]:
    """[T]: for each position its token when every sentence is reversed up to its closing punctuation."""
    order = list(range(trace.n_tokens))
    sentence, content, marks = tokens.sentences(trace), tokens.is_content(trace), tokens.is_punctuation(trace)
    for number in {one for one in sentence if one >= 0}:
        places = [place for place in range(trace.n_tokens) if content[place] and sentence[place] == number]
        while places and marks[places[-1]]:  # a full stop at the beginning would change every output by itself
            places.pop()
        for place, token in zip(places, reversed(places), strict=True):
            order[place] = token
    return order
