"""What opens inside the picture of the whole model: every step of `encoder.explain` for the selected tokens.

Here are the numbers; `model_parts.toml` has the sentences.

Shapes: T tokens, D d_model, H heads, K width of a head, F width of the FFN.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from encoder import explain
from encoder.classify import predicted
from encoder.drawing.picture import Picture
from encoder.encoders.named import NamedEncoder
from encoder.encoders.text import TextEncoder
from encoder.explain.arithmetic import Floats, softmax
from encoder.explain.latex import COLOURS, Formula, calculation, fraction, number
from encoder.explain.output import ChosenPooling, PoolingKind, chosen_pooling
from encoder.explain.place import Place
from encoder.explain.projection import Which
from encoder.explain.reference import Check, Recomputation
from encoder.explain.score import AS_MODEL, Variant
from encoder.explain.source import array
from encoder.figures.numbers import in_words, three_digits
from encoder.model.config import Sublayer
from encoder.model.layers import NORM_NAMES
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace
from encoder.views.model_picture import DECODER

#: Terms of a sum that have a bar each; the others are one more bar.
MOST_ROWS = 6
#: Every part, in the order of the forward pass. "norm-attention" is the norm of the attention sublayer.
PARTS = (
    "ids", "embedding", "norm-first_ffn", "first_ffn", "add-first_ffn", "norm-attention", "q", "k", "v", "scores",
    "softmax", "mixing", "heads", "add-attention", "norm-cross", "cross-scores", "cross", "cross-mixing", "add-cross",
    "norm-convolution", "convolution", "add-convolution", "norm-ffn", "ffn", "add-ffn", "norm-end", "norm-adapter",
    "adapter", "add-adapter", "final", "output", "class", "next",
)  # fmt: skip

#: Part -> its sentences by their names.
SENTENCES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _words(part: str, **numbers: object) -> Callable[[str], str]:
    """Gives a sentence of a part by its name, with these numbers in it."""
    return lambda name: SENTENCES[part][name].format(**numbers)


@dataclass(frozen=True)
class Row:
    """A bar with its number. more: what the number is made of; at: the component, token or neuron that it belongs to,
    -1 for a remainder; place: which of them a click selects ("component", "key", "neuron", "head"), "" for none."""

    label: str
    value: float
    more: str = ""
    at: int = -1
    place: str = ""


@dataclass(frozen=True, eq=False)
class Opened:
    """One part for the selected tokens. title, said: a heading and one sentence; value: its number; formulas: with
    their numbers; notation: the meaning of their letters; strips: whole vectors, (name, values, "q", "k", "v", "" or
    "neuron" for those of neurons); component, neuron: of the vectors and of the neurons, in the formulas; heading: of
    the rows; chosen: the `at` of the selected row; check: of the numbers in float64; full: the number of a full bar,
    None for the largest of the rows, 0 for no bars."""

    key: str
    title: str
    said: str
    value: float
    formulas: Sequence[Formula]
    notation: str = ""
    strips: Sequence[tuple[str, Floats, str]] = ()
    component: int | None = None
    heading: str = ""
    rows: Sequence[Row] = ()
    chosen: int | None = None
    check: Callable[[Recomputation], Iterable[Check]] | None = field(default=None, repr=False)
    full: float | None = None
    neuron: int | None = None


def with_parts(
    picture: Picture,
    trace: Trace,
    place: Place,
    *,
    part: str = "",
    component: int | None = None,
    neuron: int | None = None,
    pooling: ChosenPooling = "own",
    model: NamedEncoder | None = None,
    variant: Variant = AS_MODEL,
    reference: Recomputation | None = None,
    why_not: str = "",
    source: int | None = None,
) -> Picture:
    """The picture with the numbers of every part for the tokens `place.query` and `place.key`, if a part is open.

    picture: of `model_picture`. part: of PARTS, the one that is open; "" for none, which costs nothing. component,
    neuron: what is computed number by number; None: the largest of each vector. pooling: how a text's tokens become one
    vector. model: names words and classes. None leaves these parts out. variant: how scores are computed, by default as
    the model does. reference: adds a check of each number in float64 (`explain.Recomputation` of the same trace).
    why_not: the reason if there is none although it was wanted. A DecoderTrace gives the parts of the second river;
    source: the token of the input in its cross-attention, None: the one with the largest weight. Raises EncoderError
    for a place that does not exist.
    """
    if not part:
        return picture
    decodes, place = isinstance(trace, DecoderTrace), replace(place, component=0, neuron=0)
    known: dict[str, Any] = dict(picture.header["decoder"] if decodes else picture.header)  # type: ignore[call-overload]
    arrays, parts = dict(picture.arrays), {}
    chosen = _Parts(
        trace,
        place.checked(trace.config, trace.n_tokens),
        component,
        neuron,
        None if decodes else chosen_pooling(trace, pooling),
        model,
        variant,
        source,
    )
    for opened in chosen.all():
        strips = []
        for name, values, role in opened.strips:
            strip = f"strip {len(arrays)}"
            arrays[DECODER + strip if decodes else strip] = np.asarray(values, dtype=np.float32)
            strips.append({"name": name, "array": strip, "role": role})
        parts[opened.key] = _packed(opened, reference) | {"strips": strips}
    known |= {"part": part if part in parts else "", "parts": parts}
    known |= {"partsOf": {"query": place.query, "key": place.key, "source": chosen.source}, "checkSaid": why_not}
    known |= {"check": reference is not None or bool(why_not), "options": chosen.options()}
    return replace(picture, header={**picture.header, "decoder": known} if decodes else known, arrays=arrays)


def _packed(opened: Opened, reference: Recomputation | None) -> dict[str, Any]:
    checks = () if reference is None or opened.check is None else tuple(opened.check(reference))
    return {
        "title": opened.title,
        "said": opened.said,
        "value": opened.value,
        "formulas": [_roles(text) for one in opened.formulas for text in (one.symbols, one.numbers)],
        "notation": opened.notation,
        "component": opened.component,
        "neuron": opened.neuron,
        "full": opened.full,
        "heading": opened.heading,
        "chosen": opened.chosen,
        "rows": [[row.label, float(row.value), row.more, row.at, row.place] for row in opened.rows],
        "checks": [
            [one.name, one.shown_number, one.recomputed_number, one.difference, one.agrees, one.shown.size]
            for one in checks
        ],
    }


def _roles(formula: str) -> str:
    """The names of the colours instead of the colours themselves, which depend on the theme."""
    for role, (colour, _) in COLOURS.items():
        formula = formula.replace(f"{{{colour}}}", f"{{{role}}}")
    return formula


@dataclass(frozen=True)
class _Parts:
    trace: Trace
    place: Place
    component: int | None
    neuron: int | None
    pooling: PoolingKind | None
    model: NamedEncoder | None
    variant: Variant
    given_source: int | None = None

    @property
    def source(self) -> int | None:
        """The token of the input that cross-attention is shown for; None without cross-attention."""
        if not isinstance(self.trace, DecoderTrace):
            return None
        at, given = self.place, self.given_source
        row = self.trace.cross_attention(at.layer, at.head)[at.query]
        return int(row.argmax()) if given is None or given >= len(row) else given

    @property
    def norm_name(self) -> str:
        """What the model's norms are called."""
        return NORM_NAMES[self.trace.config.norm_kind]

    def all(self) -> Iterator[Opened]:
        """Every part that this model and input have, in the order of PARTS."""
        yield from self.before_layers()
        for part in self.trace.config.sublayers:
            yield from self.sublayer(part)
        if self.trace.config.conformer is not None:
            yield self._end_norm()
        yield from self.after_layers()

    def options(self) -> list[dict[str, object]]:
        """What a reader may change in the parts of scores and weights: the scale, the mask."""
        found: list[dict[str, object]] = [{"name": "scaled", "label": "Divide by √dₖ", "on": self.variant.scaled}]
        if not self.trace.config.causal:
            found.append({"name": "causal row", "label": "Causal mask", "on": bool(self.variant.causal)})
        return found

    def at(self, values: Floats) -> Place:
        """The place with the chosen component, or that of the largest number of a vector."""
        return _strongest(self.place, values, self.component)

    def name(self, token: int) -> str:
        """A token, in quotation marks."""
        return f"“{self.trace.labels[token]}”"

    @property
    def i(self) -> str:
        """The query token's name."""
        return self.name(self.place.query)

    @property
    def off(self) -> str:
        """A sentence if the head is switched off."""
        z = self.trace.z(self.place.layer, self.place.head)[self.place.query]
        is_off = any(edit.at("z", self.place.layer) for edit in self.trace.edits) and z.abs().max() == 0
        return _words("head")("off") if is_off else ""

    def pair(self, step_place: Place, keys: Sequence[str]) -> dict[str, object]:
        """The tokens i and j of formulas: their names and positions."""
        i, j = step_place.query, step_place.key
        return {"i": self.i, "i_at": i, "j": f"“{keys[j]}”", "j_at": j}

    # --- before the layers

    def before_layers(self) -> Iterator[Opened]:
        """Word to id, id to vector."""
        trace, place = self.trace, self.place
        if not trace.config.takes_text:
            return
        is_word = place.query < trace.n_tokens - trace.config.n_page_tokens
        if isinstance(self.model, TextEncoder) and trace.source is not None and is_word:
            yield self._ids(self.model)
        step = explain.embedding(trace, self.at(explain.embedding(trace, place).total))
        c = step.place.component
        named = {"token": step.token, "segment": step.segment, "position": step.position}
        named |= {step.place_name: step.place_vector, "sum": step.total}
        strips = {name: row for name, row in named.items() if row is not None}
        rows = [Row(name, row[c], f"component {c}") for name, row in strips.items() if name != "sum"]
        strips |= {} if step.normalised is None else {self.norm_name: step.normalised}
        added = " and ".join(name for name in ("segment", "position", "box", "path") if name in strips)
        say = _words("embedding", i=self.i, id=f"{step.id:,}", added=added or _words("embedding")("nothing_added"), c=c)
        said = "said" if not trace.config.reads_page else "word_on_page" if is_word else "of_page"
        yield Opened(
            "embedding",
            say("title"),
            say(said),
            float(step.total[c]),
            [step.formula, *([step.position_formula] if step.position_formula else [])],
            say("notation"),
            [(name, row, "") for name, row in strips.items()],
            c,
            say("heading"),
            rows,
            check=step.check,
        )

    def _ids(self, model: TextEncoder) -> Opened:
        step = explain.text_to_ids(self.trace, self.place.query)
        token, source = step.tokens[self.place.query], self.trace.source
        say = _words("ids", i=self.i, id=f"{token.id:,}", vocabulary=f"{step.vocab_size:,}")
        rows = []
        for one in step.tokens[:48]:
            of = _words("ids", characters=one.characters)("of_text" if one.characters else "added")
            rows.append(Row(one.label, one.id, of, one.position, "query"))
        said = say("said")
        if source is not None and token.word >= 0:
            members = [at for at, word in enumerate(source.words) if word == token.word]
            start, end = source.offsets[members[0]][0], source.offsets[members[-1]][1]
            pieces = [one.piece for one in explain.word_pieces(model.tokenizer, source.text[start:end]) if one.id]
            if len(pieces) > 1:
                said += _words("ids", count=len(pieces), pieces=" + ".join(pieces))("pieces")
        return Opened(
            "ids",
            say("title"),
            said,
            token.id,
            [step.formula],
            heading=say("heading"),
            rows=rows,
            full=0.0,
            chosen=self.place.query,
            check=lambda _: step.check(model.tokenizer),
        )

    # --- a layer

    def sublayer(self, part: Sublayer) -> Iterator[Opened]:
        """From the residual stream before a sublayer to the one after it."""
        adds, norm = self._around(part)
        before = self.trace.config.norm_placement == "pre"
        if norm and before:
            yield norm
        if part == "attention":
            yield from self.attention()
        elif part == "cross" and isinstance(self.trace, DecoderTrace):
            yield from self.cross(self.trace)
        elif part == "convolution":
            yield self._convolution()
        else:
            yield self.neurons(part)
        yield adds
        if norm and not before:
            yield norm

    def attention(self) -> Iterator[Opened]:
        """Scores, weights and values of the head, and all heads."""
        trace = self.trace
        q, k = (array[self.place.head].float().cpu().numpy() for array in trace.layer_qkv(self.place.layer)[:2])
        matching = self.at(q[self.place.query] * k[self.place.key])
        mixed = self.at(explain.weighted_sum(trace, self.place).z)
        yield self._projection("q", matching)
        yield self._projection("k", matching)
        yield self._projection("v", mixed)
        yield self._score(explain.score(trace, matching, self.variant), trace.labels)
        yield self._softmax(explain.softmax(trace, self.place, self.variant), trace.labels)
        yield self._mixing(explain.weighted_sum(trace, mixed), trace.labels)
        yield self._heads()

    def cross(self, trace: DecoderTrace) -> Iterator[Opened]:
        """Cross-attention of a decoder's layer: its queries are of the target, its keys and values of the input."""
        place = replace(self.place, key=self.source or 0)
        score, labels = explain.cross_score(trace, place), trace.memory_labels
        parts = [
            self._score(explain.cross_score(trace, _strongest(place, score.terms, self.component)), labels),
            self._softmax(explain.cross_softmax(trace, place), labels),
        ]
        mixed = _strongest(place, explain.cross_weighted_sum(trace, place).z, self.component)
        parts.append(self._mixing(explain.cross_weighted_sum(trace, mixed), labels))
        for key, one in zip(("cross-scores", "cross", "cross-mixing"), parts, strict=True):
            yield replace(
                one,
                key=key,
                check=None,
                formulas=[Formula(of.symbols.replace("T-1", "S-1"), of.numbers) for of in one.formulas],
                rows=[replace(row, place="source") if row.place == "key" else row for row in one.rows],
            )

    def _projection(self, which: Which, place: Place) -> Opened:
        step = explain.projection(self.trace, place, which)
        c, word = place.component, {"q": "Query", "k": "Key", "v": "Value"}[which]
        rows = _terms(step.terms, lambda d: f"{three_digits(step.x[d])} × {three_digits(step.column[d])}")
        if step.bias is not None:
            rows.append(Row("bias", step.bias[c]))
        say = _words(
            "projection",
            i=self.name(step.token),
            index="i" if which == "q" else "j",
            word=word,
            letter=which.upper(),
            head=place.head,
            width=len(step.vector),
            count=len(step.terms),
            c=c,
            norm=self.norm_name,
            heads=", ".join(map(str, step.shared_by)),
        )
        then = ["normed"] * (step.normed is not None) + ["shared"] * bool(step.shared_by)
        return Opened(
            which,
            say("title"),
            say("said") + "".join(map(say, then)),
            step.value,
            [step.formula, *([step.rotation.formula] if step.rotation else [])],
            say("notation"),
            [("input x", step.x, ""), (word.lower(), step.vector, which)],
            c,
            say("heading"),
            rows,
            check=step.check,
        )

    def _score(self, step: explain.Score, keys: Sequence[str]) -> Opened:
        rows = _terms(step.terms, lambda c: f"{three_digits(step.q[c])} × {three_digits(step.k[c])}", place="component")
        numbers = {"value": three_digits(step.value), "width": len(step.q), "count": len(step.terms)}
        say = _words("scores", **self.pair(step.place, keys), **numbers)
        rows += [Row(name, value, say("of_positions")) for name, value in step.of_positions.items()]
        return Opened(
            "scores",
            say("title"),
            say("said") + ("" if step.visible else say("hidden")),
            step.value,
            [step.formula],
            say("notation") + (say("letters") if step.of_positions else ""),
            [("query", step.q, "q"), ("key", step.k, "k"), ("products", step.terms, "")],
            step.place.component,
            say("heading"),
            rows,
            step.place.component,
            step.check,
        )

    def _softmax(self, step: explain.Softmax, keys: Sequence[str]) -> Opened:
        order = [*np.argsort(-step.weights, kind="stable")[:MOST_ROWS]]
        if step.place.key not in order:
            order[-1] = step.place.key
        rows = [Row(keys[j], step.weights[j], f"score {three_digits(step.scores[j])}", int(j), "key") for j in order]
        rest = float(step.weights.sum() - step.weights[order].sum())
        if len(step.weights) > len(order):
            rows.append(Row(f"{len(step.weights) - len(order)} other tokens", rest))
        say = _words("softmax", **self.pair(step.place, keys), value=in_words(step.value))
        return Opened(
            "softmax",
            say("title"),
            say("said") + self._without_scale(step) + (self.off if keys is self.trace.labels else ""),
            step.value,
            [step.formula],
            say("notation"),
            heading=say("heading"),
            rows=rows,
            full=1.0,
            chosen=step.place.key,
            check=step.check,
        )

    def _without_scale(self, step: explain.Softmax) -> str:
        """What the division by √d_k does to the row, where it is switched off."""
        if self.variant.scaled:
            return ""
        scaled = explain.softmax(self.trace, self.place, replace(self.variant, scaled=True))
        numbers = {
            "largest": step.weights.max(),
            "largest_scaled": scaled.weights.max(),
            "entropy": step.entropy,
            "entropy_scaled": scaled.entropy,
        }
        shown = {name: three_digits(float(one)) for name, one in numbers.items()}
        return _words("softmax", **shown)("without_scale")

    def _mixing(self, step: explain.WeightedSum, keys: Sequence[str]) -> Opened:
        place = step.place
        c = place.component
        rows = _terms(
            step.terms,
            lambda j: f"{three_digits(step.weights[j])} × {three_digits(step.values[j, c])}",
            keys.__getitem__,
            "key",
            others="tokens",
        )
        say = _words("mixing", i=self.i, head=place.head, c=c)
        return Opened(
            "mixing",
            say("title"),
            say("said") + (self.off if keys is self.trace.labels else ""),
            float(step.z[c]),
            [step.formula],
            say("notation"),
            [(f"value of “{keys[place.key]}”", step.values[place.key], "v"), ("z", step.z, "v")],
            c,
            say("heading"),
            rows,
            place.key,
            step.check,
        )

    def _heads(self) -> Opened:
        place = self.at(explain.output_projection(self.trace, self.place).result)
        step = explain.output_projection(self.trace, place)
        c = place.component
        rows = [
            Row(f"head {h}", step.norms[h], f"share {step.shares[h]:.0%}", int(h), "head")
            for h in np.argsort(-step.norms, kind="stable")[:12]
        ]
        say = _words("heads", i=self.i, count=len(step.norms))
        return Opened(
            "heads",
            say("title"),
            say("said"),
            float(step.result[c]),
            [step.formula],
            say("notation"),
            [
                ("z of this head", step.z[place.head], "v"),
                ("added by this head", step.contributions[place.head], ""),
                ("result", step.result, ""),
            ],
            c,
            say("heading"),
            rows,
            place.head,
            step.check,
        )

    def neurons(self, part: Sublayer) -> Opened:
        """The FFN of the layer, or its adapter."""
        trace = self.trace
        first = explain.feed_forward(trace, replace(self.place, neuron=0), part)
        given = self.neuron
        neuron = int(first.strongest(1)[0]) if given is None or given >= len(first.hidden) else given
        step = explain.feed_forward(trace, replace(self.at(first.output), neuron=neuron), part)
        c = step.place.component
        say = _words("ffn", i=self.i, width=len(step.x), count=f"{len(step.hidden):,}", out=len(step.output))
        rows = []
        for n in step.strongest(MOST_ROWS):
            made_of = _words("ffn", linear=three_digits(step.linear[n]))("neuron")
            if (expert := step.expert(n)) is not None:
                made_of += _words("ffn", expert=expert[0], share=three_digits(expert[1]))("expert")
            rows.append(Row(f"neuron {n}", step.hidden[n], made_of, int(n), "neuron"))
        return Opened(
            part,
            _words(part, i=self.i)("title"),
            say("said"),
            float(step.hidden[neuron]),
            [step.formula, step.output_formula],
            say("notation"),
            [("input", step.x, ""), ("neurons", step.hidden, "neuron"), ("output", step.output, "")],
            c,
            say("heading"),
            rows,
            neuron,
            step.check,
            neuron=neuron,
        )

    def _convolution(self) -> Opened:
        """The convolution of a Conformer's layer; a neuron is one of its channels."""
        first = explain.convolution(self.trace, replace(self.place, neuron=0))
        given = self.neuron
        channel = int(np.abs(first.hidden).argmax()) if given is None or given >= len(first.hidden) else given
        step = explain.convolution(self.trace, replace(self.at(first.output), neuron=channel))
        labels = [self.trace.labels[token] for token in step.near]
        rows = _terms(
            step.terms,
            lambda at: f"{three_digits(step.kernel[at])} × {three_digits(step.gated[at, channel])}",
            labels.__getitem__,
            others="tokens",
        )
        rows = [replace(row, at=step.near[row.at], place="key") if row.at >= 0 else row for row in rows]
        say = _words("convolution", i=self.i, width=len(step.hidden), count=len(step.near), channel=channel)
        rows += [] if step.shift is None else [Row(say("bias"), step.shift)]
        return Opened(
            "convolution",
            say("title"),
            say("said"),
            float(step.hidden[channel]),
            [step.formula, step.output_formula],
            say("notation"),
            [("channels", step.hidden, "neuron"), ("output", step.output, "")],
            step.place.component,
            say("heading"),
            rows,
            self.place.key,
            step.check,
            neuron=channel,
        )

    def _end_norm(self) -> Opened:
        """The norm at the end of a Conformer's layer."""
        layer, i = self.place.layer, self.place.query
        step = explain.normalised(self.trace, f"layers.{layer}.end_norm", i)
        last = self.trace.config.sublayers[-1]
        return replace(
            self._norm("norm-end", _words("norm", norm=self.norm_name, i=self.i)("end"), step),
            check=lambda reference: [reference.check("output", step.output, reference.after(layer, last)[i])],
        )

    def _around(self, part: Sublayer) -> tuple[Opened, Opened | None]:
        """The addition to the residual stream, and the norm; None where there is none."""
        place = self.at(explain.add_norm(self.trace, self.place, part).total)
        step, c = explain.add_norm(self.trace, place, part), place.component
        sublayer = _words("sublayers")(part)
        say = _words("add", i=self.i, sublayer=sublayer, growth=three_digits(step.growth))
        adds = Opened(
            f"add-{part}",
            say("title"),
            say("said"),
            float(step.total[c]),
            [step.formula],
            "",
            [("residual stream", step.before, ""), ("added", step.update, ""), ("sum", step.total, "")],
            c,
            say("heading"),
            [Row("before", _norm(step.before)), Row("added", _norm(step.update)), Row("sum", _norm(step.total))],
            check=lambda reference: step.check(reference)[:2],
        )
        title = _words("norm", norm=self.norm_name, sublayer=sublayer, i=self.i)("before" if step.pre_norm else "after")
        found = None if step.norm is None else self._norm(f"norm-{part}", title, step.norm)
        if found is not None:
            found = replace(found, check=lambda reference: step.check(reference)[2:])
        return adds, found

    def _norm(self, key: str, title: str, given: explain.Normalised) -> Opened:
        place = self.at(given.normalised)
        step = explain.normalised(self.trace, given.name, place.query, place.component)
        c = place.component
        subtracts = step.kind == "layer"
        rows = [Row("mean", step.mean), Row("standard deviation", step.std)]
        rows = rows if subtracts else [Row("root mean square", step.std)]
        rows += [Row("length before", _norm(step.input)), Row("length after", _norm(step.output))]
        say = _words("norm", i=self.i, count=len(step.input))
        has_bias = step.bias is not None
        return Opened(
            key,
            title,
            say("layer" if subtracts else "rms") + say("gain_and_bias" if has_bias else "gain"),
            float(step.output[c]),
            [step.formula],
            say("notation_with_bias" if has_bias else "notation"),
            [
                ("input", step.input, ""),
                ("normalised", step.normalised, ""),
                ("gain", step.gain, ""),
                *([] if step.bias is None else [("bias", step.bias, "")]),
                ("output", step.output, ""),
            ],
            c,
            say("heading"),
            rows,
        )

    # --- after the layers

    def after_layers(self) -> Iterator[Opened]:
        """The last norm, the vector of the input, its class."""
        trace = self.trace
        if trace.config.final_norm:
            step = explain.normalised(trace, "final_norm", self.place.query)
            i = self.place.query
            yield replace(
                self._norm("final", _words("norm", norm=self.norm_name, i=self.i)("last"), step),
                check=lambda reference: [reference.check("output", step.output, reference.output()[i])],
            )
        if self.pooling is not None and trace.config.takes_text and self.place.query < trace.n_real:
            yield self._pooled(self.pooling)
        head = None if self.model is None else self.model.classifier
        if self.model is not None and head is not None and head.config.kind == "sequence":
            yield self._classes(predicted.predict(self.model, trace))
        if isinstance(trace, DecoderTrace) and trace.model is not None and trace.next_ids:
            yield self._next_token(trace)

    def _next_token(self, trace: DecoderTrace) -> Opened:
        """The probabilities of the token that follows."""
        i = self.place.query
        logits = array(trace.next_logits(slice(i, i + 1))[0])
        shares, following = softmax(logits, np.ones(len(logits), dtype=bool)), trace.next_ids[i]
        order = [int(one) for one in np.argsort(-shares, kind="stable")[:MOST_ROWS]]
        order = order if following in order else [*order[:-1], following]
        names = dict(zip(order, trace.model.labels(order), strict=True))
        value = float(shares[following])
        say = _words("next", i=self.i, next=names[following], value=three_digits(value), count=f"{len(logits):,}")
        return Opened(
            "next",
            say("title"),
            say("said"),
            value,
            [_share(following, logits, value)],
            heading=say("heading"),
            rows=[Row(names[one], shares[one], f"logit {three_digits(logits[one])}", one) for one in order],
            chosen=following,
        )

    def _pooled(self, pooling: PoolingKind) -> Opened:
        place = self.at(explain.pooled(self.trace, pooling, self.place).vector)
        step = explain.pooled(self.trace, pooling, place)
        c = place.component
        say = _words("output", c=c, count=len(step.weights))
        return Opened(
            "output",
            say("title"),
            say(pooling),
            float(step.vector[c]),
            [step.formula],
            "",
            [("sentence vector", step.vector, "")],
            c,
            say("heading"),
            _terms(
                step.terms,
                lambda t: _words("output", weight=three_digits(step.weights[t]))("term"),
                step.labels.__getitem__,
                "query",
                others="tokens",
            ),
            check=step.check,
        )

    def _classes(self, found: predicted.Prediction) -> Opened:
        order = sorted(range(len(found.labels)), key=lambda c: -found.probabilities[c])
        best = order[0]
        rows = [
            Row(found.labels[c], found.probabilities[c], f"logit {three_digits(found.logits[c])}", c)
            for c in order[:MOST_ROWS]
        ]
        total = float(np.exp(np.array(found.logits) - max(found.logits)).sum())
        exclusive = abs(1.0 / total - found.probabilities[best]) < 1e-3
        say = _words("class", label=found.labels[best])
        return Opened(
            "class",
            say("title"),
            say("said"),
            found.probabilities[best],
            [_share(best, found.logits, found.probabilities[best])] if exclusive else [],
            heading=say("heading"),
            rows=rows,
            full=1.0,
            chosen=best,
        )


