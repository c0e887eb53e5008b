"""What switching heads off does: `python -m benchmarks.interventions [--wordnet FOLDER] [--json FILE]`.

Four experiments on WordNet's held-out sentences, which the twins were not trained on. Their heads are chosen, and
ordered, on one half of the sentences and measured on the other.

1. Twins: masked words predicted without the strongest previous-token heads, and without as many random heads.
2. Twins: the same accuracy with more and more heads off (after Michel et al. 2019).
3. MiniLM: how well the order of similarities of sentence pairs survives with more and more heads off.
4. Twins: how well the words that a neuron's output vector favours agree with those that it does favour at a mask.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import encoder
from encoder import TextEncoder
from encoder.causal import ablate_each_head, word_changes
from encoder.edits import AblateHead, Zero
from encoder.explain.neurons import first_mask, promoted_words
from encoder.trace.capture import record
from recipes.twins.batches import Special, single_rows
from recipes.twins.corpus import encode, find_wordnet, read_corpus

Head = tuple[int, int]
#: Heads that are off together in the first experiment; random choices of as many; sentences of the third.
COUNTS, DRAWS, SENTENCES = (1, 2, 3), 20, 200
#: Sentences that give MiniLM's heads their order.
ORDERED_BY = 40
#: Sentences whose neurons are read, and neurons of each layer.
READ, NEURONS = 20, 5
STEPS = 10


@dataclass(frozen=True)
class Batch:
    """Sentences of one length with hidden tokens. ids [B, T]; chosen [n]: flat indices; words [n]; sentences [n]."""

    ids: Tensor
    chosen: Tensor
    words: Tensor
    sentences: np.ndarray


def batches(model: TextEncoder, sentences: Sequence[str], seed: int = 0, share: float = 0.15) -> list[Batch]:
    """A share of the tokens of every sentence hidden, always the same."""
    special, data = Special.of(model.tokenizer), encode(model.tokenizer, sentences)
    lengths = np.minimum(data.lengths, model.config.max_tokens - 2)
    draw, found = np.random.default_rng([seed, 3]), []
    for length in np.unique(lengths):
        chosen_rows = np.flatnonzero(lengths == length)
        rows = single_rows(data, chosen_rows, int(length), special)
        hidden = (draw.random(rows.shape) < share) & (rows >= special.n_special)
        if hidden.any():
            at = np.flatnonzero(hidden)
            found.append(
                Batch(
                    torch.from_numpy(np.where(hidden, special.mask, rows)),
                    torch.from_numpy(at),
                    torch.from_numpy(rows[hidden]),
                    chosen_rows[at // rows.shape[1]],
                )
            )
    return found


@torch.no_grad()
def right(model: TextEncoder, data: Sequence[Batch], off: Sequence[Head] = ()) -> tuple[np.ndarray, np.ndarray, float]:
    """(right [n], sentence [n], mean loss in nats) of all hidden tokens, with these heads off."""
    hits, places, losses = [], [], []
    table = model.encoder.embedding.tokens.weight
    for batch in data:
        with record(tuple(AblateHead(*head) for head in off)):
            output = model.encoder(batch.ids)
        logits = model.mlm_head(output.flatten(0, 1)[batch.chosen], table).float()
        hits.append((logits.argmax(-1) == batch.words).numpy())
        losses.append(torch.nn.functional.cross_entropy(logits, batch.words, reduction="none").numpy())
        places.append(batch.sentences)
    return np.concatenate(hits), np.concatenate(places), float(np.concatenate(losses).mean())


@torch.no_grad()
def previous_token(model: TextEncoder, data: Sequence[Batch]) -> np.ndarray:
    """[L, H]: mean weight on the previous token, over all queries but the first two tokens."""
    config = model.config
    total, count = np.zeros((config.n_layers, config.n_heads)), 0
    for batch in data:
        with record(request=("pattern",)) as recorder:
            model.encoder(batch.ids)
        for layer in range(config.n_layers):
            weights = recorder.values[f"layers.{layer}.pattern"].diagonal(-1, -2, -1)[..., 1:]  # [B, H, T - 2]
            total[layer] += weights.sum((0, 2)).numpy()
        count += batch.ids.shape[0] * (batch.ids.shape[1] - 2)
    return total / count


def heads_of(model: TextEncoder) -> list[Head]:
    """All heads as (layer, head)."""
    return list(itertools.product(range(model.config.n_layers), range(model.config.n_heads)))


def strongest_against_random(model: TextEncoder, chosen_on: list[Batch], measured_on: list[Batch]) -> dict[str, Any]:
    """Accuracy in % without the k strongest previous-token heads, and without k random ones, with the difference.

    The interval: middle 95% of 2,000 resamples of sentences and of the random choices.
    """
    scores = previous_token(model, chosen_on)
    ranked = sorted(heads_of(model), key=lambda head: -scores[head])
    base, sentences, _ = right(model, measured_on)
    rng = np.random.default_rng(0)
    _, sentence = np.unique(sentences, return_inverse=True)
    found: dict[str, Any] = {
        "tokens": len(base),
        "sentences": int(sentence.max() + 1),
        "accuracy": 100 * float(base.mean()),
        "strongest": [[*head, round(float(scores[head]), 3)] for head in ranked[: COUNTS[-1]]],
        "by_count": {},
    }
    for k in COUNTS:
        strong = right(model, measured_on, ranked[:k])[0]
        every = list(itertools.combinations(ranked, k))
        picks = [every[at] for at in rng.permutation(len(every))[:DRAWS]]
        draws = np.stack([right(model, measured_on, pick)[0] for pick in picks])  # [S, n]
        difference = 100 * (strong[None].astype(float) - draws)  # [S, n]
        by_sentence = np.stack([np.bincount(sentence, row) for row in difference])  # [S, sentences]
        sizes = np.bincount(sentence)
        resampled = []
        for _ in range(2000):
            some = rng.integers(len(sizes), size=len(sizes))
            rows = rng.integers(len(draws), size=len(draws))
            resampled.append(by_sentence[:, some].sum(1)[rows].mean() / sizes[some].sum())
        found["by_count"][k] = {
            "strongest": 100 * float(strong.mean()),
            "random": 100 * float(draws.mean()),
            "random_range": [100 * float(draws.mean(1).min()), 100 * float(draws.mean(1).max())],
            "difference": float(difference.mean()),
            "interval": [float(value) for value in np.quantile(resampled, [0.025, 0.975])],
            "below_share_of_draws": float((strong.mean() < draws.mean(1)).mean()),
        }
    return found


def twin_curve(model: TextEncoder, ordered_on: list[Batch], measured_on: list[Batch]) -> dict[str, Any]:
    """Accuracy in % with 0, 10, ... 100% of the heads off: by the loss that each causes by itself, and at random."""
    plain = right(model, ordered_on)[2]
    losses = {head: right(model, ordered_on, [head])[2] - plain for head in heads_of(model)}
    order = sorted(losses, key=lambda head: losses[head])

    def accuracy(off: Sequence[Head]) -> float:
        return 100 * float(right(model, measured_on, off)[0].mean())

    return curve(order, accuracy)


def sentence_curve(model: TextEncoder, ordered_by: Sequence[str], texts: Sequence[str]) -> dict[str, Any]:
    """Rank correlation of all pairs' cosines with those of the whole model, with more and more heads off."""
    sizes = torch.stack([ablate_each_head(model, text).abs() for text in ordered_by]).mean(0)
    order = sorted(heads_of(model), key=lambda head: float(sizes[head]))
    pairs = np.triu_indices(len(texts), 1)

    def cosines(off: Sequence[Head]) -> np.ndarray:
        with record(tuple(AblateHead(*head) for head in off)):
            vectors = torch.nn.functional.normalize(model.embed(texts), dim=-1)
        found: np.ndarray = (vectors @ vectors.T).numpy()[pairs]
        return found

    whole = cosines(())

    def agreement(off: Sequence[Head]) -> float:
        return ranks(whole, cosines(off))

    return curve(order, agreement) | {"pairs": len(whole)}


