"""Roles of heads: a badge where a measure passes a threshold. Thresholds are the reader's to move.

A role says what a head does on this text; another text may show another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from encoder.measure.heads import HeadMeasures

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Thresholds:
    """From where on a head has a role.

    position, special: mean weight, exceeded (Clark et al. 2019's code: 0.5 and 0.6); top: share of queries whose
    largest weight is there, reached (Voita et al. 2019, section 5.1: 0.9); broad: entropy in nats, exceeded (Clark et
    al.: 3.8, out of reach for texts under 45 tokens, as ln 45 = 3.8); same: mean weight on the same token elsewhere,
    exceeded.
    """

    position: float = 0.5
    top: float = 0.9
    special: float = 0.6
    broad: float = 3.8
    same: float = 0.5


@dataclass(frozen=True)
class Role:
    """What a head can be. badge: a word short enough for the grid; sentence: for a learner.

    rules: (measure, field of Thresholds, whether reaching the threshold is enough); one that holds makes the role.
    """

    name: str
    badge: str
    title: str
    sentence: str
    rules: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True)
class Finding:
    """A head has a role because `measure` has `value`, and the threshold is `threshold`."""

    role: Role
    measure: str
    value: float
    threshold: float


ROLES: tuple[Role, ...] = (
    Role(
        "previous", "prev", "Previous-token head", "Each token looks at the one before it.",
        (("previous", "position", False), ("top_previous", "top", True)),
    ),
    Role(
        "next", "next", "Next-token head", "Each token looks at the one after it.",
        (("next", "position", False), ("top_next", "top", True)),
    ),
    Role(
        "self", "self", "Self head", "Each token looks at itself.",
        (("self", "position", False), ("top_self", "top", True)),
    ),
    Role(
        "cls", "CLS", "Sink on the opening token",
        "Most attention rests on the opening token, where a head looks when it has nothing to fetch.",
        (("cls", "special", False),),
    ),
    Role(
        "sep", "SEP", "Sink on separators",
        "Most attention rests on [SEP], where a head looks when it has nothing to fetch.",
        (("sep", "special", False),),
    ),
    Role(
        "broad", "broad", "Broad head", "Attention is spread over many tokens, like an average of the text.",
        (("entropy", "broad", False),),
    ),
    Role(
        "same", "same", "Same-word head", "Tokens look at other places where the same token stands.",
        (("same_token", "same", False),),
    ),
)  # fmt: skip

BY_NAME: dict[str, Role] = {role.name: role for role in ROLES}


def roles(measures: HeadMeasures, thresholds: Thresholds = Thresholds()) -> tuple[tuple[tuple[Finding, ...], ...], ...]:
    """The roles of every head, [L][H], each with the measure that shows it; () where none applies.

    "Previous" is the weight of row i in column i - 1: below the diagonal of a map whose rows attend to columns.
    """
    n_layers, n_heads = measures["entropy"].shape
    return tuple(
        tuple(_of_head(measures, thresholds, layer, head) for head in range(n_heads)) for layer in range(n_layers)
    )


def badges(measures: HeadMeasures, thresholds: Thresholds = Thresholds()) -> tuple[tuple[str, ...], ...]:
    """[L][H]: the badge of each head's first role, "" where it has none."""
    found = roles(measures, thresholds)
    return tuple(tuple(findings[0].role.badge if findings else "" for findings in layer) for layer in found)


def table(measures: HeadMeasures, thresholds: Thresholds = Thresholds()) -> pd.DataFrame:
    """One row for each role of each head: role, layer, head, and the measure that shows it: its name, value, threshold.

    Roles stand in the order of `ROLES`, heads layer by layer.
    """
    import pandas as pd

    found = roles(measures, thresholds)
    rows = [
        (role.name, layer, head, finding.measure, finding.value, finding.threshold)
        for role in ROLES
        for layer, heads in enumerate(found)
        for head, findings in enumerate(heads)
        for finding in findings
        if finding.role is role
    ]
    return pd.DataFrame(rows, columns=["role", "layer", "head", "measure", "value", "threshold"])


def _of_head(measures: HeadMeasures, thresholds: Thresholds, layer: int, head: int) -> tuple[Finding, ...]:
    findings = []
    for role in ROLES:
        for measure, field, reached in role.rules:
            value, threshold = float(measures[measure][layer, head]), float(getattr(thresholds, field))
            if value > threshold or (reached and value == threshold):  # false for NaN
                findings.append(Finding(role, measure, value, threshold))
                break
    return tuple(findings)