def _share(at: int, logits: Sequence[float] | Floats, value: float) -> Formula:
    """The softmax of logits, for one of them."""
    found = np.exp(np.asarray(logits, dtype=np.float64) - max(logits))
    divided = fraction(number(float(found[at])), number(float(found.sum())))
    return Formula(
        r"p_c = \frac{e^{l_c - \max l}}{\sum_k e^{l_k - \max l}}",
        calculation((f"p_{{{at}}}", [divided, number(value)])),
    )


def _strongest(place: Place, values: Floats, given: int | None) -> Place:
    """The place with the given component, or without one that of the largest number of a vector."""
    best = int(np.abs(values).argmax()) if given is None or given >= len(values) else given
    return replace(place, component=best)


def _terms(
    terms: Floats,
    more: Callable[[int], str],
    label: Callable[[int], str] = "component {}".format,
    place: str = "",
    others: str = "components",
) -> list[Row]:
    """The largest terms of a sum, and the rest as one row."""
    order = [int(at) for at in np.argsort(-np.abs(terms), kind="stable")[:MOST_ROWS]]
    rows = [Row(label(at), terms[at], more(at), at, place) for at in order]
    if len(terms) > len(order):
        rest = float(terms.sum() - terms[order].sum())
        rows.append(Row(f"{len(terms) - len(order)} other {others}", rest))
    return rows


def _norm(vector: Floats) -> float:
    return float(np.linalg.norm(vector))
