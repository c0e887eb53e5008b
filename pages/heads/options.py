"""What the reader chose on the Heads page: how maps are shown, which tokens and heads are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from encoder.export import head_name
from encoder.measure import head_map, tiled_attention
from encoder.measure.head_map import WHOLE_TOKENS, HeadMap, LongMap
from encoder.measure.tiled_attention import Overview
from pages.core import cache, small_maps
from pages.core.params import Head
from pages.core.view import MOST_SELECTED as MOST_HELD
from pages.core.view import View, state
from pages.heads import padding as head_padding
from pages.heads.params import MOST_PINS

#: Up to this many tokens an average over heads or layers takes seconds at most.
AVERAGED_TOKENS = 2_048

_SPECIAL = {"show": "shown", "zero": "zeroed", "renormalise": "left out, rows to 1"}
_BETWEEN = {"all": "all", "a-b": "A → B", "b-a": "B → A", "a-a": "within A", "b-b": "within B"}
_AVERAGE = {"none": "this head", "heads": "heads", "layers": "layers", "both": "both"}


@dataclass(frozen=True)
class Options:
    """How maps are shown. special, between, words, padding: as in `aggregate.token_map`; average: over what; log:
    colours follow the logarithm; own: colours run to the largest weight instead of to 1."""

    special: str = "show"
    between: str = "all"
    words: bool = False
    padding: bool = False
    average: str = "none"
    log: bool = False
    own: bool = False

    @property
    def cells(self) -> dict[str, object]:
        """What decides which cells a map has and what is in them: keyword arguments of `head_map.dense_map`."""
        return {"special": self.special, "pairs": self.between, "words": self.words, "padding": self.padding}

    @property
    def usual(self) -> bool:
        """Whether cells are what the model computed, token by token."""
        return self.cells == Options().cells


def is_whole(view: View) -> bool:
    """Whether maps of this text are held as a whole."""
    return view.trace.n_tokens <= WHOLE_TOKENS


def controls(view: View) -> None:
    """Draw the widgets; what this text does not allow is off, and the page says so."""
    whole = is_whole(view)
    state.bound(
        st.segmented_control, "special", "Special tokens", list(_SPECIAL), required=True, format_func=_SPECIAL.get,
        help="[CLS] and [SEP] take much of the attention in many heads. Zeroed: their rows and columns are 0. Left "
        "out: then the rest of each row is scaled to sum to 1. The model itself always sees them.",
    )  # fmt: skip
    left, right = st.columns(2, gap="small")
    with left:
        state.bound(st.segmented_control, "scale", "Colour", ["linear", "log"], required=True)
    with right:
        state.bound(
            st.segmented_control, "range", "Range", ["fixed", "head"], required=True,
            format_func={"fixed": "0 to 1", "head": "this map"}.get,
            help="0 to 1 makes heads comparable; this map's own range shows faint patterns.",
        )  # fmt: skip
    state.bound(
        st.segmented_control, "average", "Average over", list(_AVERAGE), required=True, format_func=_AVERAGE.get,
        disabled=view.trace.n_tokens > AVERAGED_TOKENS,
        help="Heads: the mean of all heads of this layer. Layers: the mean of this head's number in all layers, which "
        "have nothing in common but the number. Both: the mean of all.",
    )  # fmt: skip
    if view.pair is not None:
        state.bound(
            st.segmented_control, "between", "Between the sentences", list(_BETWEEN), required=True,
            format_func=_BETWEEN.get, disabled=not whole,
            help="A is the first sentence, B the second. A special token counts to the sentence before it.",
        )  # fmt: skip
    left, right = st.columns(2, gap="small")
    with left:
        state.bound(
            st.toggle, "words", "Whole words", disabled=not whole,
            help="Weights to the pieces of a word are summed, weights from them averaged, so rows still sum to 1 "
            "(Clark et al. 2019, section 4.1).",
        )  # fmt: skip
    with right:
        state.bound(
            st.toggle, "badges", "Roles in the grid",
            help="Marks heads that have a role on this text: previous token, sink, broad … The page Find heads says "
            "which, and from where on.",
        )  # fmt: skip
    head_padding.length_control(view)
    for sentence in _not_offered(view):
        st.caption(sentence)


def chosen(view: View) -> Options:
    """What is chosen, as far as this text allows it. After `controls`, where they are drawn."""
    whole, n_tokens = is_whole(view), view.trace.n_tokens
    return Options(
        special=state.get("special"),
        between=state.get("between") if whole and view.pair is not None else "all",
        words=whole and state.get("words"),
        padding=view.model.padding,
        average=state.get("average") if n_tokens <= AVERAGED_TOKENS else "none",
        log=state.get("scale") == "log",
        own=state.get("range") == "head",
    )


def _not_offered(view: View) -> list[str]:
    """What this text is too long for."""
    n = view.trace.n_tokens
    said = []
    if not is_whole(view):
        said.append(f"Whole words and pairs of sentences are offered up to {WHOLE_TOKENS} tokens; this text has {n:,}.")
    if n > AVERAGED_TOKENS:
        said.append(f"Averages are offered up to {AVERAGED_TOKENS:,} tokens.")
    return said


# --- which map -------------------------------------------------------------------------------------------------------


def averaged(layer: int, head: int, average: str) -> tuple[int | None, int | None]:
    """Layer and head of the map to show: None where it is averaged over."""
    return (None if average in ("layers", "both") else layer), (None if average in ("heads", "both") else head)


def name(view: View, options: Options) -> str:
    """What the shown map is called: "L0 H2", "L0, mean of 12 heads"."""
    return head_name(view.loaded.config, *averaged(view.layer, view.head, options.average))


def shown_map(view: View, options: Options, layer: int | None, head: int | None) -> HeadMap:
    """A head's map with the options; layer or head None: averaged over it."""
    if not is_whole(view):
        special = options.special
        return LongMap(view.trace, layer, head, special, lambda: overview(view, layer, head, special))  # type: ignore[arg-type]
    what = ("head map", layer, head, *options.cells.values())
    return cache.derived(
        view.model,
        view.text,
        view.pair,
        what,
        lambda trace: head_map.dense_map(trace, layer, head, **options.cells),  # type: ignore[arg-type]
    )


