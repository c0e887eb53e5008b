"""The gradients of an outcome with respect to every value of a forward pass, from one backward pass.

A gradient says how the outcome would change with a small change of the value. It is exact only there: a saturated
softmax has a small gradient whatever the value does. Attention x gradient: Barkan et al. 2021 ("Grad-SAM"; there of
positive parts). Input x gradient: Shrikumar et al. 2016. Integrated gradients: Sundararajan, Taly and Yan 2017.

Shapes: L layers, H heads, T tokens (queries i, keys j), D d_model, K width of a head.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from encoder.causal.effects import Text, plain_trace
from encoder.causal.outcomes import Outcome, as_outcome
from encoder.encoders.named import NamedEncoder
from encoder.encoders.text import of_text
from encoder.errors import EncoderError
from encoder.model.attend import Memory
from encoder.model.device import explain_out_of_memory
from encoder.similarity.of_class import Integrated, iter_integrate
from encoder.similarity.paths import Reference
from encoder.trace import gradual
from encoder.trace.capture import record
from encoder.trace.trace import Trace

#: What is recorded besides the usual values.
POINTS = ("scores", "pattern", "z", "attention_out", "ffn_out")


@dataclass(frozen=True, eq=False, repr=False)
class Gradients:
    """Of one outcome on one input. outcome: its value; of: hook point -> its gradient ("embedding", "layers.0.q",
    "layers.0.pattern", "layers.0.after_ffn", ...); recorded: hook point -> the value itself."""

    trace: Trace
    outcome: float
    of: Mapping[str, Tensor]
    recorded: Mapping[str, Tensor]

    def __repr__(self) -> str:
        return f"<Gradients of an outcome of {self.outcome:.4g} for {len(self.of)} values of {len(self.trace)} tokens>"

    def stack(self, point: str) -> Tensor:
        """[L, ...]: the gradients of a hook point that every layer has, such as "z" or "ffn_out"."""
        return torch.stack([self.of[f"layers.{layer}.{point}"] for layer in range(self.trace.config.n_layers)])

    @property
    def q(self) -> Tensor:
        """[L, H, T, K]"""
        return self.stack("q")

    @property
    def k(self) -> Tensor:
        """[L, H, T, K]"""
        return self.stack("k")

    @property
    def v(self) -> Tensor:
        """[L, H, T, K]"""
        return self.stack("v")

    @property
    def attentions(self) -> Tensor:
        """[L, H, T, T]: of each attention weight, as if the others of its row stayed as they are."""
        return self.stack("pattern")

    @property
    def attention_x_gradient(self) -> Tensor:
        """[L, H, T, T]: each weight times its gradient, with its sign."""
        return self.trace.attentions * self.attentions

    @property
    def residual(self) -> Mapping[str, Tensor]:
        """Of the residual stream, by the names of `trace.residual`, [T, D] each."""
        return {name: self.of[name] for name in self.trace.residual}

    @property
    def embedding(self) -> Tensor:
        """[T, D]: of the embeddings as they enter the first layer."""
        return self.of["embedding"]

    @property
    def input_x_gradient(self) -> Tensor:
        """[T]: the embedding of each token times its gradient, summed over D."""
        return (self.trace.values["embedding"] * self.embedding).sum(dim=-1)


def gradients(model: NamedEncoder, given: Text, outcome: Outcome | str) -> Gradients:
    """The gradients of an outcome of `encoder.causal` with respect to every recorded value.

    given: a text, or the trace of any input; edits of a trace hold. Memory grows with L x H x T^2. Raises EncoderError
    for an outcome that does not fit, and for one whose gradient is 0 by its definition: the cosine of an unedited
    vector to itself is at its largest value.
    """
    if not isinstance(model, NamedEncoder):
        raise EncoderError("This trace has no model, which an outcome needs: open it with open_trace(file, model).")
    trace = plain_trace(model, given).unpadded
    measure = as_outcome(outcome).on(model, trace)
    encoder = model.encoder
    start, memory = trace.values["embedding"].detach().clone().requires_grad_(), trace.memory
    points = POINTS if memory is None else (*POINTS, "cross.scores", "cross.pattern", "cross.z", "cross_out")
    inside = explain_out_of_memory(model.device, len(trace))
    with inside, torch.inference_mode(False), torch.enable_grad(), record(trace.applied, points) as recorder:
        if memory is not None:
            memory = Memory(memory.vectors.detach().clone().requires_grad_(), memory.mask)
        last = encoder.config.n_layers
        x = torch.cat((start, trace.whole_streams[0][:, start.shape[1] :]), dim=-1)  # a stream of boxes as it is
        output = encoder.before_layer(last, x.unsqueeze(0), memory=memory, places=trace.places)
        value = measure(output)[0]
        recorded = {name: one for name, one in recorder.values.items() if one.requires_grad}
        found = torch.autograd.grad(value, [start, *recorded.values()], allow_unused=True)
    whole = {"embedding": found[0]} | {
        name: torch.zeros_like(one[0]) if gradient is None else gradient[0]
        for (name, one), gradient in zip(recorded.items(), found[1:], strict=True)
    }
    flat = float(found[0].abs().max()) if found[0] is not None else 0.0
    if not trace.edits and flat < FLAT and type(as_outcome(outcome)).code in ("sentence", "token"):
        raise EncoderError(
            "The cosine of an unedited vector to itself is at its largest value, so every gradient is 0: choose "
            "Similarity, MaskedWord, ClassProbability or an outcome of your own."
        )
    return Gradients(trace, float(value.detach()), whole, {name: one[0].detach() for name, one in recorded.items()})


#: Gradients of a cosine at its largest value are rounding.
FLAT = 1e-4


def integrated_gradients(
    model: NamedEncoder, given: Text, outcome: Outcome | str, reference: Reference = "pad"
) -> Integrated:
    """Integrated gradients of an outcome by input token: values [T] that add up to the outcome minus the reference's.

    reference: "pad": special tokens stay, and every other becomes padding; "zero": all vectors are 0. Raises
    EncoderError as `encoder.similarity.iter_attribute_class`.
    """
    model = of_text(model, "integrated gradients need a text.")
    trace = plain_trace(model, given).unpadded
    assert trace.source is not None
    measure, n_layers = as_outcome(outcome).on(model, trace), model.config.n_layers

    def measured(x: Tensor) -> Tensor:
        return measure(model.encoder.before_layer(n_layers, x, places=trace.places))

    return gradual.result(iter_integrate(model, trace.source, measured, reference))