def ranks(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's rank correlation; equal values are rare among cosines."""
    a, b = (np.argsort(np.argsort(values)).astype(float) for values in (x, y))
    return float(np.corrcoef(a, b)[0, 1])


def neuron_readings(model: TextEncoder, texts: Sequence[str]) -> dict[str, Any]:
    """By layer: rank correlation over the vocabulary of a neuron's reading with its effect on the log probabilities.

    The effect: switching the neuron off at the mask, for the NEURONS most active ones there. Readings: "word vectors",
    the output vector times the token table; "linear", through the linear part of the masked-word head; "at the mask",
    the head's derivative there.
    """
    size, mask = model.config.vocab_size, model.tokenizer.mask_token
    table = model.encoder.embedding.tokens.weight.detach()
    everything = range(size)
    found: dict[str, list[list[float]]] = {"word vectors": [], "linear": [], "at the mask": []}
    for text in texts:
        words = text.split()
        words[len(words) // 2] = str(mask)
        trace = model.trace(" ".join(words), request=("ffn.hidden",))
        place = first_mask(model, trace)
        assert place is not None
        rows: dict[str, list[float]] = {name: [] for name in found}
        for layer in range(model.config.n_layers):
            hidden = trace.values[f"layers.{layer}.ffn.hidden"][place]
            values: dict[str, list[float]] = {name: [] for name in found}
            for neuron in hidden.abs().topk(NEURONS).indices.tolist():
                off = Zero("ffn.hidden", layer=layer, positions=(place,), components=(neuron,))
                edited = model.trace_tokens(trace.source, edits=(off,))
                effect = -word_changes(model, trace, edited, place, everything) * float(hidden[neuron].sign())
                vector = model.encoder.block(layer).ffn.w_out.weight.detach()[:, neuron]
                values["word vectors"].append(ranks((table @ vector).numpy(), effect))
                for name, at in (("linear", None), ("at the mask", trace)):
                    scores = np.empty(size)
                    for one, _, score in promoted_words(model, layer, neuron, at, k=size).highest:
                        scores[one] = score
                    values[name].append(ranks(scores, effect))
            for name, some in values.items():
                rows[name].append(float(np.mean(some)))
        for name, row in rows.items():
            found[name].append(row)
    return {name: np.mean(rows, axis=0).round(3).tolist() for name, rows in found.items()} | {"texts": len(texts)}


def curve(order: Sequence[Head], measure: Any, seeds: Sequence[int] = (0, 1, 2)) -> dict[str, Any]:
    """measure of the heads that are off: the first n of `order`, and of random orders."""
    counts = sorted({round(len(order) * step / STEPS) for step in range(STEPS + 1)})
    random = [[order[at] for at in np.random.default_rng(seed).permutation(len(order))] for seed in seeds]
    by_random = np.array([[measure(one[:n]) for n in counts] for one in random])
    return {
        "counts": counts,
        "by_importance": [measure(order[:n]) for n in counts],
        "random": by_random.mean(0).tolist(),
        "random_range": [by_random.min(0).tolist(), by_random.max(0).tolist()],
    }


def experiments(wordnet: Path | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, figures) of each experiment."""
    corpus = read_corpus(find_wordnet(wordnet, Path.home() / ".cache/encoderscope/wordnet"))
    first, second = corpus.held_out[::2], corpus.held_out[1::2]
    for name in ("twin-pre", "twin-post"):
        model = encoder.load(name, device="cpu")
        assert isinstance(model, TextEncoder)
        halves = batches(model, first), batches(model, second)
        yield f"{name}, strongest previous-token heads", strongest_against_random(model, *halves)
        yield f"{name}, curve", twin_curve(model, *halves)
        yield f"{name}, neurons", neuron_readings(model, [text for text in second if len(text.split()) >= 6][:READ])
    minilm = encoder.load("minilm", device="cpu")
    assert isinstance(minilm, TextEncoder)
    long = [text for text in second if len(text.split()) >= 6]
    yield "minilm, curve", sentence_curve(minilm, long[-ORDERED_BY:], long[:SENTENCES])


def main() -> None:
    parser = argparse.ArgumentParser(description="What switching heads off does.")
    parser.add_argument("--wordnet", type=Path, help="folder of WordNet's files")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    found = {}
    for name, figures in experiments(arguments.wordnet):
        found[name] = figures
        print(name, json.dumps(figures, indent=1), file=sys.stdout, flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
