"""The heads of a view with their measures and types, and the controls that choose among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder.measure import head_types
from encoder.measure.head_measures import HeadMeasures
from pages.core.inputs.input_words import InputWords
from pages.core.view import View, head_measures
from pages.core.view.head_measures import HeadTypeParams
from pages.core.widgets import arguments
from pages.core.words import references
from pages.heads.params import PARTS, AllHeads
from pages.state import state


@dataclass(frozen=True)
class Heads:
    """The measures of all heads, their types by the thresholds in the address, and the type to show ("": any).

    types: name -> head type, of those that mean something for the input, in its words.

    A head's number is l H + h.
    """

    measures: HeadMeasures
    found: tuple[tuple[tuple[head_types.Finding, ...], ...], ...]
    wanted: str
    types: Mapping[str, head_types.HeadType]

    @classmethod
    def of(cls, view: View, params: AllHeads) -> Heads:
        measures = head_measures.measures(view, params.queries)  # type: ignore[arg-type]
        found = head_types.find(measures, head_measures.thresholds())
        types = head_measures.offered_types(view.trace)
        return cls(measures, found, state.get(HeadTypeParams.head_type), types)

    @property
    def n_heads(self) -> int:
        """H."""
        return len(self.found[0])

    def __len__(self) -> int:
        return len(self.found) * self.n_heads

    def shown(self) -> list[int]:
        """Numbers of the heads that the type filter keeps."""
        return [number for number in range(len(self)) if not self.wanted or self.has(number, self.wanted)]

    def with_type(self, name: str) -> list[int]:
        """Numbers of the heads of a type."""
        return [number for number in range(len(self)) if self.has(number, name)]

    def has(self, number: int, name: str) -> bool:
        """Whether a head has a type."""
        return any(finding.head_type.name == name for finding in self.findings(number))

    def findings(self, number: int) -> tuple[head_types.Finding, ...]:
        """The types of a head, each with the measure that shows it."""
        layer, head = divmod(number, self.n_heads)
        return self.found[layer][head]

    def badge(self, number: int) -> str:
        """All badges of a head, or nothing."""
        return ", ".join(self.types[finding.head_type.name].badge for finding in self.findings(number))

    def types_present(self) -> list[head_types.HeadType]:
        """The types that at least one head has."""
        return [one for one in self.types.values() if self.with_type(one.name)]

    # --- for the exports: what was measured, and how in Python -----------------------------------------------------

    def settings(self, part: str) -> dict[str, object]:
        """The options of the page, for the report of one of its parts."""
        limits = asdict(head_measures.thresholds())
        return {
            "Shown": PARTS[part],
            "Query rows": "all tokens" if self.measures.queries == "all" else "without special tokens",
            "Head type": self.types[self.wanted].title if self.wanted else "any",
            "Thresholds": ", ".join(f"{name} {value:g}" for name, value in limits.items()),
            "Strong above": self.measures.strong,
        }

    def measured(self) -> str:
        """Python that measures the heads of `trace`."""
        return f'heads(trace, queries="{self.measures.queries}", strong={self.measures.strong:g})'

    def only_wanted(self, name: str) -> str:
        """A line that keeps the heads of the wanted type in the table `name`."""
        return f'\n{name} = {name}[{name}["head_type"] == "{self.wanted}"]' if self.wanted else ""


def thresholds_in_python() -> str:
    """The thresholds that differ from the defaults, as a second argument."""
    changed = arguments(head_measures.thresholds())
    return f", head_types.Thresholds({changed})" if changed else ""


# --- controls --------------------------------------------------------------------------------------------------------


_THRESHOLDS = {
    HeadTypeParams.position: (
        "Previous, next, self: mean weight above",
        "0.5 in the code of Clark et al. (2019), for means over a corpus. Here the mean is over one input.",
    ),
    HeadTypeParams.top: (
        "… or share of queries with the largest weight there",
        "0.9 in Voita et al. (2019, section 5.1), for the offsets −1 and +1. Applied to 0 (self) here.",
    ),
    HeadTypeParams.special: (
        "Opening token, separators: mean weight above",
        "0.6 in the code of Clark et al. (2019), for means over a corpus. Here the mean is over one input.",
    ),
    HeadTypeParams.broad: (
        "Broad: normalised entropy above",
        "Entropy divided by ln T, so that short texts can have broad heads. Clark et al. (2019) use 3.8 nats for texts "
        "of up to 128 tokens, which is 0.78 of ln 128.",
    ),
    HeadTypeParams.same: ("Same token: mean weight above", "Our choice; no source."),
    HeadTypeParams.strong: ("A weight is strong above", "For the measure “Strong weights”. Our choice; no source."),
}


def threshold_controls(place: DeltaGenerator, words: InputWords, of_text: bool) -> None:
    """The thresholds of the types, and the queries that count. of_text: whether tokens can occur again."""
    with place:
        for param, (label, source) in _THRESHOLDS.items():
            if param is HeadTypeParams.same and not of_text:
                continue
            state.bound(
                st.number_input,
                param,
                label,
                min_value=0.0,
                max_value=1.0,
                step=0.05,
                format="%.2f",
                help=references.cited(source),
            )
        state.segmented(
            AllHeads.queries,
            "Averaged over",
            {"all": "All tokens", "content": f"{words.parts.capitalize()} only"},
            help=references.cited(
                "The queries that count: all real tokens, as in Clark et al. (2019), or without special tokens."
            ),
        )
        st.button("Defaults", icon=":material/restart_alt:", on_click=_defaults)


def _defaults() -> None:
    for param in (*_THRESHOLDS, AllHeads.queries):
        state.put(param, param.default)


def reason(view: View, finding: head_types.Finding) -> str:
    """The number that gives a head its type."""
    title = head_measures.offered(view.trace)[finding.measure].title
    return f"“{title}”: {finding.value:.2f} (threshold {finding.threshold:g})."
