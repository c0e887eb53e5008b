"""The cost of a sentence: FLOPs, memory and weights as formulas and numbers.

A multiplication and an addition count as two FLOPs, as in torch's counter. Matrix products are counted exactly,
element-wise operations by the convention in ELEMENTWISE.

Shapes: n tokens, L layers, H heads, D d_model, K width of a head, F width of the FFN, E width of the tables.
"""

import math
from dataclasses import dataclass, replace

from encoder.model.config import EncoderConfig

#: FLOPs per number. softmax: maximum, difference, exponential, sum, quotient; norm: mean, difference, square, sum,
#: quotient, gain, bias; gelu as x times half of (1 + erf(x / sqrt 2)).
ELEMENTWISE = {
    "softmax": 5, "norm": 7, "relu": 1, "relu2": 2, "silu": 4, "gelu": 5, "gelu_tanh": 8, "gelu_rounded": 8,
    "quick_gelu": 5, "add": 1,
}  # fmt: skip

#: Number types by the name of their torch type: bytes of one number.
BYTES = {"torch.float32": 4, "torch.float16": 2, "torch.bfloat16": 2}

Symbol = tuple[str, int]


@dataclass(frozen=True)
class Term:
    """A cost as a formula and as a value: coefficient x factors, each a symbol with its number."""

    coefficient: int
    factors: tuple[tuple[str, int], ...]

    @property
    def value(self) -> int:
        """The product."""
        return self.coefficient * math.prod(number for _, number in self.factors)

    @property
    def symbols(self) -> str:
        r"""LaTeX with repeated factors as powers: "4\,n^2\,HK"."""
        names = [name for name, _ in self.factors]
        unique = list(dict.fromkeys(names))
        powers = [name if names.count(name) == 1 else f"{name}^{{{names.count(name)}}}" for name in unique]
        return r"\,".join(([] if self.coefficient == 1 else [str(self.coefficient)]) + powers)

    @property
    def numbers(self) -> str:
        r"""LaTeX of the numbers: "4 \cdot 9^2 \cdot 384"."""
        unique = list(dict.fromkeys(self.factors))
        counts = [self.factors.count(factor) for factor in unique]
        powers = [
            _grouped(number) if count == 1 else f"{_grouped(number)}^{{{count}}}"
            for (_, number), count in zip(unique, counts, strict=True)
        ]
        return r" \cdot ".join(([] if self.coefficient == 1 else [str(self.coefficient)]) + powers)


@dataclass(frozen=True)
class CostPart:
    """One part of a layer. work: FLOPs for all n tokens; memory: bytes of its output; product: whether it is a matrix
    product; power: 1 or 2, how its work grows with n."""

    key: str
    title: str
    work: Term
    memory: Term
    product: bool

    @property
    def flops(self) -> int:
        """For all n tokens."""
        return self.work.value

    @property
    def bytes(self) -> int:
        """Bytes of its output."""
        return self.memory.value

    @property
    def power(self) -> int:
        """How the FLOPs grow with n."""
        return [name for name, _ in self.work.factors].count("n")


@dataclass(frozen=True)
class Cost:
    """A whole forward pass of one sentence.

    parts: of one layer, with experts where only some have them; n_plain, plain_flops: the number of layers without, and
    the FLOPs of each; around: FLOPs before and after the layers (projection of narrow tables, pooler); weights: bytes
    of all weights; maps: bytes of all attention maps written out; stream: bytes of the residual stream.
    """

    n_tokens: int
    n_layers: int
    parts: tuple[CostPart, ...]
    n_plain: int
    plain_flops: int
    around: int
    weights: int
    maps: int
    stream: int

    @property
    def layer_flops(self) -> int:
        """FLOPs of one layer."""
        return sum(part.flops for part in self.parts)

    @property
    def flops(self) -> int:
        """FLOPs of the whole forward pass."""
        return self.around + (self.n_layers - self.n_plain) * self.layer_flops + self.n_plain * self.plain_flops

    def products(self, power: int) -> int:
        """FLOPs of one layer's matrix products that grow with n to this power."""
        return sum(part.flops for part in self.parts if part.product and part.power == power)


