"""Trained attention pooling, the counterpart of [CLS], mean and maximum.

One vector w scores every token, the softmax of the scores weights the tokens, and a linear classifier uses the sum.
w and the classifier are trained together, with the penalty of the linear probes. w starts at 0: the mean.

Shapes: N texts, T tokens, D d_model, C classes.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from encoder.probe.linear import C_PER_TEXT, Score, folds_of
from encoder.probe.tasks import Task

#: Steps of L-BFGS, of up to 5 iterations each; training ends earlier where the loss falls by less than SMALL.
STEPS = 20
SMALL = 1e-3


@dataclass(frozen=True, eq=False)
class AttentionPooling:
    """score: on held-out texts; weights: N arrays [T], what each held-out text's tokens weigh."""

    score: Score
    weights: tuple[np.ndarray, ...] = field(repr=False)


def iter_attention_pooling(
    tokens: Sequence[np.ndarray], task: Task, *, seed: int = 0
) -> Generator[float, None, AttentionPooling]:
    """Cross-validation on tokens, N arrays [T, D], by the folds of the linear probes; yields the share that is done."""
    classes = task.classes
    targets = torch.tensor([classes.index(label) for label in task.labels])
    vectors, mask = _padded(tokens)
    predicted = np.empty(len(task), dtype=np.int32)
    weights: list[np.ndarray] = [np.empty(0)] * len(task)
    splits = folds_of(task.labels, seed=seed)
    for fold, (some, held_out) in enumerate(splits):
        mean, std = _moments(vectors[some], mask[some])
        scaled = (vectors - mean) / std
        w, weight, bias = start(vectors.shape[-1], len(classes))
        for step, _ in enumerate(_train(scaled[some], mask[some], targets[some], (w, weight, bias)), 1):
            yield (fold + step / STEPS) / len(splits)
        with torch.no_grad():
            logits, alpha = _forward(scaled[held_out], mask[held_out], w, weight, bias)
        predicted[held_out] = logits.argmax(dim=-1).numpy()
        for place, row in zip(held_out, alpha.numpy(), strict=True):
            weights[place] = row[: len(tokens[place])]
    score = Score(classes, predicted, predicted == targets.numpy())
    return AttentionPooling(score, tuple(weights))


def _padded(tokens: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
    """Vectors [N, T, D] with zeros as padding, and the mask [N, T]."""
    longest = max(len(one) for one in tokens)
    vectors = torch.zeros(len(tokens), longest, tokens[0].shape[1])
    mask = torch.zeros(len(tokens), longest, dtype=torch.bool)
    for row, one in enumerate(tokens):
        vectors[row, : len(one)] = torch.from_numpy(one)
        mask[row, : len(one)] = True
    return vectors, mask


def _moments(vectors: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the texts' mean vectors, [D] each: the scale that the linear probes use."""
    weight = mask.unsqueeze(-1).to(vectors.dtype)
    pooled = (vectors * weight).sum(dim=1) / weight.sum(dim=1)
    return pooled.mean(dim=0), pooled.std(dim=0, correction=0).clamp_min(1e-6)


def _forward(vectors: Tensor, mask: Tensor, w: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Logits [N, C] and the weights of the tokens [N, T]."""
    alpha = (vectors @ w).masked_fill(~mask, -torch.inf).softmax(dim=-1)
    pooled = torch.einsum("nt,ntd->nd", alpha, vectors)
    return pooled @ weight.T + bias, alpha


def start(d_model: int, n_classes: int) -> tuple[Tensor, Tensor, Tensor]:
    """w [D], weight [C, D], bias [C], all 0."""
    return torch.zeros(d_model), torch.zeros(n_classes, d_model), torch.zeros(n_classes)


def _train(
    vectors: Tensor, mask: Tensor, targets: Tensor, parameters: tuple[Tensor, Tensor, Tensor]
) -> Generator[None, None, None]:
    """Train w, weight and bias in place by L-BFGS on all texts; yields after each step."""
    for one in parameters:
        one.requires_grad_(True)
    w, weight, bias = parameters
    optimiser = torch.optim.LBFGS(parameters, max_iter=5, history_size=10, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        logits, _ = _forward(vectors, mask, w, weight, bias)
        # scikit-learn minimises |W|^2 / 2 + C sum(loss) with C = C_PER_TEXT / N. This is the same, divided by C N.
        loss = cross_entropy(logits, targets) + (weight.square().sum() + w.square().sum()) / (2 * C_PER_TEXT)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    last = float("inf")
    for _ in range(STEPS):
        with torch.enable_grad():
            loss = float(optimiser.step(closure).detach())  # type: ignore[no-untyped-call]
        yield
        if last - loss < SMALL:  # each is the loss before its step
            return
        last = loss
