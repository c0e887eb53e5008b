"""The numbers that a question can ask for, each computed from the model at that moment.

A lesson names one as a mapping with its arguments: `{weight: {query: it, key: animal}}`. One function here is one
quantity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from encoder import EncoderError, Trace, causal, scores
from encoder.edits import AblateHead, Edit
from encoder.errors import quoted
from encoder.explain import cost as costs
from encoder.explain.arithmetic import cosine
from encoder.measure import heads, norm_weighting, norms, residual_stream
from encoder.measure.head_definitions import HEAD_MEASURES
from encoder.trace import tokens
from encoder.trace.decoder import DecoderTrace
from pages.core.stores import cache
from pages.core.stores.cache import StoredRun
from pages.core.words import token_names


class QuestionError(EncoderError):
    """A fault in a question or an answer: what is wrong, and what to write instead."""


#: What values that no lesson has raise where they are used.
FAULTS = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)


def one_of(name: str, value: object, known: Iterable[str]) -> None:
    """Raise QuestionError for a value that is none of the known ones. name: of the field, for the error."""
    if value not in (known := tuple(known)):
        raise QuestionError(f"{name} is one of {', '.join(known)}, not {value!r}.")


@dataclass(frozen=True)
class Look(StoredRun):
    """What a question is about: a text in a model, and a head of it."""

    @property
    def layer(self) -> int:
        """The layer of the head."""
        return self.run.place.layer or 0

    @property
    def head(self) -> int:
        """The head."""
        return self.run.place.head or 0

    @property
    def names(self) -> list[str]:
        """Names of all tokens, with their position where a text occurs more than once."""
        labels = list(self.trace.labels)
        return [label + token_names.which(labels, position) for position, label in enumerate(labels)]

    def token(self, name: str | int) -> int:
        """The position of a token: its number, its text (the first of several), or both, as in “mat (6)”.

        Raises QuestionError.
        """
        labels = list(self.trace.labels)
        if not isinstance(name, int | str):
            raise QuestionError(f"A token is its text or its position, not {quoted(name)}.")
        if isinstance(name, int):
            if 0 <= name < len(labels):
                return name
            raise QuestionError(f"No token {name} in this text: choose 0 to {len(labels) - 1}.")
        folded = [label.casefold() for label in labels]
        if name.casefold() in folded:
            return folded.index(name.casefold())
        both = [f"{label} ({position})" for position, label in enumerate(folded)]
        if name.casefold() in both:
            return both.index(name.casefold())
        raise QuestionError(f"No token “{name}” in this text. Its tokens: {', '.join(labels)}.")

    def at(self, layer: int | None, head: int | None = None) -> Look:
        """The same text at another layer and head. Raises QuestionError outside of the model."""
        config = self.loaded.config
        if any(not isinstance(one, int | None) for one in (layer, head)):
            raise QuestionError(f"A layer and a head are whole numbers, not {quoted(layer)} and {quoted(head)}.")
        new = self.but(layer=self.layer if layer is None else layer, head=self.head if head is None else head)
        if not (0 <= new.layer < config.n_layers and 0 <= new.head < config.n_heads):
            raise QuestionError(
                f"No head L{new.layer} H{new.head}: this model has layers 0 to {config.n_layers - 1} and heads 0 to "
                f"{config.n_heads - 1}."
            )
        return new

    def about(self, text: str | None) -> Look:
        """The same place with another text, or with its own."""
        return self if text is None else super().about(text)

    def padded(self, length: int) -> Look:
        """The same text, padded to a number of tokens."""
        return self.but(pad_to=length, padding=True)

    def row(self, query: str | int) -> np.ndarray:
        """Attention of a query over all tokens, [T] in float64."""
        i = self.token(query)
        return self.trace.attention(self.layer, self.head, queries=slice(i, i + 1))[0].double().cpu().numpy()


@dataclass(frozen=True)
class Quantity:
    """A number with a name. formula: LaTeX, or "" where the name says all; per_head: whether it depends on layer and
    head."""

    name: str
    function: Callable[..., float]
    formula: str
    per_head: bool

    @property
    def label(self) -> str:
        """The name as a reader sees it."""
        return LABELS.get(self.name, self.name.replace("_", " "))

    @property
    def equation(self) -> str:
        """The formula with what it computes on the left, as LaTeX; "" without a formula."""
        if not self.formula or "=" in self.formula:
            return self.formula
        return rf"\text{{{self.label.replace('−', '-')}}} = {self.formula}"


@dataclass(frozen=True)
class Asked:
    """A quantity with its arguments."""

    quantity: Quantity
    arguments: Mapping[str, Any]

    @property
    def title(self) -> str:
        """What the number is, in words."""
        by_name = {measure.name: measure for measure in HEAD_MEASURES}
        if self.quantity.name == "head_measure" and (found := by_name.get(str(self.arguments.get("name")))):
            of_weights = "mean weight " if found.title.startswith("On ") else ""
            return f"{of_weights}{found.title.lower()} ({found.unit})"
        if self.quantity.name == "config":
            return SIZES.get(str(self.arguments.get("field")), self.quantity.label)
        named = [name for name in map(self.arguments.get, ("query", "key")) if isinstance(name, str)]
        return self.quantity.label + (f": “{'” to “'.join(named)}”" if named else "")

    def value(self, look: Look) -> float:
        """The number. Raises QuestionError if the arguments do not fit the text or the model."""
        arguments = dict(self.arguments)
        look = look.about(arguments.pop("text", None)).at(arguments.pop("layer", None), arguments.pop("head", None))

        def compute() -> float:
            try:
                return float(self.quantity.function(look, **arguments))
            except EncoderError:
                raise
            except FAULTS as error:
                raise QuestionError(f"{self.quantity.name} got wrong arguments: {error}.") from error

        # Every screen of a class asks for the same number, and the wall and the desk again with each answer.
        name = "quantity", self.quantity.name, repr(arguments), look.run
        return cache.computed(name, compute)  # type: ignore[no-any-return]


QUANTITIES: dict[str, Quantity] = {}
#: Quantities that no text changes: arithmetic with given numbers, and numbers of the model.
OF_NO_TEXT = frozenset(
    ("config", "dot_variance", "layer_flops", "n_parameters", "query_components", "softmax", "weighted_sum")
)
#: Pairs of random vectors in one simulation.
PAIRS = 20_000
#: Quantities between 0 and 1.
SHARES = frozenset(
    "causal_weight cross_weight decoder_weight norm_weighted on_later_tokens on_padding on_special_tokens "
    "softmax weight written_probability".split()
)
#: What a reader sees where the name of a quantity is an abbreviation.
LABELS = {
    "n_tokens": "tokens",
    "n_pieces": "tokens",
    "n_parameters": "parameters",
    "norm_std": "standard deviation",
    "norm_mean": "mean",
    "layer_flops": "FLOPs",
    "dot_variance": "variance",
    "weighted_sum": "sum",
    "on_special_tokens": "share on special tokens",
    "on_later_tokens": "share on later tokens",
    "on_padding": "share on padding",
    "norm_weighted": "norm-weighted share",
    "query_components": "components that enter the query",
    "stream_growth": "growth of the residual stream (factor)",
    "token_cosine": "cosine",
    "sentence_cosine": "cosine",
    "pooled_cosine": "cosine",
    "padding_cosine": "cosine",
    "transformed_norm": "norm of the transformed value",
    "update": "relative update",
    "missed": "1 − cosine without the head",
    "missed_word": "fall of the probability",
    "missed_output": "fall of the log probability",
    "word_effect": "fall of the cosine without the word",
    "pair_share": "part of the cosine",
    "written_probability": "probability of the output",
}
#: What a reader sees of the sizes of a model.
SIZES = {
    "d_model": "numbers in a token's vector (d_model)",
    "d_head": "numbers in a query of one head (d_k)",
    "d_ffn": "components of the hidden layer (d_ffn)",
}


def _quantity(formula: str = "", *, per_head: bool = False) -> Callable[[Callable[..., float]], Callable[..., float]]:
    def register(function: Callable[..., float]) -> Callable[..., float]:
        name = function.__name__.strip("_")
        QUANTITIES[name] = Quantity(name, function, formula, per_head)
        return function

    return register


def read_quantity(written: object) -> Asked:
    """The quantity that a lesson names, `{name: arguments}` or a name only. Raises QuestionError."""
    if isinstance(written, str):
        written = {written: {}}
    if not isinstance(written, Mapping) or len(written) != 1:
        raise QuestionError(f"A quantity is one name with its arguments, not {written!r}.")
    ((name, arguments),) = written.items()
    if name not in QUANTITIES:
        raise QuestionError(f"No quantity “{name}”: choose {', '.join(QUANTITIES)}.")
    arguments = {} if arguments is None else arguments
    if not isinstance(arguments, Mapping) or not all(isinstance(key, str) for key in arguments):
        raise QuestionError(f"The arguments of {name} are names with values, not {arguments!r}.")
    return Asked(QUANTITIES[name], dict(arguments))


@_quantity(r"\alpha_{ij} = \mathrm{softmax}_j\big(q_i \cdot k_j / \sqrt{d_k}\big)", per_head=True)
def _weight(look: Look, query: str | int, key: str | int) -> float:
    return float(look.row(query)[look.token(key)])


@_quantity(r"q_i \cdot k_j / \sqrt{d_k}", per_head=True)
def _score(look: Look, query: str | int, key: str | int) -> float:
    i, j = look.token(query), look.token(key)
    return float(look.trace.scores(look.layer, look.head, slice(i, i + 1), slice(j, j + 1))[0, 0])


@_quantity(r"-\sum_j \alpha_{ij} \ln \alpha_{ij}", per_head=True)
def _row_entropy(look: Look, query: str | int) -> float:
    row = look.row(query)
    return -float(np.sum(row * np.log(row, out=np.zeros_like(row), where=row > 0)))


@_quantity(r"\sum_{j\ \mathrm{special}} \alpha_{ij}", per_head=True)
def _on_special_tokens(look: Look, query: str | int) -> float:
    return float(look.row(query)[np.array(tokens.is_special(look.trace))].sum())


@_quantity(r"\sum_{j > i} \alpha_{ij}", per_head=True)
def _on_later_tokens(look: Look, query: str | int) -> float:
    return float(look.row(query)[look.token(query) + 1 :].sum())


@_quantity(r"\mathrm{softmax}_{j \le i}\big(q_i \cdot k_j / \sqrt{d_k}\big)", per_head=True)
def _causal_weight(look: Look, query: str | int, key: str | int) -> float:
    i, j = look.token(query), look.token(key)
    scores = look.trace.scores(look.layer, look.head, slice(i, i + 1), slice(0, i + 1))[0]
    return 0.0 if j > i else _softmax(look, scores.tolist(), j)


@_quantity(r"\sum_{j\ \mathrm{padding}} \alpha_{ij}", per_head=True)
def _on_padding(look: Look, query: str | int, length: int) -> float:
    return float(look.padded(length).row(query)[look.trace.n_tokens :].sum())


@_quantity(r"\alpha_{ij} \lVert f(x_j) \rVert \,/ \sum_j \alpha_{ij} \lVert f(x_j) \rVert", per_head=True)
def _norm_weighted(look: Look, query: str | int, key: str | int) -> float:
    i = look.token(query)
    shares = norm_weighting.norm_weighted_shares(look.trace, look.layer, look.head, slice(i, i + 1))
    return float(shares[0, look.token(key)])


@_quantity(per_head=True)
def _head_measure(look: Look, name: str) -> float:
    one_of("name", name, (measure.name for measure in HEAD_MEASURES))
    found = look.derived(("question", "head measures"), heads)
    return float(found[name][look.layer, look.head])


@_quantity(r"1 - \cos(s, s_{\mathrm{without\ the\ head}})", per_head=True)
def _missed(look: Look) -> float:
    return _fall(look, causal.SentenceVector())


@_quantity("p - p_{\\mathrm{without\\ the\\ head}}", per_head=True)
def _missed_word(look: Look, word: str) -> float:
    """The probability that a word behind the mask token loses without the head."""
    return _fall(look, causal.MaskedWord(word, scale="probability"))


def _fall(look: Look, outcome: causal.Outcome) -> float:
    """By how much the outcome falls without the head."""
    effects = look.derived(
        ("question", "effects", outcome), lambda trace: causal.ablate_each_head(look.loaded, trace, outcome)
    )
    return -float(effects[look.layer, look.head])


@_quantity()
def _n_tokens(look: Look) -> float:
    return look.trace.n_tokens


@_quantity()
def _n_pieces(look: Look) -> float:
    return look.trace.n_tokens - sum(tokens.is_special(look.trace))


@_quantity(r"\frac{e_a \cdot e_b}{|e_a|\,|e_b|}")
def _sentence_cosine(look: Look, other: str) -> float:
    one, two = look.loaded.embed([look.text, other]).double().cpu().numpy()
    return cosine(one, two)


@_quantity(r"\frac{x \cdot y}{|x|\,|y|}")
def _token_cosine(look: Look, token: str | int, other: str, other_token: str | int) -> float:
    second = look.about(other)
    x = _stream_after(look.trace, look.layer)[look.token(token)]
    y = _stream_after(second.trace, look.layer)[second.token(other_token)]
    return cosine(x, y)


@_quantity(r"|f(x)| / |x|,\ \text{mean over tokens}")
def _update(look: Look, sublayer: str) -> float:
    found = look.derived(("question", "stream"), residual_stream.measure)
    updates = {"attention": found.attention_update, "ffn": found.ffn_update}
    one_of("sublayer", sublayer, updates)
    return float(updates[sublayer][look.layer])


@_quantity(r"e^{s_j} / \sum_k e^{s_k}")
def _softmax(look: Look, scores: Sequence[float], at: int) -> float:
    powers = np.exp(np.asarray(scores, dtype=np.float64) - max(scores))
    return float(powers[at] / powers.sum())


@_quantity()  # arithmetic with given numbers, of which a sum of values is only one case
def _weighted_sum(look: Look, weights: Sequence[float], values: Sequence[float]) -> float:
    return float(np.dot(weights, values))


@_quantity(r"\mathrm{Var}(q \cdot k)")
def _dot_variance(look: Look, width: int, seed: int = 0, pairs: int = PAIRS, scale: float = 1.0) -> float:
    """The variance of the dot products of random q and k, whose components are independent with variance 1."""
    if not (1 <= width <= 256 and 2 <= pairs <= PAIRS):
        raise QuestionError(f"width is 1 to 256, pairs at most {PAIRS:,}.")
    return scale**2 * _variance_of_products(width, seed, pairs)


@lru_cache(maxsize=64)  # a tenth of a second, several times in each list of questions
def _variance_of_products(width: int, seed: int, pairs: int) -> float:
    q, k = np.random.default_rng(seed).standard_normal((2, pairs, width))
    return float(np.var((q * k).sum(axis=1)))


@_quantity(r"\lVert (x_j W_V + b_V)\,W_O \rVert", per_head=True)
def _transformed_norm(look: Look, key: str | int) -> float:
    return float(norm_weighting.value_output(look.trace, look.layer, look.head)[look.token(key)].norm())


@_quantity(per_head=True)
def _query_components(look: Look) -> float:
    """How many components of a token's vector enter the query of a head."""
    config = look.loaded.config
    rows = look.trace.encoder.block(look.layer).attention.w_q.weight[look.head * config.d_head :][: config.d_head]
    return int((rows != 0).any(dim=0).sum())


