"""What the decoder of the open model writes from the encoder's vectors, as they are or changed by the reader."""

from dataclasses import dataclass

from encoder import causal
from encoder.edits import AblateHead
from encoder.encoders.generate import Generation
from encoder.encoders.named import NamedEncoder
from encoder.model.config import EncoderConfig
from encoder.trace.trace import Trace
from pages.core.view.view import View
from pages.state import Head, Param, choice, heads, state, string, whole_number

#: Of a model with a decoder: whose attention the page Heads shows.
STACKS = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross-attention"}
#: Tokens of an output that a page shows, and outputs that beam search keeps.
MOST_OUTPUT, BEAMS = 48, 4


@state.register
class Output:
    """What the decoder writes. target: a forced output, "": its own; step: the selected token of it; over: whose
    weights are over a sound; the others: fields of `Change`."""

    stack: Param[str] = choice("encoder", STACKS)
    target: Param[str] = string(url="output")
    step: Param[int | None] = whole_number(None, 0, url="output_token")
    over: Param[str] = choice("mean", ("mean", "head"), url="sound_weights")
    off: Param[list[Head]] = heads(64, url="cross_off")
    other: Param[str] = string(url="vectors_of")
    vector: Param[int | None] = whole_number(None, 0, url="replaced_vector")


@dataclass(frozen=True)
class Change:
    """What reaches the decoder otherwise. off: heads of cross-attention that are switched off; other: a text whose
    vectors it uses, "": the input's own; vector: the token whose vector only is replaced, None: all."""

    off: tuple[Head, ...] = ()
    other: str = ""
    vector: int | None = None

    @property
    def edits(self) -> tuple[AblateHead, ...]:
        """Of the decoder."""
        return tuple(AblateHead(layer, head, cross=True) for layer, head in self.off)


AS_IT_IS = Change()


def config_shown(model: NamedEncoder, of_decoder: bool) -> EncoderConfig:
    """The config whose layers and heads a page offers. of_decoder: the decoder's, where it writes from the vectors."""
    if of_decoder and model.decoder is not None and model.decoder.reads:
        return model.decoder.config
    return model.config


def chosen(view: View) -> Change:
    """The reader's change."""
    vector, other = state.newest(Output.vector), state.get(Output.other).strip()
    inside = vector is not None and vector < view.trace.n_tokens
    return Change(
        tuple(state.get(Output.off)), other if view.loaded.takes == "text" else "", vector if inside else None
    )


def target_text(view: View) -> str:
    """The forced output, or what the model writes."""
    return state.get(Output.target).strip() or written(view).text


def written(view: View, change: Change = AS_IT_IS, beams: int = 1) -> Generation:
    """What the model writes by itself."""
    given, model = source(view, change), view.loaded
    return view.derived(
        ("written", change, beams),
        lambda _: model.generate(given, MOST_OUTPUT, beams=beams, decoder_edits=change.edits),
    )


def decoded(view: View, change: Change = AS_IT_IS) -> Trace:
    """The trace with the decoder's pass over the forced output, or over what it writes without a change."""
    target = state.get(Output.target).strip() or written(view).ids
    given, model = source(view, change), view.loaded
    return view.derived(("decoded", target, change), lambda _: model.decode(given, target, edits=change.edits))


def source(view: View, change: Change) -> Trace:
    """The trace whose vectors the decoder uses."""
    if change.vector is not None:
        edit = causal.context_edit(change.vector, view.run.input.name, change.other)
        return view.but(edits=(*view.run.edits, edit)).trace
    return view.about(change.other).but(edits=()).trace if change.other else view.trace
