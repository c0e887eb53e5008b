"""A finished comparison with its labels and selection: what the maps and sentences of a comparison show."""

import math
from dataclasses import dataclass
from functools import cached_property

from encoder.figures.numbers import three_digits
from encoder.maps.aggregate import SpecialTokens
from encoder.measure import align, map_comparison, ranking
from encoder.views.options import SPECIAL_WORDS
from pages.core.inputs.input_words import InputWords, words_of
from pages.core.widgets.comparison import Side, Sides
from pages.core.words import number, plain


@dataclass(frozen=True)
class Compared:
    """Both sides and their comparison.

    special: how special tokens are treated; range: where the colours of both maps end, one of `view.RANGES`; selected:
    the steps of the selected query and key.
    """

    sides: Sides
    found: map_comparison.Comparison
    special: SpecialTokens
    range: str
    selected: tuple[int | None, int | None]

    @cached_property
    def words(self) -> InputWords:
        """What the input and its parts are called."""
        return words_of(self.sides.first.trace)

    @cached_property
    def step_labels(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """The label of each step in A, in B, and in both."""
        return align.step_labels(self.sides.first.trace, self.sides.second.trace, self.sides.alignment)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The label of each step, with positions where a token occurs twice."""
        return align.disambiguate(self.step_labels[2], self.sides.alignment)

    @cached_property
    def end(self) -> float:
        """The weight at which the colours of both maps end."""
        if self.range != "words":
            return self.found.top if self.range == "head" else 1.0
        steps, block = self.sides.alignment, self.found.block
        ends = []
        for side, weights, tokens in (
            (self.sides.first, self.found.first, steps.first),
            (self.sides.second, self.found.second, steps.second),
        ):
            blocks = ranking.token_blocks(0, len(weights), block, len(tokens))
            groups = [[token for step in one if (token := tokens[step]) is not None] for one in blocks]
            least = ranking.uniform(side.trace)
            ends.append(ranking.largest_between_words(weights.numpy(), side.trace, groups, groups, least))
        return max(ends)

    def bold(self, step: int) -> str:
        """The token of a step inside Markdown, in quotation marks: it may be a comma."""
        return f"**“{plain(self.names[step])}”**"

    def described(self, side: Side) -> str:
        """The head of a side, and what else differs from the other side: its sentence or its model."""
        if self.sides.what == "sentences":
            return f"{side.head_name}: {side.title}"
        if self.sides.what == "models":
            return f"{side.head_name} of {side.model_name}"
        return side.head_name

    def differences(self) -> str:
        """Where the two sides differ most, in numbers."""
        found = self.found
        if not found.largest:
            return "**Both maps are the same**: no weight of the two differs."
        cell = found.largest[0]
        distance = found.distance.nan_to_num(-1.0)
        most = int(distance.argmax())
        text = (
            f"Largest difference: {self.bold(cell.query)} to {self.bold(cell.key)}, {self._weights(cell)}. Share of a "
            f"token's attention that differs: mean **{percent(found.mean_distance)}**, largest "
            f"{percent(float(distance[most]))} for {self.bold(most)}."
        )
        return text + self._output_vectors() if self.sides.what == "sentences" else text

    def _weights(self, cell: map_comparison.Cell) -> str:
        """The weights of both sides; a side may lack the pair."""
        return " and ".join(
            f"no such pair in {side.name}" if math.isnan(weight) else f"**{three_digits(weight)}** in {side.name}"
            for side, weight in ((self.sides.first, cell.first), (self.sides.second, cell.second))
        )

    def _output_vectors(self) -> str:
        """The cosine of the output vectors of the word that differs most, and of the selected word."""
        traces = self.sides.first.trace, self.sides.second.trace
        cosine = map_comparison.output_cosine(*traces, self.sides.alignment)
        least = map_comparison.least_alike(*traces, self.sides.alignment)
        if cosine is None or least is None:
            return ""
        text = (
            f" Cosine of a shared {self.words.part}'s two output vectors: smallest for {self.bold(least[0])}, "
            f"**{number(least[1], 2)}**"
        )
        query = self.selected[0]
        if query is not None and query != least[0] and not math.isnan(float(cosine[query])):
            text += f"; for {self.bold(query)} **{number(float(cosine[query]), 2)}**"
        return f"{text} (1: same direction, 0: orthogonal)."

    def legend(self) -> str:
        """What rows, colours, gaps and positions mean."""
        less, more = self.sides.ends
        lines = ["Rows attend to columns."]
        lines.append(f"Difference: teal where {more.name} attends more, orange where {less.name} does.")
        first, second = self.sides.first.name, self.sides.second.name
        if self.found.block > 1:
            lines.append(
                f"{len(self.found.alignment):,} tokens: a cell covers {self.found.block} × {self.found.block} "
                "pairs of tokens. It shows their largest weight, or their difference farthest from 0."
            )
        elif any(self.sides.alignment.gaps):
            lines.append(f"Grey (“–”): a token that this side lacks. “x | y”: x in {first}, y in {second}.")
        if any(" | " in name and name.endswith(")") for name in self.names):
            lines.append(f"“the (4 | 6)”: position 4 in {first}, 6 in {second}.")
        if self.special != "show":
            lines.append(f"Special tokens: {SPECIAL_WORDS[self.special]}; the model itself attends to them.")
        return " ".join(lines)


def percent(share: float) -> str:
    """A share in percent, with a decimal where it is below 1%."""
    if share >= 0.01 or share == 0:
        return f"{share:.0%}"
    return f"{share:.1%}" if share >= 0.001 else "less than 0.1%"


def signed(change: float) -> str:
    """A difference with three digits and its sign; "–" where a side lacks the pair."""
    if math.isnan(change):
        return "–"
    if change == 0:
        return "0"
    return ("+" if change > 0 else "−") + three_digits(abs(change))