@_quantity(r"\cos(s, \mathrm{pooled})")
def _pooled_cosine(look: Look, rule: str) -> float:
    """The cosine of the sentence vector and a pooling of the last layer: mean, words (without special tokens), cls."""
    special = np.array(tokens.is_special(look.trace))
    chosen = {"mean": special | True, "words": ~special, "cls": np.arange(len(special)) == 0}
    one_of("rule", rule, chosen)
    (vector,) = look.loaded.embed([look.text]).double().cpu().numpy()
    return cosine(vector, look.trace.values["output"].double().cpu().numpy()[chosen[rule]].mean(axis=0))


@_quantity(r"\cos(s, s_{\mathrm{padded}})")
def _padding_cosine(look: Look, length: int) -> float:
    real = [
        one.trace.values["output"].double().cpu().numpy()[: look.trace.n_tokens] for one in (look, look.padded(length))
    ]
    return cosine(*(one.mean(axis=0) for one in real))


@_quantity(r"|x_{\mathrm{out}}| / |x_{\mathrm{in}}|,\ \text{mean over tokens}")
def _stream_growth(look: Look) -> float:
    return look.derived(("question", "stream"), residual_stream.measure).growth


@_quantity(r"\sigma(x),\ \text{over the components of one token}")
def _norm_std(look: Look, token: str | int, norm: str, side: str) -> float:
    return _norm_statistic(look, token, norm, side, 1)