def layer_parts(config: EncoderConfig, n_tokens: int, bytes_each: int = 4) -> tuple[CostPart, ...]:
    """One layer, part by part. Scores count for every pair of tokens, masked or not, as the model computes them. F: of
    the experts that a token uses."""
    n, d, f, h = ("n", n_tokens), ("D", config.d_model), ("F", config.used_ffn), ("H", config.n_heads)
    inner = ("HK", config.n_heads * config.d_head)
    seen = ("b", min(config.attention_block, n_tokens)) if config.attention_block else n
    maps = 3 if config.gated else 2
    act = ELEMENTWISE[config.activation] + (1 if config.gated else 0)

    def part(key: str, title: str, work: Term, kept: Term, product: bool = True) -> CostPart:
        return CostPart(key, title, work, Term(bytes_each * kept.coefficient, kept.factors), product)

    ffns, adds, norms, often = 1, 2, 2, "twice"
    module: tuple[CostPart, ...] = ()
    if config.conformer is not None:
        ffns, adds, norms, often = 2, 4, 5, "four and five times"
        kernel, ends = ("k", config.conformer.kernel), ELEMENTWISE["norm"] + ELEMENTWISE[config.activation]
        wider = config.conformer.expansion
        c = d if wider == 1 else ("C", wider * config.d_model)
        module = (
            part("convolution maps", "Maps of the convolution", Term(6, (n, d, c)), Term(3, (n, c))),
            part("convolution", "Convolution over tokens", Term(2, (n, kernel, c)), Term(1, (n, c)), False),
            part("channels", "Norm and activation of channels", Term(ends, (n, c)), Term(1, (n, c)), False),
        )
    distances: tuple[CostPart, ...] = ()
    if config.distance_keys is not None:
        made = Term(4, (n, d, inner)), Term(2, (n, inner))
        from_sines = (part("distance keys", "Keys of distances", *made),) if not config.distance_keys.rows else ()
        distances = (
            *from_sines,
            part("distances", "Products with keys of distances", Term(4, (n, seen, inner)), Term(1, (h, n, seen))),
        )
    own = (
        part("qkv", "Queries, keys, values", *qkv_terms(config, n, d, inner)),
        part("scores", "Scores q·k", Term(2, (n, seen, inner)), Term(1, (h, n, seen))),
        *distances,
        part("softmax", "Softmax", Term(ELEMENTWISE["softmax"], (h, n, seen)), Term(1, (h, n, seen)), False),
        part("mixing", "Weighted sum α·v", Term(2, (n, seen, inner)), Term(1, (n, inner))),
        part("output", "Output projection W_O", Term(2, (n, inner, d)), Term(1, (n, d))),
        *module,
        part("ffn", "Feed-forward matrices", Term(2 * maps * ffns, (n, d, f)), Term(ffns, (n, d))),
        part("activation", "Activation", Term(act * ffns, (n, f)), Term((maps - 1) * ffns, (n, f)), False),
        part(
            "norms",
            f"Add & norm, {often}",
            Term(norms * ELEMENTWISE["norm"] + adds, (n, d)),
            Term(norms, (n, d)),
            False,
        ),
    )
    if config.beside is None:
        return own
    of_boxes = layer_parts(config.beside, n_tokens, bytes_each)  # with the softmax of the text's stream
    return own + tuple(
        replace(one, title=f"{one.title}, boxes", work=_primed(one.work), memory=_primed(one.memory))
        for one in of_boxes
        if one.key != "softmax"
    )


def _primed(term: Term) -> Term:
    """The same with the widths of the stream of boxes: D', HK', F'."""
    return replace(term, factors=tuple((name if name in "nH" else f"{name}'", count) for name, count in term.factors))


def qkv_terms(config: EncoderConfig, n: Symbol, d: Symbol, inner: Symbol) -> tuple[Term, Term]:
    """Work and output of the maps to queries, keys and values; G heads of keys and values where heads share them."""
    if config.n_kv_heads == config.n_heads:
        return Term(6, (n, d, inner)), Term(3, (n, inner))
    width = ("(H{+}2G)K", inner[1] + 2 * config.n_kv_heads * config.d_head)
    return Term(2, (n, d, width)), Term(1, (n, width))


