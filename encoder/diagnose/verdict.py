"""Verdict: the answer of a diagnosis, in sentences and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from encoder.diagnose.faults import FAULTS, Fault
from encoder.diagnose.faults.base import USUAL_BATCHES
from encoder.diagnose.unexplained import (
    MOST_PROPOSED,
    Errors,
    distances_said,
    group_of,
    name_of,
    shape_said,
)
from encoder.inputs.layout import InputKind

Kind = Literal["fault", "sound", "within-precision", "not-repeatable", "unknown"]
#: Faults together that a search tries at most.
MOST_TOGETHER = 3
#: Characters from which on a text is named by its first words.
LONG = 200
#: What has no answer after a search of up to so many faults together, and what was not searched.
SEARCHED = {
    0: "the time was over before every single fault was run.",
    1: "no single fault of the list gives your vectors. Pairs of faults were not searched.",
    2: "no single fault of the list gives your vectors, and no pair of its likeliest faults. Three together were not "
    "searched.",
    3: "no single fault of the list gives your vectors, and no two or three of its likeliest faults together.",
}
#: What a search of one more fault together adds to one of so many.
MORE = {0: "Search single faults", 1: "Search pairs, too", 2: "Search three together, too"}
#: The exit code of the command for each answer.
EXIT_CODES: dict[Kind, int] = {"sound": 0, "within-precision": 0, "fault": 1, "not-repeatable": 3, "unknown": 3}


@dataclass(frozen=True, eq=False)
class Verdict:
    """What explains the vectors. Faults come together: all of them are in the other program."""

    verdict: Kind
    #: The largest difference with these faults.
    difference: float
    #: The largest difference without them.
    difference_without: float
    #: Of rounding, which other kernels do differently step by step: the correlation of the other program's differences
    #: from the unrounded vectors with those of this rounding; None for faults that give the vectors themselves.
    correlation: float | None = None
    #: The faults that give the vectors.
    faults: tuple[Fault, ...] = ()
    #: Other faults that give the same vectors of these texts.
    alternatives: tuple[tuple[Fault, ...], ...] = ()
    #: Names of faults that were run and do not give the vectors.
    excluded: tuple[str, ...] = ()
    #: Names of faults that would give the vectors with batches that were not tried: the other program's are not known.
    not_excluded: tuple[str, ...] = ()
    #: Texts that say more: of a fault, each sent in a request of its own; else together with the others.
    next_texts: tuple[str, ...] = ()
    #: The fingerprint of the model.
    fingerprint: str = ""
    #: Up to how many faults together were searched, to MOST_TOGETHER; 0: not every single one.
    together: int = 1
    #: Where no fault explains the vectors: what came nearest, which is not a finding.
    nearest: tuple[tuple[Fault, ...], float] | None = None
    #: Of an unknown answer: what the errors of the texts have in common; None where it was not computed.
    errors: Errors | None = None
    #: The texts.
    texts: tuple[str, ...] = ()
    #: The vectors of the other program, those of the right pipeline (None: of another width) and with the faults.
    theirs: np.ndarray | None = field(default=None, repr=False)
    right: np.ndarray | None = field(default=None, repr=False)
    explained: np.ndarray | None = field(default=None, repr=False)
    #: What the model accepts, and what the right pipeline puts before each text. Not the pipeline itself, which has
    #: every image, decoded: a verdict is kept.
    takes: InputKind = "text"
    prompt: str = ""

    @property
    def more(self) -> str:
        """What a further search would add, for an answer that is unknown; "" where everything was searched."""
        return MORE.get(self.together, "") if self.verdict == "unknown" else ""

    @property
    def groups(self) -> dict[str, list[str]]:
        """What was excluded in plain words: each group with the names of its faults."""
        found: dict[str, list[str]] = {}
        for name in self.excluded:
            found.setdefault(group_of(name, FAULTS[name].stage), []).append(name)
        return found

    @property
    def looked_like(self) -> list[str]:
        """Of an unknown answer: how far off the texts are, and what the errors have in common, a sentence each."""
        if self.errors is None:
            return []
        return [distances_said(self.errors, self.texts), shape_said(self.errors)]

    @property
    def proposed(self) -> tuple[str, ...]:
        """The next texts that tell most, as a list of one text a line holds them."""
        return tuple(one for one in self.next_texts if not {"\n", "\t"} & set(one))[:MOST_PROPOSED]

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return EXIT_CODES[self.verdict]

    def distances(self, *, explained: bool) -> np.ndarray | None:
        """[N]: the largest difference of each text, with the faults or without; None for another width."""
        ours = self.explained if explained else self.right
        if ours is None or self.theirs is None or ours.shape != self.theirs.shape:
            return None
        found: np.ndarray = np.abs(self.theirs - ours).max(axis=1)
        return found

    def by_dimension(self, place: int) -> np.ndarray:
        """[D']: theirs minus the right vector of a text."""
        assert self.theirs is not None, "a verdict has the vectors"
        assert self.right is not None, "its caller has asked for distances"
        found: np.ndarray = self.theirs[place] - self.right[place]
        return found

    def about(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        nearest = None
        if self.nearest is not None:
            nearest = {"faults": [one.about() for one in self.nearest[0]], "difference": _number(self.nearest[1])}
        return {
            "verdict": self.verdict,
            "faults": [one.about() for one in self.faults],
            "difference": _number(self.difference),
            "difference_without": _number(self.difference_without),
            "correlation": self.correlation,
            "alternatives": [[one.about() for one in faults] for faults in self.alternatives],
            "excluded": list(self.excluded),
            "not_excluded": list(self.not_excluded),
            "nearest": nearest,
            "errors": None if self.errors is None else self.errors.about(),
            "next_texts": list(self.next_texts),
            "fingerprint": self.fingerprint,
            "together": self.together,
        }

    def as_json(self) -> str:
        """`about` as text."""
        return json.dumps(self.about(), ensure_ascii=False, indent=2)

    @property
    def said(self) -> str:
        """The answer in sentences, the evidence in the second one."""
        return "\n".join(SAID[self.verdict](self))


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _size(value: float) -> str:
    return f"{value:.2g}" if np.isfinite(value) else "another width"


def _of_fault(one: Verdict) -> list[str]:
    lines = [" ".join(fault.sentence for fault in one.faults)]
    what = "this fault" if len(one.faults) == 1 else "these faults together"
    sizes = f"largest difference: {_size(one.difference)}, without: {_size(one.difference_without)}"
    if one.correlation is None:
        lines.append(f"With {what} this model gives your vectors: {sizes}.")
    else:
        lines.append(
            f"The errors of your vectors have a correlation of {one.correlation:.2f} with those of this rounding; "
            f"kernels differ in its last steps ({sizes})."
        )
    for faults in one.alternatives:
        lines.append(f"These texts cannot exclude another cause: {' '.join(fault.sentence for fault in faults)}")
    if one.alternatives and one.next_texts:
        text = one.next_texts[0]
        shown = repr(text) if len(text) <= LONG else f"{name_of(text)} (all of it is in the JSON)"
        lines.append(
            f"This text separates them: {shown}. Send it in a request of its own, and diagnose its vector by itself."
        )
    lines += [f"Remedy: {fault.about()['remedy']}" for fault in one.faults]
    return lines


def _of_sound(one: Verdict) -> list[str]:
    return [f"Nothing is wrong: largest difference: {_size(one.difference)}, which is rounding."]


def _of_precision(one: Verdict) -> list[str]:
    return [
        f"Nothing is wrong but rounding: largest difference: {_size(one.difference)}, within the precision of the "
        "other program."
    ]


def _of_repeats(one: Verdict) -> list[str]:
    return [
        f"The other program is not repeatable: it gives the same text different vectors (largest difference: "
        f"{_size(one.difference_without)}), and no batch explains them. Send one text several times, and compare."
    ]


def _of_unknown(one: Verdict) -> list[str]:
    lines = [f"Unknown: {SEARCHED[one.together]} Largest difference from the model: {_size(one.difference_without)}."]
    lines += one.looked_like
    if one.excluded:
        lines.append(f"Excluded as the only fault, each by a run (names: --json): {', '.join(one.groups)}.")
    if one.not_excluded:
        lines.append(f"{batches_said(one)} State yours: --batch N.")
    if one.next_texts:
        if one.takes == "text":
            lines.append(f"Send these texts, too: {'; '.join(map(name_of, one.next_texts[:MOST_PROPOSED]))}.")
        else:
            lines.append(f"Send these probes (--probes), too: {', '.join(one.next_texts)}.")
    return lines


def batches_said(one: Verdict) -> str:
    """What is not excluded, since the batches of the other program are not known; "" for nothing."""
    if not one.not_excluded:
        return ""
    sizes = ", ".join(map(str, sorted(USUAL_BATCHES)))
    return f"Not excluded: padding in batches. Tried were batches of {sizes} texts, and all together."


#: The sentences of each answer.
SAID = {
    "fault": _of_fault, "sound": _of_sound, "within-precision": _of_precision, "not-repeatable": _of_repeats,
    "unknown": _of_unknown,
}  # fmt: skip