def overview(view: View, layer: int | None, head: int | None, special: str = "show") -> Overview:
    """A long text's whole map in blocks of tokens; of a layer that the grid has drawn it is there already."""
    if layer is not None and head is not None and special == "show":
        drawn = small_maps.known_overview(view.model, view.text, view.pair, layer)
        if drawn is not None:
            return drawn.of(head)
    return cache.derived(
        view.model, view.text, view.pair, ("overview", layer, head, special),
        lambda trace: tiled_attention.overview(trace, layer, head, special),  # type: ignore[arg-type]
    )  # fmt: skip


# --- tokens and heads that are held ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """The selected tokens: queries and keys, ascending. What is shown of them are rows and columns of a map."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]

    def rows(self, of: HeadMap) -> list[int]:
        """Rows of a map in which selected queries are; a token that the map does not show has none."""
        return _places(self.queries, of.row_of)

    def columns(self, of: HeadMap) -> list[int]:
        """Columns of a map in which selected keys are."""
        return _places(self.keys, of.column_of)


def _places(tokens: Sequence[int], place) -> list[int]:
    found = {place(token) for token in tokens}
    return sorted(found - {None})


def held(view: View) -> Selection:
    """The tokens that are selected: i and j, and those held beside them. Others than the text has are left out."""

    def tokens(one: int | None, more: Sequence[int]) -> tuple[int, ...]:
        chosen = {*more} if one is None else {one, *more}
        return tuple(sorted(token for token in chosen if token < (view.model.pad or view.trace.n_tokens)))

    return Selection(tokens(view.i, state.get("hold")), tokens(view.j, state.get("hold_keys")))


def hold(queries: Sequence[int], keys: Sequence[int]) -> None:
    """Select these tokens on every page; the one that was selected alone stays i (or j) while it is among them."""
    for one, more, tokens in (("i", "hold", queries), ("j", "hold_keys", keys)):
        chosen = sorted(set(tokens))[:MOST_HELD]
        first = state.get(one) if state.get(one) in chosen else next(iter(chosen), None)
        state.put(one, first)
        state.put(more, [token for token in chosen if token != first])


def toggled(tokens: Sequence[int], token: int) -> list[int]:
    """The tokens with one more, or one less where it was among them."""
    return sorted({*tokens} ^ {token})


def heads_of_model(name: str, view: View) -> list[Head]:
    """The heads of a Param that this model has; others are dropped with a sentence on the page."""
    config, chosen = view.loaded.config, state.get(name)
    there = [(layer, head) for layer, head in chosen if layer < config.n_layers and head < config.n_heads]
    if len(there) < len(chosen):
        missing = ", ".join(f"L{layer} H{head}" for layer, head in chosen if (layer, head) not in there)
        st.warning(
            f"{missing}: this model has layers 0 to {config.n_layers - 1} with heads 0 to {config.n_heads - 1} each. "
            "Left out.",
            icon=":material/link_off:",
        )
        state.put(name, there)
    return there


def pin(layer: int, head: int) -> None:
    """Pin a head, or take its pin away. For callbacks."""
    pins = state.get("pins")
    if (layer, head) in pins:
        state.put("pins", [one for one in pins if one != (layer, head)])
    elif len(pins) < MOST_PINS:
        state.put("pins", [*pins, (layer, head)])
    else:
        st.toast(f"{MOST_PINS} heads are pinned already: take one away first.", icon=":material/push_pin:")