@_quantity(r"\mu(x),\ \text{over the components of one token}")
def _norm_mean(look: Look, token: str | int, norm: str, side: str) -> float:
    return _norm_statistic(look, token, norm, side, 0)


def _norm_statistic(look: Look, token: str | int, norm: str, side: str, which: int) -> float:
    """which: 0 the mean, 1 the standard deviation; side: before or after the norm."""
    found = look.derived(("question", "norms"), norms.statistics)
    one_of("norm", norm, found.names)
    one_of("side", side, ("before", "after"))
    return float(getattr(found, side)[which][found.names.index(norm), look.token(token)])


@_quantity()
def _layer_flops(look: Look, n: int, part: str = "all") -> float:
    parts = {one.key: one.flops for one in costs.layer_parts(look.loaded.config, n)}
    one_of("part", part, ("all", *parts))
    return sum(parts.values()) if part == "all" else parts[part]


@_quantity()
def _token_id(look: Look, token: str | int) -> float:
    source = look.trace.source
    assert source is not None
    return source.ids[look.token(token)]


@_quantity()
def _n_parameters(look: Look) -> float:
    return look.loaded.n_parameters


@_quantity()
def _config(look: Look, field: str) -> float:
    value = getattr(look.loaded.config, field, None)
    if not isinstance(value, int):
        raise QuestionError(f"No number “{field}” in this model's configuration.")
    return value


