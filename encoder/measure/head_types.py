"""Types of heads on one text: a head has a type where a measure passes a threshold. Attention sinks.

The reader may move thresholds. Another text may show other types: every number here is measured on one text, while
Clark et al. (2019) average over a corpus of Wikipedia segments and Voita et al. (2019) over a test set of translations.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from torch import Tensor

from encoder.maps import aggregate
from encoder.measure.head_measures import HeadMeasures, uniform_share
from encoder.trace import tokens
from encoder.trace.trace import Trace


@dataclass(frozen=True)
class Thresholds:
    """The values from which on a head has a type.

    position, special: mean weight, exceeded (0.5 and 0.6 in the code of Clark et al. 2019, on corpus means);
    top: share of queries whose largest weight is there, reached (0.9 in Voita et al. 2019, section 5.1, for the
    offsets -1 and +1; here also for the token itself);
    broad: normalised entropy, exceeded. Clark et al. take 3.8 nats on segments of up to 128 tokens, which is 0.78 of
    ln 128; nats cannot serve short texts, since no head of a text under 45 tokens reaches 3.8;
    same: mean weight on the same token elsewhere, exceeded (chosen here).
    """

    position: float = 0.5
    top: float = 0.9
    special: float = 0.6
    broad: float = 0.8
    same: float = 0.5


@dataclass(frozen=True)
class HeadType:
    """A pattern that a head can show. badge: a word short enough for the grid; mark: its letter on smaller maps;
    sentence: for a learner.

    rules: (measure, field of Thresholds, whether reaching the threshold is enough); one rule that holds is enough.
    """

    name: str
    badge: str
    mark: str
    title: str
    sentence: str
    rules: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True)
class Finding:
    """A head has a type because `measure` has `value`, and the threshold is `threshold`."""

    head_type: HeadType
    measure: str
    value: float
    threshold: float


#: The types of `head_types.toml`, in its order.
HEAD_TYPES = tuple(
    HeadType(
        name, **fields | {"rules": tuple((measure, field, reached) for measure, field, reached in fields["rules"])}
    )
    for name, fields in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
)

BY_NAME: dict[str, HeadType] = {head_type.name: head_type for head_type in HEAD_TYPES}


def find(measures: HeadMeasures, thresholds: Thresholds = Thresholds()) -> tuple[tuple[tuple[Finding, ...], ...], ...]:
    """The types of every head, [L][H], each with the measure that shows it; () where none applies."""
    n_layers, n_heads = measures["entropy"].shape
    return tuple(
        tuple(_of_head(measures, thresholds, layer, head) for head in range(n_heads)) for layer in range(n_layers)
    )


def holds(values: Mapping[str, np.ndarray], thresholds: Thresholds = Thresholds()) -> dict[str, np.ndarray]:
    """Head type -> whether it holds, for arrays of measures of any one shape; NaN passes no threshold."""
    found = {}
    for head_type in HEAD_TYPES:
        passed = np.asarray(False)
        for measure, field, reached in head_type.rules:
            threshold = float(getattr(thresholds, field))
            passed = passed | ((values[measure] >= threshold) if reached else (values[measure] > threshold))
        found[head_type.name] = passed
    return found


def table(measures: HeadMeasures, thresholds: Thresholds = Thresholds()) -> pd.DataFrame:
    """One row for each type of each head: type, layer, head, and the measure that shows it: its name, value, threshold.

    Types stand in the order of `HEAD_TYPES`, heads layer by layer.
    """
    found = find(measures, thresholds)
    rows = [
        (head_type.name, layer, head, finding.measure, finding.value, finding.threshold)
        for head_type in HEAD_TYPES
        for layer, heads in enumerate(found)
        for head, findings in enumerate(heads)
        for finding in findings
        if finding.head_type is head_type
    ]
    return pd.DataFrame(rows, columns=["head_type", "layer", "head", "measure", "value", "threshold"])


def _of_head(measures: HeadMeasures, thresholds: Thresholds, layer: int, head: int) -> tuple[Finding, ...]:
    findings = []
    for head_type in HEAD_TYPES:
        for measure, field, reached in head_type.rules:
            value, threshold = float(measures[measure][layer, head]), float(getattr(thresholds, field))
            if value > threshold or (reached and value == threshold):  # false for NaN
                findings.append(Finding(head_type, measure, value, threshold))
                break
    return tuple(findings)


# --- attention sinks --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sink:
    """The special or first tokens that receive most of a head's attention (the term: Xiao et al. 2023).

    Xiao et al. describe the first tokens of causal language models. Clark et al. (2019, section 3.2) found that BERT's
    heads attend much to [SEP], and suggest a no-op for queries to which the head's function does not apply.

    kind: "opening" (the text's first token) or "separators"; tokens: their positions; share: mean weight on them
    together, over all real queries; uniform: their share under uniform attention.
    """

    kind: str
    tokens: tuple[int, ...]
    share: float
    uniform: float


def sink(trace: Trace, layer: int, head: int, threshold: float = 0.6, mean: Tensor | None = None) -> Sink | None:
    """The special tokens that receive more than `threshold` of the attention (0.6 in Clark et al. 2019's code).

    Candidates are the text's first token, special or not, and all special tokens after it together. None: no sink.
    mean [T]: the mean weight that each key receives, where the caller has it.
    """
    if trace.n_real < 2:
        return None
    mean = aggregate.received(trace, layer, head)[0] if mean is None else mean
    candidates = {
        "opening": (0,),
        "separators": tuple(k for k, one in enumerate(tokens.special_position(trace, "sep")) if one),
    }
    found = [
        Sink(kind, places, float(mean[list(places)].sum()), uniform_share(trace.n_real, trace.config.causal, places))
        for kind, places in candidates.items()
        if places
    ]
    best = max(found, key=lambda one: one.share)
    # Where special tokens are most of the text, much weight on them says nothing.
    return best if best.share > max(threshold, 1.5 * best.uniform) else None
