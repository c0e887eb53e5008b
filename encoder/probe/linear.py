"""Linear probes, cross-validated, and the same probe as a classification head.

Shapes: N texts, L layers, D d_model, C classes.
"""

import math
import warnings
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from encoder.classify.class_heads import linear_head
from encoder.errors import EncoderError, quoted
from encoder.model.classifier import Classifier, ClassifierConfig
from encoder.model.shown import Shown
from encoder.probe.features import VIEWS, Features, View
from encoder.probe.tasks import FEWEST, Task, control_labels
from encoder.trace import gradual

FOLDS = 5
#: Inverse strength of the L2 penalty, per text: the same penalty for tasks of any size.
C_PER_TEXT = 20.0
MOST_ITERATIONS = 300
#: 95% of a normal distribution lie within so many standard deviations.
Z95 = 1.959964


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """Held-out predictions of one probe. predicted [N]: places in `classes`; right [N] bool."""

    classes: tuple[str, ...]
    predicted: np.ndarray
    right: np.ndarray

    def __repr__(self) -> str:
        low, high = self.interval
        return f"<Score of {len(self.right):,} texts: accuracy {self.accuracy:.3f} ({low:.3f} to {high:.3f})>"

    @property
    def accuracy(self) -> float:
        """The share of texts whose label is right, each predicted by a probe that did not train on it."""
        return float(self.right.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the accuracy."""
        return wilson(int(self.right.sum()), len(self.right))


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Shown):
    """Probes of every layer on one view. scores, controls: L + 1 each, the input of each layer, then the output.

    n_cut: texts of which only the beginning was read.
    """

    view: View
    scores: tuple[Score, ...]
    controls: tuple[Score, ...]
    n_cut: int = 0

    def __repr__(self) -> str:
        return f"<Curve of {self.view} vectors: best at layer {self.best}, {self.scores[self.best]!r}>"

    @property
    def accuracy(self) -> np.ndarray:
        """[L + 1]."""
        return np.array([score.accuracy for score in self.scores])

    @property
    def interval(self) -> np.ndarray:
        """[L + 1, 2]: low and high."""
        return np.array([score.interval for score in self.scores])

    @property
    def control(self) -> np.ndarray:
        """[L + 1]: accuracy on the control task."""
        return np.array([score.accuracy for score in self.controls])

    @property
    def best(self) -> int:
        """The layer of the largest accuracy."""
        return int(self.accuracy.argmax())

    def table(self) -> pd.DataFrame:
        """A row for each layer: its accuracy, low and high of the interval, and the accuracy on the control task."""
        columns = {"accuracy": self.accuracy, "low": self.interval[:, 0], "high": self.interval[:, 1]}
        return pd.DataFrame({"layer": range(len(self.scores)), **columns, "control": self.control})


def wilson(right: int, count: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927). It treats the texts as independent, as folds are not quite."""
    if not 0 <= right <= count or count < 1:
        raise ValueError(f"{right} of {count} is not a share.")
    share, z2 = right / count, Z95**2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z95 / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2))
    return middle - half, middle + half


def folds_of(labels: Sequence[str], folds: int = FOLDS, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """(train, test) places; each class is in every fold. Raises EncoderError for a class with too few texts."""
    from sklearn.model_selection import StratifiedKFold

    counts = Counter(labels)
    rare = min(counts, key=lambda label: (counts[label], label))
    if len(counts) < 2 or counts[rare] < folds:
        raise EncoderError(
            f"A probe needs two classes with at least {max(folds, FEWEST)} texts each; “{rare}” has {counts[rare]}: "
            "add texts, or leave the class out."
        )
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(len(labels)), list(labels)))


def classifier(n_texts: int) -> Any:
    """A logistic regression on standardised numbers, not yet trained."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(C=C_PER_TEXT / n_texts, max_iter=MOST_ITERATIONS))


def train(vectors: np.ndarray, targets: np.ndarray) -> Any:
    """A trained probe of vectors [N, D] and places of classes [N]."""
    found = classifier(len(vectors))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a limit of steps is a way to stop early, not a fault
        return found.fit(vectors, targets)


def iter_accuracy(
    vectors: np.ndarray, labels: Sequence[str], splits: Sequence[tuple[np.ndarray, np.ndarray]]
) -> Generator[float, None, Score]:
    """Cross-validation of one probe on vectors [N, D]; yields the share that is done after each fold."""
    classes = tuple(sorted(set(labels)))
    targets = np.array([classes.index(label) for label in labels])
    predicted = np.empty(len(labels), dtype=np.int32)
    for done, (some, held_out) in enumerate(splits, 1):
        # A control label may be in one fold only: the others have one class less.
        if len(set(targets[some])) < 2:
            predicted[held_out] = targets[some][0]
        else:
            predicted[held_out] = train(vectors[some], targets[some]).predict(vectors[held_out])
        yield done / len(splits)
    return Score(classes, predicted, predicted == targets)


def iter_by_layer(features: Features, task: Task, view: View, *, seed: int = 0) -> Generator[float, None, Curve]:
    """Probes of every layer on the task and on its control task; yields the share that is done."""
    if view not in VIEWS:
        raise EncoderError(f"view={quoted(view)} is unknown: choose one of {', '.join(VIEWS)}.")
    splits = folds_of(task.labels, seed=seed)
    control = control_labels(task, seed)
    scores: list[Score] = []
    controls: list[Score] = []
    todo = [
        (layer, *kind)
        for layer in range(features.n_layers + 1)
        for kind in ((task.labels, scores), (control, controls))
    ]
    for part, (layer, labels, found) in enumerate(todo):
        for_layer = iter_accuracy(features.vectors[view][layer], labels, splits)
        found.append((yield from gradual.reported(for_layer, partial(_overall, part, len(todo)))))
    return Curve(view, tuple(scores), tuple(controls), features.n_cut)


def _overall(part: int, n_parts: int, share: float) -> float:
    return (part + share) / n_parts


accuracy_by_layer = gradual.at_once(iter_by_layer, "accuracy_by_layer")


def fitted_head(features: Features, task: Task, view: View, layer: int) -> Classifier:
    """A probe that is trained on all texts, as a head: the standardisation is folded into its weights.

    It reads the input of `layer`, L for the output. "token" gives a head that tags every token. Its accuracy on new
    texts is that of the cross-validation. Raises EncoderError for a layer that the model does not have.
    """
    if not 0 <= layer <= features.n_layers:
        raise EncoderError(f"No layer {layer} in this model: choose 0 to {features.n_layers}, which is the output.")
    classes = task.classes
    targets = np.array([classes.index(label) for label in task.labels])
    scaler, regression = train(features.vectors[view][layer], targets).named_steps.values()
    weight = np.asarray(regression.coef_, dtype=np.float64)
    bias = np.asarray(regression.intercept_, dtype=np.float64)
    if len(classes) == 2:  # scikit-learn keeps one row; a softmax over (-z, z) / 2 is its sigmoid
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    weight = weight / scaler.scale_
    bias = bias - weight @ scaler.mean_
    config = ClassifierConfig(
        kind="token" if view == "token" else "sequence",
        labels=classes,
        pooling="mean" if view == "token" else view,
        layer=None if layer == features.n_layers else layer,
    )
    return linear_head(torch.from_numpy(weight).float(), torch.from_numpy(bias).float(), config)