# --- the score of two texts ------------------------------------------------------------------------------------------


@_quantity()
def _word_effect(look: Look, other: str, word: str) -> float:
    """What the score with another text loses without a word of this text."""
    words = scores.explain_score(look.loaded, look.trace.source.text, other).words_a
    return words[_word([one.word for one in words], word)].effect


@_quantity()
def _pair_share(look: Look, other: str, word: str, its_word: str) -> float:
    """What a word of the text and a word of another text add to the cosine of the two texts."""
    why = scores.explain_score(look.loaded, look.trace.source.text, other)
    a, b = (list(side.labels) for side in why.source.sides)
    return float(why.pairs[_word(a, word), _word(b, its_word)])


def _word(words: list[str], word: str) -> int:
    """The place of a word. Raises QuestionError."""
    folded = [one.casefold() for one in words]
    if word.casefold() not in folded:
        raise QuestionError(f"No word “{word}” in this text. Its words: {', '.join(words)}.")
    return folded.index(word.casefold())


# --- what a decoder writes; `at` counts the tokens of the output from 0 -----------------------------------------------


@_quantity(r"\alpha_{tj} = \mathrm{softmax}_j\big(q_t \cdot k_j / \sqrt{d_k}\big)", per_head=True)
def _cross_weight(look: Look, target: str, at: int, key: str | int) -> float:
    return float(cross_row(look, target, at)[look.token(key)])


