"""Where the colours of a map of Contribution end: the choice of the reader, and the number."""

from encoder.measure import ranking
from pages.core.inputs.input_words import InputWords
from pages.core.view import MapParams, View
from pages.state import state


def control(words: InputWords, more: str = "") -> None:
    """The widget. more: what else it means on this map."""
    state.segmented(MapParams.range, "Range", words.ranges, help=f"{words.range_help}{more}")


def end(view: View, values: ranking.Weights, first: tuple[int, int], block: int = 1, *, shares: bool = True) -> float:
    """The number at which the colours of cells [R, C] end.

    first: query and key token of the first cell; shares: whether rows sum to 1, so that colours below the uniform
    number would show noise.
    """
    chosen = state.get(MapParams.range)
    if chosen != "words":
        return float(values.max()) if chosen == "head" else 1.0
    sides = (
        ranking.token_blocks(start, count, block, view.trace.n_tokens)
        for start, count in zip(first, values.shape, strict=True)
    )
    least = ranking.uniform(view.trace) if shares else 0.0
    return ranking.largest_between_words(values.numpy(), view.trace, *sides, least)
