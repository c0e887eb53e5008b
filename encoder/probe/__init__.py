"""Probes: linear classifiers on the vectors of each layer. Where in the stack can a label be read off?

    task = probe.bundled("word_pos")
    features = probe.extract(model, task)
    curve = probe.accuracy_by_layer(features, task, "token")
    curve.accuracy, curve.control                     # [L + 1] each: the input of every layer, then the output

A probe shows that a linear map can read a label off the vectors, not that the model uses it (Belinkov 2022). `Control`
tasks (Hewitt and Liang 2019) show how much of the accuracy the probe itself could learn by heart.
"""

from encoder.probe.features import MOST_TOKENS, VIEWS, Features, extract, iter_extract, iter_token_vectors
from encoder.probe.linear import Curve, Score, accuracy_by_layer, fitted_head, iter_accuracy, iter_by_layer, wilson
from encoder.probe.tasks import (
    TITLES,
    ReadTask,
    Task,
    bundled,
    control_labels,
    examples,
    examples_pos,
    read_task,
)
from encoder.probe.trained_pooling import AttentionPooling, iter_attention_pooling

__all__ = [
    "MOST_TOKENS", "TITLES", "VIEWS", "AttentionPooling", "Curve", "Features", "ReadTask", "Score", "Task",
    "accuracy_by_layer", "bundled", "control_labels", "examples", "examples_pos", "extract",
    "fitted_head", "iter_accuracy", "iter_attention_pooling", "iter_by_layer", "iter_extract", "iter_token_vectors",
    "read_task", "wilson",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
