"""Add & norm: the residual sum, then LayerNorm; the same numbers through RMSNorm and BatchNorm.

Shapes: T tokens, N tokens of several sentences, D d_model.
"""

from dataclasses import dataclass

import numpy as np
import torch

from encoder.explain import arithmetic
from encoder.explain.arithmetic import Floats
from encoder.explain.convolution import convolution
from encoder.explain.ffn import feed_forward
from encoder.explain.latex import Formula, bracketed, calculation, divisor, fraction, number, stack
from encoder.explain.place import Place
from encoder.explain.reference import Check, Recomputation
from encoder.explain.source import added_by, array, norm_of, sublayer, value
from encoder.explain.weighted_sum import output_projection
from encoder.model.config import EncoderConfig, Sublayer
from encoder.trace.trace import Trace

#: A sublayer in formulas.
FUNCTIONS: dict[Sublayer, str] = {
    "first_ffn": r"\mathrm{FFN}_1",
    "attention": r"\mathrm{Attention}",
    "convolution": r"\mathrm{Conv}",
    "cross": r"\mathrm{CrossAttention}",
    "ffn": r"\mathrm{FFN}",
    "adapter": r"\mathrm{Adapter}",
}


@dataclass(frozen=True, eq=False)
class Normalised:
    """The norm of one vector."""

    name: str
    #: The token and a component.
    place: Place
    #: "layer" or "rms".
    kind: str
    #: [D].
    input: Floats
    #: 0 for RMSNorm, which subtracts none.
    mean: float
    #: For RMSNorm the mean of the squares.
    variance: float
    eps: float
    #: [D].
    normalised: Floats
    #: [D].
    gain: Floats
    #: [D]; None without one.
    bias: Floats | None
    #: [D].
    output: Floats

    @property
    def std(self) -> float:
        """The divisor sqrt(variance + eps)."""
        return float(np.sqrt(np.float32(self.variance) + np.float32(self.eps)))

    @property
    def formula(self) -> Formula:
        """The selected component; of RMSNorm the variance is the mean of the squares."""
        i, c = self.place.query, self.place.component
        above, shift, rule = number(self.input[c]), "", r"y_i = \hat x_i \odot g"
        if self.bias is not None:
            shift, rule = rf" + {bracketed(self.bias[c])}", rule + " + b"
        if self.kind == "rms":
            first = r"\hat x_i = \frac{x_i}{\sqrt{m_i + \varepsilon}}"
            symbols: tuple[str, ...] = (first, rule, r"m_i = \frac1D \sum_d x_{i,d}^2")
        else:
            above += f" - {bracketed(self.mean)}"
            first = r"\hat x_i = \frac{x_i - \mu_i}{\sqrt{\sigma_i^2 + \varepsilon}}"
            moments = (r"\mu_i = \frac1D \sum_d x_{i,d}", r"\sigma_i^2 = \frac1D \sum_d (x_{i,d} - \mu_i)^2")
            symbols = (first, rule, *moments)
        divided = fraction(above, rf"\sqrt{{{divisor(self.variance)} + \varepsilon}}")
        scaled = rf"{bracketed(self.normalised[c])} \cdot {bracketed(self.gain[c])}{shift}"
        return Formula(
            symbols=stack(*symbols),
            # In two steps: one line would be wider than a phone.
            numbers=calculation(
                (rf"\hat x_{{{i},{c}}}", [divided, number(self.normalised[c])]),
                (rf"y_{{{i},{c}}}", [scaled, number(self.output[c])]),
            ),
        )


@dataclass(frozen=True, eq=False)
class AddNorm:
    """A sublayer with its residual connection and its norm, for one token."""

    place: Place
    part: Sublayer
    #: The order: norm -> sublayer -> add, or sublayer -> add -> norm.
    pre_norm: bool
    #: [D]: the residual stream before the sublayer.
    before: Floats
    #: [D]: the output of the sublayer.
    update: Floats
    #: [D]: their sum.
    total: Floats
    #: None where the layer has none.
    norm: Normalised | None
    #: [D]: the residual stream after the sublayer.
    after: Floats
    formula: Formula

    @property
    def growth(self) -> float:
        """Norm of the sum over the norm of the residual stream before it."""
        return float(np.linalg.norm(self.total) / max(float(np.linalg.norm(self.before)), 1e-12))

    def check(self, reference: Recomputation) -> tuple[Check, ...]:
        """The residual stream after the sublayer, the update and the norm's output, from ids and weights."""
        at = self.place
        i, index = at.query, (at.component,)
        checks = [
            reference.check("after", self.after, reference.after(at.layer, self.part)[i], index),
            reference.check("update", self.update, reference.update(at.layer, self.part)[i], index),
        ]
        if self.norm is not None:
            x = reference.norm_input(at.layer, self.part)[i : i + 1]
            out = reference.norm(x, str(reference.norm_name(at.layer, self.part)))[0]
            checks.append(reference.check("norm", self.norm.output, out, index))
            mean, variance, _ = arithmetic.normalise(x[0], self.norm.eps)
            if self.norm.kind == "rms":
                mean, variance = np.zeros_like(mean), (x[0] ** 2).mean()
            moments = [float(mean), float(np.sqrt(variance + self.norm.eps))]
            checks.append(reference.check("mean and std", [self.norm.mean, self.norm.std], moments, (0,)))
        return tuple(checks)


