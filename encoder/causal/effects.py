"""Effects: by how much an outcome changes when each head is off, each place is patched, each token is cut off.

`iter_...` yields `Progress` after each chunk of runs; the function without this prefix gives the effects. An effect is
the edited outcome minus the unedited one. It holds for this input and this outcome; effects of several heads do not add
up, since later layers can compensate (McGrath et al. 2023 measure this in a decoder).

Shapes: L layers, H heads, T tokens.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from encoder.causal.outcomes import Outcome, as_outcome
from encoder.causal.patching import Where, check_aligned, patch_edit, patch_request
from encoder.causal.variants import Variant, run_variants
from encoder.edits import AblateHead, MaskKeys, Zero
from encoder.encoders.named import NamedEncoder
from encoder.encoders.text import of_text
from encoder.errors import EncoderError
from encoder.inputs.text import Tokenized
from encoder.trace import gradual
from encoder.trace.trace import Trace

#: A text, its tokens, or the unedited trace of any input.
Text = str | Tokenized | Trace
#: Layers that are knocked out together, by default.
WINDOW = 3


@dataclass(frozen=True, eq=False)
class Progress:
    """values: effects so far, NaN where still missing; done, total: runs; plain: the outcome of the unedited run."""

    values: Tensor
    done: int
    total: int
    plain: float


#: Yields the progress, and returns the effects.
Effects = Generator[Progress, None, Tensor]


def plain_trace(model: NamedEncoder, text: Text, request: tuple[str, ...] = ()) -> Trace:
    """The unedited trace of a text; a Trace is returned as it is, which is how to give an image or a sound."""
    if isinstance(text, Trace):
        return text
    if isinstance(text, (list, tuple)):
        raise EncoderError("Specify one text, or its trace; encoder.corpus.over computes the means over many.")
    model = of_text(model, "specify its trace, which model.trace(input) gives.")
    return model.trace_tokens(model.tokenize(text) if isinstance(text, str) else text, request=request)


@torch.no_grad()
def word_changes(
    model: NamedEncoder, plain: Trace, edited: Trace, position: int, ids: Sequence[int]
) -> NDArray[np.floating]:
    """[n]: change of the log probability of these words at a position, edited minus unedited.

    Raises EncoderError for a model without a masked-word head.
    """
    head = model.mlm_head
    if head is None:
        raise EncoderError(f"{model.name} has no masked-word head: choose another model.")
    table = model.encoder.embedding.tokens.weight
    before, after = (
        torch.log_softmax(head(trace.output[position], table).float(), dim=-1)[list(ids)] for trace in (plain, edited)
    )
    return (after - before).cpu().numpy()


def iter_effects(
    model: NamedEncoder, plain: Trace, variants: Sequence[Variant], outcome: Outcome | str, shape: tuple[int, ...]
) -> Effects:
    """The effects of any variants on the input of `plain`, in a tensor of `shape`."""
    with torch.no_grad():
        measure = as_outcome(outcome).on(model, plain)
        before = measure(plain.output.unsqueeze(0))[0].cpu()
    values = torch.full((len(variants),), torch.nan)
    done = 0
    for indices, outputs in run_variants(model, plain, variants):
        with torch.no_grad():
            values[indices] = measure(outputs).cpu() - before
        done += len(indices)
        yield Progress(values.view(shape).clone(), done, len(variants), float(before))
    return values.view(shape)


def iter_each_head(
    model: NamedEncoder, text: Text, outcome: Outcome | str = "sentence", *, cross: bool = False
) -> Effects:
    """[L, H]: the effect of each head off by itself. "sentence": cosine to the unedited sentence vector, minus 1.

    Off: z of the head is 0 (`edits.AblateHead`). cross: the heads of cross-attention, of `model.decoder` and
    `trace.decoder`. `encoder.corpus.over` computes means over many texts.
    """
    plain = plain_trace(model, text)
    shape = (model.config.n_layers, model.config.n_heads)
    variants = [(AblateHead(layer, head, cross),) for layer in range(shape[0]) for head in range(shape[1])]
    return (yield from iter_effects(model, plain, variants, outcome, shape))


def leave_out_each_sublayer(model: NamedEncoder, text: Text, outcome: Outcome | str = "sentence") -> Tensor:
    """[S, L]: the effect of a layer without one of its S sublayers (rows as in the config), one layer at a time.

    What a sublayer adds to the residual stream is set to 0; in post-norm the norm after it still acts.
    """
    plain, n_layers = plain_trace(model, text), model.config.n_layers
    parts = model.config.sublayers
    variants = [(Zero(f"{part}_out", layer=layer),) for part in parts for layer in range(n_layers)]
    return gradual.result(iter_effects(model, plain, variants, outcome, (len(parts), n_layers)))


def iter_patch(
    model: NamedEncoder,
    clean: Text,
    corrupted: Text,
    outcome: Outcome | str = "sentence",
    where: Where = "residual",
) -> Effects:
    """Activation patching: the corrupted text runs with one vector of the clean run; the change of its outcome.

    The default outcome is the cosine to the corrupted run itself: effects are at most 0, the largest is the minimum.
    With `causal.Similarity(clean)`, `causal.both_outcomes` and `causal.carried_share` give shares of the difference.

    [L, T]: "residual", the residual stream that enters layer l at token t; "attention_out", "ffn_out": what the
    sublayer adds there. [L, H]: "head", z of the head at all tokens. Raises EncoderError for texts of other lengths.
    Meng et al. 2022 ("causal tracing") corrupt the text with noise; here it is another text. Heimersheim and Nanda 2024
    say what patching does and does not show.
    """
    config = model.config
    source = plain_trace(model, clean, patch_request(where))
    plain = plain_trace(model, corrupted)
    check_aligned(source, plain)
    places = range(config.n_heads if where == "head" else plain.n_tokens)
    variants = [
        (patch_edit(where, source, layer, place, config.after_layer),)
        for layer in range(config.n_layers)
        for place in places
    ]
    return (yield from iter_effects(model, plain, variants, outcome, (config.n_layers, len(places))))


def knock_out_edits(n_layers: int, layer: int, query: int, key: int, window: int = WINDOW) -> Variant:
    """The edits that hide a token from one query in `window` layers around a layer; at both ends the window is cut."""
    first = layer - (window - 1) // 2
    layers = range(max(0, first), min(n_layers, first + window))
    return tuple(MaskKeys((key,), layer=one, query=query) for one in layers)


def iter_knock_out(
    model: NamedEncoder,
    text: Text,
    query: int,
    outcome: Outcome | str = "sentence",
    window: int = WINDOW,
) -> Effects:
    """[L, T]: the effect of hiding token t from one query, for all heads of `window` layers around layer l.

    The edits are `knock_out_edits`. Attention knockout, Geva et al. 2023, who study decoders with many more layers.
    """
    plain = plain_trace(model, text)
    n_layers, n_tokens = model.config.n_layers, plain.n_tokens
    if window < 1:
        raise EncoderError(f"window={window} is too small: choose 1 layer or more.")
    plain.check_token(query, "query")
    variants = [
        knock_out_edits(n_layers, layer, query, key, window) for layer in range(n_layers) for key in range(n_tokens)
    ]
    return (yield from iter_effects(model, plain, variants, outcome, (n_layers, n_tokens)))


ablate_each_head = gradual.at_once(iter_each_head, "ablate_each_head")
patch = gradual.at_once(iter_patch, "patch")
knock_out = gradual.at_once(iter_knock_out, "knock_out")
