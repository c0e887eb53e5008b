"""The values of the page Model in the address."""

from pages.state import Param, choice, flag, whole_number
from pages.state.url_state import state

#: What the page shows: the picture, its residual stream as curves, or the cost of each part; “diagram” in old links.
SHOWS = ("picture", "diagram", "stream", "cost")
#: The longest text whose cost is shown.
MOST_TOKENS = 1_000_000
#: Names of the part that is open in the picture.
STEPS = (
    "", "ids", "embedding", "qkv", "scores", "softmax", "mixing", "heads", "norm", "add", "ffn", "final", "output",
    "class", "cross", "cross-scores", "cross-mixing", "next", "adapter", "first_ffn", "convolution",
)  # fmt: skip


#: Sublayers, and the end of a layer, which has a norm in Conformers.
PARTS = ("attention", "ffn", "cross", "adapter", "first_ffn", "convolution", "end")


@state.register
class Params:
    """step: the open part, with `vector` of "qkv" and `part`, the sublayer, of "norm" and "add"; scaled, causal:
    how the open part computes scores, by default as the model does; first: the first token of the picture's window, for
    a long input, None for a window around the query; side: the river whose layer is open, where the model has a
    decoder; output_key, source: the tokens of the output and of the input that the selected one is compared with;
    cost_tokens: the length whose cost is shown, None for that of the input."""

    show: Param[str] = choice(SHOWS[0], SHOWS)
    step: Param[str] = choice("", STEPS)
    vector: Param[str] = choice("q", ("q", "k", "v"))
    part: Param[str] = choice("attention", PARTS)
    scaled: Param[bool] = flag(True)
    causal: Param[bool] = flag()
    first: Param[int | None] = whole_number(None, 0, url="from")
    side: Param[str] = choice("decoder", ("encoder", "decoder"))
    output_key: Param[int | None] = whole_number(None, 0)
    source: Param[int | None] = whole_number(None, 0, url="output_from")
    cost_tokens: Param[int | None] = whole_number(None, 1, MOST_TOKENS)


def opened(params: Params) -> str:
    """The part of the picture, as `encoder.views.model_parts` names it."""
    if params.step == "qkv":
        return params.vector
    return f"{params.step}-{params.part}" if params.step in ("norm", "add") else params.step


def open_part(part: str) -> None:
    """Open a part of the picture, "" for none. For callbacks."""
    step = part
    if part in ("q", "k", "v"):
        state.put(Params.vector, part)
        step = "qkv"
    elif part not in STEPS:
        step, _, sublayer = part.partition("-")
        state.put(Params.part, sublayer)
    state.put(Params.step, step)
