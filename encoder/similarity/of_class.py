"""What a class depends on: integrated gradients of its log-odds, by input token.

With x the embeddings of a text, r those of its reference, and f the log-odds of the class, token i gets

    a_i = (x_i - r_i) . (mean over the straight path from r to x of df/dx_i),

and all tokens together f(x) - f(r) (Sundararajan, Taly and Yan 2017, "Axiomatic Attribution for Deep Networks"). One
gradient serves all tokens of a point. The sum is checked; a single token has no such check, and another reference gives
other numbers.

Shapes: T tokens, N points of the path, D d_model.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from encoder.classify import class_place, classifier_of
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.text import Tokenized
from encoder.model.device import explain_out_of_memory
from encoder.similarity.paths import REFERENCES, Reference, nodes, reference_before, vectors_before
from encoder.trace import gradual

#: Steps are doubled in this range until the error is below this share of the change, or below this number.
FIRST_STEPS, MOST_STEPS = 8, 256
TOLERANCE = 0.01
#: Texts of more tokens take too long.
LONGEST = 512
#: Numbers of the largest tensor of one part.
PART_NUMBERS = 4_000_000


@dataclass(frozen=True, eq=False)
class Integrated:
    """How tokens share an outcome. values float64 [T]; outcome, of_reference: f(x) and f(r); error: |sum of values -
    (outcome - of_reference)|; steps: points of the path."""

    values: np.ndarray
    outcome: float
    of_reference: float
    error: float
    steps: int
    reference: Reference

    @property
    def change(self) -> float:
        """What exact values add up to."""
        return self.outcome - self.of_reference


@dataclass(frozen=True, eq=False)
class ClassAttribution(Integrated):
    """How tokens share the log-odds of a class. A regression has no log-odds: its score is split.

    position: the token whose class it is, None for a class of the text.
    """

    label: str
    position: int | None


def iter_attribute_class(
    model: TextEncoder, source: Tokenized, label: str, position: int | None = None, reference: Reference = "pad"
) -> Generator[int, None, ClassAttribution]:
    """How the tokens share the log-odds of a class, by integrated gradients (Sundararajan et al. 2017).

    The generator gives the number of steps before each part. source: a text or a pair, as `model.tokenize` gives it;
    position: for a head that tags tokens. reference: "pad": special tokens stay, and every other becomes padding at the
    same position; "zero": all vectors are 0.

    Raises EncoderError for a model without such a head or class, for a position or a reference that do not fit, for
    more than LONGEST tokens, and where MOST_STEPS are too few.
    """
    outcome = _outcome(model, label, position, source)
    found = yield from iter_integrate(model, source, outcome, reference)
    return ClassAttribution(**vars(found), label=label, position=position)


def iter_integrate(
    model: TextEncoder, source: Tokenized, outcome: Callable[[Tensor], Tensor], reference: Reference = "pad"
) -> Generator[int, None, Integrated]:
    """The same for any differentiable outcome: embeddings [N, T, D] -> numbers [N]. The errors are those of
    `iter_attribute_class`, but for those of its head."""
    if reference not in REFERENCES:
        raise EncoderError(f"reference={quoted(reference)}: choose one of {', '.join(REFERENCES)}.")
    if reference == "pad" and not model.can_pad:
        raise EncoderError(f"The vocabulary of {model.name} has no padding token: choose reference='zero'.")
    if len(source) > LONGEST:
        raise EncoderError(f"This text has {len(source):,} tokens: shorten it to at most {LONGEST:,}.")
    end = vectors_before(model, source, 0)
    start = reference_before(model, source, 0, reference)
    with torch.no_grad():
        at_end, at_start = (float(outcome(x)[0]) for x in (end, start))
    steps = FIRST_STEPS
    while True:
        values = np.zeros(len(source))
        for part in _parts(model, outcome, start, end, steps):
            yield steps
            values += part
        error = abs(float(values.sum()) - (at_end - at_start))
        if error < max(TOLERANCE * abs(at_end - at_start), TOLERANCE):
            break
        if steps >= MOST_STEPS or not np.isfinite(error):
            raise EncoderError(f"The error is still {error:.3g} after {steps} steps: choose another reference.")
        steps *= 2
    return Integrated(values, at_end, at_start, error, steps, reference)


attribute_class = gradual.at_once(iter_attribute_class, "attribute_class")


def _outcome(model: TextEncoder, label: str, position: int | None, source: Tokenized) -> Callable[[Tensor], Tensor]:
    """Embeddings [N, T, D] -> log-odds [N]."""
    head = classifier_of(model, "sequence" if position is None else "token")
    place, encoder = class_place(head, label), model.encoder
    n_layers = model.config.n_layers if head.config.layer is None else head.config.layer
    places = model.tokenizer.batch([source], model.device).places
    if position is not None and not 0 <= position < len(source):
        raise EncoderError(f"No token {position} in this text: choose 0 to {len(source) - 1}.")

    def outcome(x: Tensor) -> Tensor:
        x = encoder.before_layer(n_layers, x, places=places)
        logits = head(x, torch.ones(x.shape[:2], dtype=torch.bool, device=x.device))
        return head.log_odds(logits if position is None else logits[:, position], place)

    return outcome


def _parts(
    model: TextEncoder, outcome: Callable[[Tensor], Tensor], start: Tensor, end: Tensor, steps: int
) -> Iterator[np.ndarray]:
    """Parts of the sum over the path, [T] each, a few points at a time."""
    config, n_tokens = model.config, end.shape[1]
    widest = n_tokens * max(config.d_ffn, config.n_heads * n_tokens, 3 * config.d_model) * config.n_layers
    at_once = max(1, PART_NUMBERS // widest)
    points, weights = nodes(steps)
    for first in range(0, steps, at_once):
        some = torch.from_numpy(points[first : first + at_once]).to(end).view(-1, 1, 1)
        with explain_out_of_memory(model.device, n_tokens), torch.enable_grad():
            x = (start + some * (end - start)).requires_grad_()
            (gradient,) = torch.autograd.grad(outcome(x).sum(), x)  # [N, T, D]
        shares = ((end - start) * gradient).sum(dim=-1).cpu().double().numpy()  # [N, T]
        yield weights[first : first + at_once] @ shares