def cost(config: EncoderConfig, n_tokens: int, n_parameters: int, bytes_each: int = 4) -> Cost:
    """The cost of one sentence of `n_tokens`. bytes_each: of one number (2 for bfloat16)."""
    around = 0
    if config.embedding_width != config.d_model:
        around += 2 * n_tokens * config.embedding_width * config.d_model
    if config.patches is not None:
        pixels = config.patches.channels * config.patches.patch_size**2
        around += 2 * config.patches.count * pixels * config.embedding_width
    if config.spectrogram is not None:
        around += 2 * config.spectrogram.count * config.spectrogram.patch_size**2 * config.embedding_width
    if config.convolutions is not None:
        around += config.convolutions.flops(n_tokens, config.embedding_width)
    if config.frames is not None:
        around += config.frames.flops(n_tokens, config.embedding_width)
    if config.position == "convolutional":
        group = config.embedding_width // config.position_groups
        convolutions = max(1, config.position_layers)
        around += 2 * n_tokens * config.embedding_width * group * config.position_kernel * convolutions
    if config.pooler:
        around += 2 * config.d_model**2
    if config.beside is not None:
        around += 2 * n_tokens * config.embedding_width * config.beside.d_model
    kinds = [config.of_layer(layer) for layer in range(config.n_layers)]
    plain = [one for one in kinds if config.experts is not None and one.experts is None]
    return Cost(
        n_tokens=n_tokens,
        n_layers=config.n_layers,
        parts=layer_parts(config, n_tokens, bytes_each),
        n_plain=len(plain),
        plain_flops=sum(part.flops for part in layer_parts(plain[0], n_tokens)) if plain else 0,
        around=around,
        weights=bytes_each * n_parameters,
        maps=bytes_each * config.n_layers * config.n_heads * n_tokens**2,
        stream=bytes_each * n_tokens * config.d_model * (2 * config.n_layers + 1),
    )


@dataclass(frozen=True)
class Crossover:
    """The length at which the matrix products that grow with n^2 cost as much as those that grow with n."""

    n_tokens: float
    formula: str
    numbers: str


def crossover(config: EncoderConfig) -> Crossover:
    """4 n^2 HK = 4 n D (H + G) K + 4 n D F (6 with a gate): 6 D for G = H, HK = D and F = 4 D.

    With a stream of boxes whose widths are r times smaller, the left side x (1 + 1/r), the right x (1 + 1/r^2).
    """
    d, f, h, g, k = config.d_model, config.used_ffn, config.n_heads, config.n_kv_heads, config.d_head
    ffn = 6 if config.gated else 4
    projections, ffn_share = d * (h + g) / h, ffn / 4 * d * f / (h * k)
    n = projections + ffn_share
    gate = "" if ffn == 4 else r"1.5\, "
    if config.boxes is not None and (r := config.boxes.shrink):
        factor, symbol = (1 + r**-2) / (1 + 1 / r), r"\frac{1 + r^{-2}}{1 + r^{-1}}"
        return Crossover(
            n * factor,
            rf"\begin{{gathered}} 4\,n^2 H K\,(1 {{+}} r^{{-1}}) = (4\,n\,D (H {{+}} G) K + {ffn}\,n\,D F)\,"
            rf"(1 {{+}} r^{{-2}}) \\[6pt] \Longleftrightarrow\; n = (D (H {{+}} G) / H + {gate} D F / (H K))\,{symbol} "
            rf"\end{{gathered}}",
            rf"n = ({_grouped(round(projections))} + {_grouped(round(ffn_share))}) \cdot "
            rf"\frac{{1 + {r}^{{-2}}}}{{1 + {r}^{{-1}}}} = {_grouped(round(n * factor))}",
        )
    return Crossover(
        n,
        rf"\begin{{gathered}} 4\,n^2 H K = 4\,n\,D (H {{+}} G) K + {ffn}\,n\,D F \\[6pt] \Longleftrightarrow\; "
        rf"n = D (H {{+}} G) / H + {gate} D F / (H K) \end{{gathered}}",
        rf"n = {_grouped(round(projections))} + {_grouped(round(ffn_share))} = {_grouped(round(n))}",
    )


def _grouped(number: int) -> str:
    """A whole number with thousands separators, as LaTeX."""
    return f"{number:,}".replace(",", r"{,}")
