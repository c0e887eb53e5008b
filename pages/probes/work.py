"""What the page computes, a part at a time; the results stay in this session."""

import hashlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from encoder import TextEncoder, probe
from encoder.checkpoints import BUNDLED
from encoder.probe import Curve, Features, Task
from encoder.probe import recorded as recordings
from encoder.run import ModelSpec
from encoder.trace import gradual
from pages.base.work import long_work
from pages.core.stores import model_store, results
from pages.core.view import View

CURVES, FEATURES = "probes:curves", "probes:features"


@dataclass(frozen=True)
class Subject:
    """A model with its name in the legend. spec: None for the reader's model with its own name."""

    spec: ModelSpec
    name: str

    @property
    def model(self) -> TextEncoder:
        """The model itself."""
        return model_store.model(self.spec)


def digest(task: Task) -> str:
    """Names a task by its content."""
    return hashlib.sha256(repr((task.texts, task.labels, task.spans)).encode("utf-8", "replace")).hexdigest()


def is_bundled(task: Task) -> bool:
    """Whether the task is one of ours, which every visitor may see."""
    return task.title in probe.TITLES.values()


def curves(subjects: list[Subject], task: Task, views: list[str]) -> dict[tuple[Subject, str], Curve] | None:
    """The curves of every model and view; None while the work waits for a click."""
    name, asked = digest(task), [(one, view) for one in subjects for view in views]
    todo = [(one, view) for one, view in asked if results.known(CURVES, (one.spec, name, view)) is None]
    if todo:
        models = {subject.spec: subject.model for subject, _ in todo}

        def work() -> long_work.Work[bool]:
            for number, (subject, view) in enumerate(todo):

                def said(
                    share: float, what: str, number: int = number, subject: Subject = subject
                ) -> tuple[float, str]:
                    return (number + share) / len(todo), f"{subject.name}: {what}"

                features = yield from _features(subject.spec, models[subject.spec], task, name, said)
                parts = probe.iter_by_layer(features, task, view)  # type: ignore[arg-type]
                found = yield from gradual.reported(
                    parts, lambda share, view=view, said=said: said(0.3 + 0.7 * share, f"probes on {probe.VIEWS[view]}")
                )
                results.keep(CURVES, (subject.spec, name, view), found, own=not is_bundled(task))
            return True

        names = ", ".join(dict.fromkeys(subject.name for subject, _ in todo))
        ask = f"{names}: {len(todo)} curves over {len(task):,} texts. This takes from half a minute to minutes."
        what = (name, tuple((one.spec, view) for one, view in todo))
        if not long_work.result("probes", what, work, label="Train the probes", ask=ask):
            return None
    found = {(one, view): results.known(CURVES, (one.spec, name, view)) for one, view in asked}
    return None if None in found.values() else found  # the shared cache may have no room


def recorded(view: View, task: Task, views: list[str]) -> dict[tuple[Subject, str], Curve]:
    """The curves of the recorded run that fit the task and the views; none for another task."""
    spec = ModelSpec(recordings.MODEL, device=view.model.device, dtype=view.model.dtype)
    as_trained = f" as trained, in {view.loaded.trained_placement}-norm" if view.loaded.trained_placement else ""
    subject = Subject(spec, f"{BUNDLED[recordings.MODEL].title}{as_trained}")
    found = recordings.recorded() if task.title == probe.TITLES[recordings.TASK] else {}
    return {
        (subject, one): curve
        for one, curve in found.items()
        if one in views and len(curve.scores[0].right) == len(task)
    }


def _features(spec: ModelSpec, model: TextEncoder, task: Task, name: str, said: Any) -> Generator[Any, None, Features]:
    """The vectors of all texts, from this session or computed."""
    found = results.known(FEATURES, (spec, name))
    if found is None:
        parts = probe.iter_extract(model, task)
        found = yield from gradual.reported(parts, lambda share: said(0.3 * share, "processes the texts"))
        results.keep(FEATURES, (spec, name), found, 1, own=not is_bundled(task))  # vectors are large
    return found


def head(view: View, task: Task, pooled: str, layer: int) -> Any:
    """A head that is trained on all texts; None while it is not asked for."""

    def work() -> long_work.Work[Any]:
        features = yield from _features(
            view.model, view.loaded, task, digest(task), lambda share, words: (share, words)
        )
        yield 0.5, "Training on all texts …"
        return probe.fitted_head(features, task, pooled, layer)  # type: ignore[arg-type]

    return results.of_work(
        "probe-head",
        (view.model, digest(task), pooled, layer),
        work,
        label="Train it on all texts",
        ask="The probe of the selected point, as a head:",
        own=True,
    )


def poolings(view: View, task: Task, layer: int) -> dict[str, probe.Score] | None:
    """The score of each pooling before one layer; None while it is not asked for."""
    name, spec = digest(task), view.model

    def work() -> long_work.Work[dict[str, probe.Score]]:
        model, scores = view.loaded, {}
        features = yield from _features(spec, model, task, name, lambda share, words: (0.2 * share / 0.3, words))
        splits = probe.linear.folds_of(task.labels)
        for number, pooled in enumerate(("cls", "mean", "max")):
            parts = probe.iter_accuracy(features.vectors[pooled][layer], task.labels, splits)  # type: ignore[index]
            scores[pooled] = yield from gradual.reported(
                parts,
                lambda share, n=number, pooled=pooled: (0.2 + 0.1 * (n + share), f"probes on {probe.VIEWS[pooled]}"),
            )
        tokens = yield from gradual.reported(
            probe.iter_token_vectors(model, task, layer), lambda share: (0.5 + 0.1 * share, "processes the texts again")
        )
        parts = probe.iter_attention_pooling(tokens, task)
        trained = yield from gradual.reported(parts, lambda share: (0.6 + 0.4 * share, "trains attention pooling"))
        return scores | {"attention": trained.score}

    return results.of_work(
        "poolings",
        (spec, name, layer),
        work,
        label="Compare poolings",
        ask="[CLS], mean and maximum against attention pooling, which is trained:",
        own=True,
    )
