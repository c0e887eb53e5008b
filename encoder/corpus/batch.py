"""One batch of texts of the same number of tokens -> numbers of each text.

Texts of one length need no padding, so each number is that of the text only, but for rounding.

Shapes: B texts, M measures, L layers, H heads, N = L x H heads, T tokens, D d_model, O offsets, G key tokens, S numbers
of the residual stream and the norms.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.corpus.groups import KEY_MEASURES, Groups
from encoder.corpus.plan import MEASURES
from encoder.corpus.totals import fits
from encoder.corpus.watcher import N_OFFSETS, Watcher, offset_places
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.text import Tokenized
from encoder.measure.head_definitions import BY_NAME, Definition
from encoder.measure.head_divergence import divergence_sums
from encoder.measure.head_measures import means, uniform_entropy
from encoder.model.device import explain_out_of_memory
from encoder.model.hooks import visiting
from encoder.own import FILE

#: Tokens of a batch, about. Larger batches are not faster on a CPU, and smaller ones are slower.
MOST_TOKENS = 1024
#: Numbers that the comparison of all heads on one text takes, as in `encoder.measure.similarity`.
MOST_SIMILARITY_NUMBERS = 20_000_000


@dataclass(frozen=True, eq=False)
class BatchNumbers:
    """Numbers of B texts, float64 unless a type is given."""

    #: [B, M, L, H]; NaN where a text has nothing to measure.
    measures: np.ndarray
    #: [B, L, H, O]: sums of weights by offset.
    profile: np.ndarray
    #: [O]: pairs of tokens at each offset.
    pairs: np.ndarray
    #: [B, L, H, G]: weight on these tokens, mean over queries; NaN for a text without the token.
    key_tokens: np.ndarray
    #: [B, S].
    norms: np.ndarray
    #: text -> divergence of all pairs of heads [N, N].
    similarity: dict[int, np.ndarray]
    #: layer -> float16 [b, T, D] of the sampled texts.
    vectors: dict[int, np.ndarray]
    #: uint8 [b, T, L, H, 5] of the sampled texts.
    behaviour: np.ndarray | None
    #: bool [B]: every number is finite and fits into a sum.
    usable: np.ndarray


def batches(lengths: Sequence[int], most_tokens: int = MOST_TOKENS) -> Iterator[list[int]]:
    """Places of texts in batches of one length each, the shortest first."""
    by_length: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        by_length.setdefault(length, []).append(place)
    for length, places in sorted(by_length.items()):
        at_once = max(1, most_tokens // length)
        n_batches = math.ceil(len(places) / at_once)
        step = math.ceil(len(places) / n_batches)  # batches of equal size: a short last one costs more than its share
        yield from (places[start : start + step] for start in range(0, len(places), step))


def norm_names(model: TextEncoder) -> tuple[str, ...]:
    """The S names of `BatchNumbers.norms`: "length/0", ..., "norm_std/final_norm"; see `measure.stream`."""
    sentence = model.tokenize("a")
    return tuple(_watched(model, [sentence], (), 1.0, (), (), {}).norms)


def measure_batch(
    model: TextEncoder,
    sentences: Sequence[Tokenized],
    key_tokens: Sequence[str],
    *,
    strong: float,
    vectors: tuple[int, ...] = (),
    vectors_of: tuple[int, ...] = (),
    similarity_of: tuple[int, ...] = (),
    own: tuple[str, ...] = (),
) -> BatchNumbers:
    """Run texts of one length and measure them. vectors: layer numbers; vectors_of, similarity_of: places of texts;
    own: names of measures of one's own, which come last in M and run each text once more."""
    n_tokens, n = len(sentences[0]), model.config.n_layers * model.config.n_heads
    work = (n * (n - 1) // 2 + 4 * n) * n_tokens * n_tokens
    step = max(1, math.ceil(work / MOST_SIMILARITY_NUMBERS))
    watcher = _watched(model, sentences, key_tokens, strong, vectors, vectors_of, dict.fromkeys(similarity_of, step))
    groups = watcher.groups
    measures = _means(watcher, groups, model.config.causal)
    if own:
        of_text = np.array([[_own(name).of(trace) for name in own] for trace in map(model.trace_tokens, sentences)])
        of_text[np.isnan(of_text).any((-1, -2))] = np.nan  # a text counts for all heads, or for none
        measures = np.concatenate([measures, of_text], 1)
    received = _stacked(watcher.received) / n_tokens  # [B, L, H, G]
    present = groups.keys[..., len(KEY_MEASURES) :].any(1).cpu().numpy()  # [B, G]
    norms = torch.stack(list(watcher.norms.values()), -1).cpu().double().mean(1).numpy()  # MPS has no float64
    profile = _stacked(watcher.profile)
    finite = [fits(np.nan_to_num(profile, nan=np.inf)), fits(received), fits(norms)]
    finite += [fits(measures) | (np.isnan(measures) & _may_lack(groups, len(own)))]
    usable = np.logical_and.reduce([one.reshape(len(sentences), -1).all(-1) for one in finite])
    return BatchNumbers(
        measures=measures,
        profile=profile,
        pairs=torch.bincount(offset_places(n_tokens, slice(0, n_tokens)).flatten(), minlength=N_OFFSETS).numpy(),
        key_tokens=np.where(present[:, None, None], received, np.nan),
        norms=norms,
        similarity={text: _divergence([layer[text] for layer in watcher.maps]) for text in similarity_of},
        vectors={number: kept.numpy() for number, kept in watcher.kept.items()},
        behaviour=torch.stack(watcher.behaviour, 1).permute(0, 3, 1, 2, 4).numpy() if vectors_of else None,
        usable=usable,
    )


def _watched(
    model: TextEncoder,
    sentences: Sequence[Tokenized],
    key_tokens: Sequence[str],
    strong: float,
    vectors: tuple[int, ...],
    vectors_of: tuple[int, ...],
    maps_of: dict[int, int],
) -> Watcher:
    batch = model.tokenizer.batch(sentences, model.device)
    groups = Groups(sentences, key_tokens, model.device)
    watcher = Watcher(model, groups, strong=strong, vectors=vectors, vectors_of=vectors_of, maps_of=maps_of)
    with explain_out_of_memory(model.device, batch.ids.numel()), torch.no_grad(), visiting(watcher):
        model.encoder(batch.ids, None, batch.segments, places=batch.places)
    return watcher


def _stacked(layers: list[Tensor]) -> np.ndarray:
    """[L] of [B, H, ...] -> float64 [B, L, H, ...]."""
    return torch.stack(layers, 1).cpu().double().numpy()


def _means(watcher: Watcher, groups: Groups, causal: bool) -> np.ndarray:
    """[B, M, L, H]: sums over queries -> means, as in encoder.measure.head_definitions."""
    n = groups.n_tokens
    same_token, own_word = groups.n_alike.cpu().numpy()[:, :, None, None]  # [B, 1, 1]
    n_queries = {"all": n, "previous": n - 1, "next": n - 1, "same_token": same_token, "own_word": own_word}
    totals = {name: _stacked(layers) for name, layers in watcher.measures.items()}
    return np.stack(list(means(totals, n_queries, n, uniform_entropy(n, causal)).values()), 1)


def _own(name: str) -> Definition:
    """A measure of one's own. Raises EncoderError where this process does not know it."""
    if name not in BY_NAME:
        raise EncoderError(f"The measure {quoted(name)} is not registered in this process: name its file by {FILE}.")
    return BY_NAME[name]


def _may_lack(groups: Groups, n_own: int) -> np.ndarray:
    """bool [B, M, 1, 1]: where a text has nothing to measure, such as no token that occurs again."""
    same_token, own_word = groups.n_alike.cpu().numpy() == 0
    alone = np.full(groups.n_texts, groups.n_tokens == 1)
    lacking = {"same_token": same_token, "own_word": own_word}
    lacking |= dict.fromkeys(("previous", "next", "top_previous", "top_next", "relative_entropy"), alone)
    none = np.zeros(groups.n_texts, dtype=bool)
    every = [*(lacking.get(name, none) for name in MEASURES), *[np.ones_like(none)] * n_own]
    return np.stack(every, 1)[:, :, None, None]


def _divergence(maps: list[Tensor]) -> np.ndarray:
    """[L] of [H, R, T] -> [N, N]: Jensen-Shannon divergence of every two heads in nats, mean over the rows."""
    attention = torch.cat(maps)  # [N, R, T]
    found = divergence_sums(attention.flatten(1)).cpu().double().numpy() / attention.shape[1]
    return np.asarray(found.clip(0.0, math.log(2)))