def normalised(trace: Trace, name: str, token: int, component: int = 0) -> Normalised:
    """One token at the norm `name` ("embedding_norm", "layers.0.ffn_norm", "final_norm", ...).

    Raises EncoderError for a norm that the model does not have.
    """
    norm = norm_of(trace, name, token)
    x = array(norm.input)
    mean, variance = float(norm.mean), float(norm.std) ** 2
    if norm.kind == "rms":
        mean, variance = 0.0, float(np.square(x).mean())
    return Normalised(
        name=name,
        place=Place(query=token, component=component),
        kind=norm.kind,
        input=x,
        mean=mean,
        variance=variance,
        eps=norm.eps,
        normalised=array(norm.normalised),
        gain=array(norm.gain),
        bias=None if norm.bias is None else array(norm.bias),
        output=array(norm.output),
    )


def add_norm(trace: Trace, place: Place, part: Sublayer) -> AddNorm:
    """The residual sum of attention, cross-attention or FFN and its norm, in the order of the model."""
    config = trace.config
    place = place.checked(config, trace.n_tokens, config.d_model)
    i, c = place.query, place.component
    before_name, after_name, name = sublayer(trace, place.layer, part)
    before, after = value(trace, before_name, i), value(trace, after_name, i)
    pre_norm = config.norm_placement == "pre"
    of_sum = trace.norm_of_sum(place.layer, part)
    total = after if of_sum is None else value(trace, f"{of_sum}.input", i)
    norm = None if name is None else normalised(trace, name, i, c)
    # An edit of what a sublayer adds is in the residual stream only; the step of the sublayer computes it unedited.
    update = total - before if trace.edits or part == "cross" else update_of(trace, place, part)
    return AddNorm(
        place=place,
        part=part,
        pre_norm=pre_norm,
        before=before,
        update=update,
        total=total,
        norm=norm,
        after=after,
        formula=_formula(place, part, config, norm is not None, before, update, total),
    )


def update_of(trace: Trace, place: Place, part: Sublayer) -> Floats:
    """[D]: what a sublayer adds for token i, computed by its own step."""
    if part == "convolution":
        return convolution(trace, place).output
    is_attention = part == "attention"
    result = output_projection(trace, place).result if is_attention else feed_forward(trace, place, part).output
    return array(added_by(trace, place.layer, part, torch.tensor(result))) if trace.config.output_norms else result


@dataclass(frozen=True, eq=False)
class NormMoments:
    """The real tokens of a sentence through three norms without gain and bias, so that only the statistics differ.

    layer: mean and variance of each token; rms: root mean square of each token; batch: mean and variance of each
    component over all tokens, as in training (in evaluation BatchNorm uses running averages).

    moments: "input", "layer", "rms", "batch" -> (mean [T], population standard deviation [T]) of every token; apart:
    largest change of the outputs of each norm when another sentence joins the batch.
    """

    moments: dict[str, tuple[Floats, Floats]]
    apart: dict[str, float]


def norm_moments(trace: Trace, neighbour: Trace, name: str) -> NormMoments:
    """A sentence through three norms at the input of the norm `name`, and the change when `neighbour` joins the batch.

    LayerNorm: Ba et al. 2016; RMSNorm: Zhang and Sennrich 2019; BatchNorm: Ioffe and Szegedy 2015, in training mode.
    """
    norms = [norm_of(one, name, slice(one.n_real)) for one in (trace, neighbour)]
    own, other = (array(norm.input) for norm in norms)
    alone, together = (three_norms(x, norms[0].eps) for x in (own, np.concatenate((own, other))))
    return NormMoments(
        moments={kind: (x.mean(axis=1), x.std(axis=1)) for kind, x in {"input": own, **alone}.items()},
        apart={kind: float(np.abs(together[kind][: len(own)] - x).max()) for kind, x in alone.items()},
    )


def three_norms(x: Floats, eps: float) -> dict[str, Floats]:
    """x [N, D] -> "layer", "rms", "batch", [N, D] each, without gain and bias."""
    small = np.float32(max(eps, 1e-12))
    return {
        "layer": arithmetic.normalise(x, eps)[2],
        "rms": x / np.sqrt((x**2).mean(axis=1, keepdims=True) + small),
        "batch": (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + small),
    }


def _formula(
    place: Place, part: Sublayer, config: EncoderConfig, has_norm: bool, before: Floats, update: Floats, total: Floats
) -> Formula:
    i, c = place.query, place.component
    name = FUNCTIONS[part]
    pre_norm = has_norm and config.norm_placement == "pre"
    # In a parallel block the FFN reads the stream before attention.
    read = r"x^{\mathrm{in}}" if config.parallel and part == "ffn" else "x"
    update_rule = rf"{name}(\mathrm{{Norm}}({read}))" if pre_norm else rf"{name}({read})"
    update_rule = rf"\mathrm{{Norm'}}({update_rule})" if config.output_norms else update_rule
    rule = rf"x \leftarrow x + {update_rule}"
    if has_norm and not pre_norm:
        rule = rf"x \leftarrow \mathrm{{Norm}}(x + {update_rule})"
    numbers = calculation(
        (rf"x_{{{i},{c}}} + u_{{{i},{c}}}", [rf"{number(before[c])} + {bracketed(update[c])}", number(total[c])])
    )
    return Formula(symbols=rule, numbers=numbers)