def cross_row(look: Look, target: str, at: int) -> np.ndarray:
    """[S] float64: what a token of the output attends to in the input."""
    decoder = _decoded(look, target)
    return decoder.cross_attention(look.layer, look.head)[decoder.output_rows][at].double().cpu().numpy()


@_quantity(r"\alpha_{ij} = \mathrm{softmax}_{j \le i}\big(q_i \cdot k_j / \sqrt{d_k}\big)", per_head=True)
def _decoder_weight(look: Look, target: str, query: int, key: int) -> float:
    """Self-attention of the decoder between the tokens before the one that it writes: 0 is its start."""
    return float(decoder_row(look, target, query)[key])


def decoder_row(look: Look, target: str, query: int) -> np.ndarray:
    """[T] float64: what a token of the decoder attends to among the decoder's own."""
    return _decoded(look, target).attention(look.layer, look.head)[query].double().cpu().numpy()


def decoder_names(look: Look, target: str) -> list[str]:
    """The tokens before each one that the decoder writes, with their numbers."""
    return [f"{place} {label}" for place, label in enumerate(_decoded(look, target).labels)]


@_quantity(r"p(y_t \mid y_{<t}, x)")
def _written_probability(look: Look, target: str, at: int | None = None, reads: str | None = None) -> float:
    """Of a token of the output, or of the whole output. reads: a text whose vectors the decoder reads instead."""
    return float(np.exp(_of_output(_decoded(look, target, reads), at)))


@_quantity(r"\ln p(y \mid x) - \ln p_{\mathrm{without\ the\ head}}(y \mid x)", per_head=True)
def _missed_output(look: Look, target: str, at: int | None = None) -> float:
    """The fall of the log probability without one head of cross-attention."""
    off = AblateHead(look.layer, look.head, cross=True)
    return _of_output(_decoded(look, target), at) - _of_output(_decoded(look, target, None, (off,)), at)


def _decoded(look: Look, target: str, reads: str | None = None, edits: tuple[Edit, ...] = ()) -> DecoderTrace:
    model = look.loaded
    return look.derived(
        ("decoded for a question", target, reads, edits),
        lambda trace: model.decode(trace if reads is None else model.trace(reads), target, edits=edits).decoder,
    )


def _of_output(decoder: DecoderTrace, at: int | None) -> float:
    found = decoder.output_log_probabilities
    return float(found.sum() if at is None else found[at])


def _stream_after(trace: Trace, layer: int) -> np.ndarray:
    """[T, D] float64: the residual stream after a layer."""
    return trace.streams[layer + 1].double().cpu().numpy()
