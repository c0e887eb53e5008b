"""The questions that an agent may ask, one row each: its arguments, the command that answers, and the sentence.

A tool's arguments are options of that command, so limits and words are those of commands.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy.stats import spearmanr

from encoder.cli import effects, heads, running, texts
from encoder.cli.agents import glossary
from encoder.cli.agents.answer import Answer
from encoder.cli.agents.asking import DETAIL, MODEL, Reply, ask, check, option_of, schema_of
from encoder.cli.agents.diagnosing import FolderCheck, VectorDiagnosis
from encoder.cli.command import CommandError
from encoder.cli.inputs import Misuse
from encoder.drawing import still
from encoder.export import why as export_why
from encoder.run import ModelSpec, Place, Run, Text
from encoder.run.address import Link
from encoder.run.code import model_lines, python_lines

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Tool:
    """A question about a model."""

    name: str
    #: The question, and what an answer holds.
    question: str
    #: The command of `encoderscope` that answers, and its function.
    command: str
    function: running.Function
    #: Argument -> option of the command, without dashes.
    arguments: Mapping[str, str]
    required: Sequence[str]
    #: The rows in the order of their weight, and the sentence about them.
    answer: Callable[[Reply], tuple[Sequence[Mapping[str, Any]], str]]
    units: Mapping[str, str]
    limit: str
    #: The page of the app that shows it, and its own values, with these arguments.
    page: str = "heads"
    values: Callable[[Mapping[str, Any]], dict[str, str]] = lambda _: {}
    #: Python lines after those that make `model` and `trace`.
    lines: Callable[[Mapping[str, Any]], str] = lambda _: ""
    #: Options that are always given.
    always: Mapping[str, Any] = field(default_factory=dict)
    #: Options that are made of several arguments, or of parts of one; they replace those of the same name.
    made: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {}
    #: How many texts it is about; 0: any number.
    n_texts: int = 0
    #: Arguments that choose among the rows of the command: schemas by name.
    chooses: Mapping[str, Any] = field(default_factory=dict)
    #: Rows of an answer in detail, after those of every answer.
    more: Callable[[Reply], Sequence[Mapping[str, Any]]] = lambda _: ()

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        command = running.COMMANDS[self.command]
        own = {name: schema_of(option_of(command, option)) for name, option in self.arguments.items()}
        for name in self.arguments:
            if name == "text":  # one text of an option that may be repeated
                own[name] = own[name]["items"] | {"description": own[name]["description"], "minLength": 1}
            elif own[name].get("type") == "array":
                own[name]["minItems"] = 1
        if self.n_texts:
            own["texts"] |= {"minItems": self.n_texts, "maxItems": self.n_texts}
        return {
            "type": "object",
            "properties": {"model": MODEL, **own, **self.chooses, "detail": DETAIL},
            "required": list(self.required),
            "additionalProperties": False,
        }

    def run(self, given: Mapping[str, Any], root: Path | None) -> Answer:
        """The answer to the question with these arguments. Raises CommandError and EncoderError."""
        reply = self.ask(given, root)
        rows, said = self.answer(reply)
        run = self.run_of(given, reply)
        return Answer(
            said + _cut(reply),
            rows,
            self.units,
            self.limit,
            reply.facts,
            self.link(run, given),
            self.python(run, given),
            reply.line,
            more=self.more(reply),
        )

    def drawn(self, given: Mapping[str, Any], root: Path | None) -> Answer:
        """The picture of the answer. Raises CommandError and EncoderError."""
        reply = self.ask(given, root)
        run = self.run_of(given, reply)
        return Answer(
            f"The picture of {reply.result.name}.",
            limit=self.limit,
            assumptions=reply.facts,
            link=self.link(run, given),
            python=self.python(run, given),
            command=f"{reply.line} --out picture.png",
            png=reply.png(),
        )

    def link(self, run: Run, given: Mapping[str, Any]) -> str:
        """The view of the app that shows the answer."""
        return Link(self.page, run, self.values(given)).address

    def python(self, run: Run, given: Mapping[str, Any]) -> str:
        """Python lines that give the same numbers."""
        if "text" in self.arguments:
            return python_lines(run, self.lines(given))
        return f"import encoder\n{model_lines(run.model)}\n{self.lines(given)}\n"

    def ask(self, given: Mapping[str, Any], root: Path | None) -> Reply:
        """What the command finds with these arguments. Raises CommandError and EncoderError."""
        options = {option: given.get(name) for name, option in self.arguments.items()}
        try:
            reply = ask(
                running.COMMANDS[self.command],
                self.function,
                given.get("model", "minilm"),
                {**options, **self.made(given), **self.always},
                root,
            )
        except CommandError as error:
            raise Misuse(self._in_arguments(str(error))) from None
        return replace(reply, given=given)

    def _in_arguments(self, said: str) -> str:
        """A sentence of the command line with the names of arguments in place of options."""
        for name, option in self.arguments.items():
            said = re.sub(rf"--{re.escape(option)}(?![\w-])", name, said)
        return said

    def run_of(self, given: Mapping[str, Any], reply: Reply) -> Run:
        """The run that an answer is about; of several texts, that of the first."""
        first = given["text"] if "text" in given else given["texts"][0]
        select = given.get("tokens") or []
        spec = ModelSpec(reply.options.model, norm=reply.options.norm)
        place = Place(given.get("layer"), given.get("head"), select[0] if len(select) == 1 else None)
        return Run(spec, Text(str(first), given.get("pair") or None), place=place)


def _cut(reply: Reply) -> str:
    """A sentence about texts that the model does not accept whole."""
    tokens = reply.facts.get("tokens", "")
    if " of " in tokens:
        return f" The text is cut: {tokens} tokens."
    said = [
        f"Text {side} is cut {reply.facts[key]}"
        for side in "AB"
        if (key := f"text_{side.lower()}_is_cut") in reply.facts
    ]
    return "".join(f" {one}." for one in [*said, *([reply.facts["cut"]] if "cut" in reply.facts else [])])


def _strongest(rows: Sequence[Mapping[str, Any]], column: str) -> list[Mapping[str, Any]]:
    """The rows by the size of a number, the largest first; rows without it last."""
    return sorted(rows, key=lambda row: -abs(row[column]) if row[column] is not None else 1.0)


def _number(value: float) -> str:
    return f"{value:.3g}"


def _attended(reply: Reply) -> tuple[Sequence[Mapping[str, Any]], str]:
    rows = _strongest(reply.rows, "weight")
    selected = " and ".join(f"“{row['token']}”" for row in reply.rows if row["selected"])
    names = ", ".join(f"“{row['token']}” ({row['position']}): {_number(row['weight'])}" for row in rows[:3])
    direction = "attends most to" if reply.options.direction != "from" else "receives most attention from"
    at = f"L{reply.options.layer} H{reply.options.head}"
    uniform = 1 / len(rows)
    return rows, f"In {at}, {selected} {direction} {names}. Uniform attention would be {_number(uniform)}."


def _measured(reply: Reply) -> tuple[Sequence[Mapping[str, Any]], str]:
    measure = reply.options.measure
    wanted = [row for row in reply.rows if row[measure] is not None]
    rows = sorted(wanted, key=lambda row: -row[measure])
    columns = [{name: row[name] for name in ("layer", "head", "types", measure)} for row in rows]
    names = ", ".join(f"L{row['layer']} H{row['head']}: {_number(row[measure])}" for row in rows[:3])
    return columns, f"Largest {measure}: {names}, of {len(reply.rows)} heads."


def _chosen(reply: Reply) -> list[Mapping[str, Any]]:
    """The rows of the layer and head that were named; all without one. Raises Misuse for what the model lacks."""
    rows: list[Mapping[str, Any]] = list(reply.rows)
    for name in ("layer", "head"):
        if (wanted := reply.given.get(name)) is None:
            continue
        if name not in rows[0]:
            raise Misuse(f"{name}: with what {reply.options.what}, specify the layer only.")
        most = max(row[name] for row in rows)
        if wanted > most:
            raise Misuse(f"No {name} {wanted} in this model: choose 0 to {most}.")
        rows = [row for row in rows if row[name] == wanted]
    return rows


def _effects(reply: Reply) -> tuple[Sequence[Mapping[str, Any]], str]:
    everything = _strongest(reply.rows, "effect")
    chosen = _chosen(reply)
    rows = [row for row in everything if row in chosen]

    def name(row: Mapping[str, Any]) -> str:
        return f"L{row['layer']} H{row['head']}" if "head" in row else f"L{row['layer']} {row['sublayer']}"

    largest = ", ".join(f"{name(row)}: {row['effect']:+.3g}" for row in rows[:3])
    what = "head" if reply.options.what == "heads" else "sublayer"
    if len(rows) == 1 < len(everything):
        [row] = rows
        place = f"number {everything.index(row) + 1} by size of {len(everything)} {what}s"
        said = f"Without {name(row)}, the outcome {reply.options.outcome} changes by {row['effect']:+.3g}"
        return rows, f"{said}: {place}. The largest is {name(everything[0])}: {everything[0]['effect']:+.3g}."
    return rows, f"Largest changes of the outcome {reply.options.outcome} with one {what} switched off: {largest}."


def _stream(reply: Reply) -> tuple[Sequence[Mapping[str, Any]], str]:
    rows = reply.rows
    if reply.options.what == "norms":
        widest = max(rows, key=lambda row: row["std_before"])
        said = f"Largest standard deviation before a norm: {_number(widest['std_before'])}, at {widest['norm']}"
        return rows, f"{said}, token “{widest['token']}” ({widest['position']})."
    lengths = [row["value"] for row in rows if row["what"] == "length"]
    growth = lengths[-1] / lengths[0]
    said = f"The norm of the residual stream goes from {_number(lengths[0])} after the embeddings"
    return rows, f"{said} to {_number(lengths[-1])} after the last layer: {_number(growth)} times."


def _embedded(reply: Reply) -> tuple[Sequence[Mapping[str, Any]], str]:
    rows = reply.rows
    width = sum(name.startswith("v") and name[1:].isdigit() for name in rows[0])
    return rows, f"{len(rows)} {'vector' if len(rows) == 1 else 'vectors'} of {width} numbers."


def _ranked(reply: Reply) -> tuple[Sequence[Mapping[str, Any]], str]:
    first = reply.rows[0]
    return reply.rows, f"Rank 1: “{first['sentence'][:80]}”, with a cosine of {_number(first['cosine'])}."


def _alike(reply: Reply) -> tuple[Sequence[Mapping[str, Any]], str]:
    words, pairs = _of_kind(reply, "word"), _of_kind(reply, "pair")
    largest = ", ".join(f"{row['name']}: {row['value']:+.3g}" for row in pairs[:3])
    parts = f" Largest of the {len(pairs)} pairs of words that add up to it: {largest}." if pairs else ""
    lost = ", ".join(f"“{row['name']}”: {row['value']:+.3g}" for row in words[:3])
    without = f" What it loses without a word: {lost}." if words else ""
    return words, f"{reply.result.name}.{without}{parts}"


def _of_kind(reply: Reply, what: str) -> list[Mapping[str, Any]]:
    """The rows of words, or of pairs."""
    return _strongest([row for row in reply.rows if row["what"] == what], "value")


def _pair_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The first text as the query of the command, the second one as its only text."""
    first, second = given["texts"]
    return {"query": first, "text": [second]}


def _pair_values(given: Mapping[str, Any]) -> dict[str, str]:
    """The values of the page that shows the pair."""
    return {"similar_to": given["texts"][1]} | ({"each_word": "1"} if given.get("each_word") else {})


def _pair_lines(given: Mapping[str, Any]) -> str:
    first, second = given["texts"]
    return export_why.explained_lines(first, second, bool(given.get("each_word")))


def _effect_lines(given: Mapping[str, Any]) -> str:
    outcome = effects.outcome_of(given.get("outcome", "sentence"))
    said = repr(outcome) if isinstance(outcome, str) else f"encoder.causal.{outcome!r}"
    function = "leave_out_each_sublayer" if given.get("what") == "sublayers" else "ablate_each_head"
    lines = f"effects = encoder.causal.{function}(model, trace, {said})"
    if given.get("layer") is None or function != "ablate_each_head":
        return lines
    head = "" if given.get("head") is None else f", {given['head']}"
    return f"{lines}\neffect = effects[{given['layer']}{head}]"


def _search_lines(given: Mapping[str, Any]) -> str:
    collection = f"collection = encoder.search.embed(model, {given['texts']!r})"
    near = f"encoder.search.nearest(collection, model, query, {given.get('k', 10)})"
    return f"{collection}\nfound = [{near} for query in {given['query']!r}]"


def _comparing_lines(specs: Sequence[ModelSpec], texts: Sequence[str]) -> str:
    """Python lines that give the cosines of every pair by both models."""
    models = [model_lines(spec, name) for spec, name in zip(specs, ("first", "second"), strict=True)]
    vectors = "vectors = [model.embed(texts) for model in (first, second)]"
    cosines = "cosines = [functional.cosine_similarity(one[:, None], one, dim=-1) for one in vectors]"
    start = ["import encoder", "from torch.nn import functional", ""]
    return "\n".join([*start, *models, f"texts = {list(texts)!r}", vectors, cosines, ""])


HEADS = {"layer": "from 0", "head": "from 0"}
#: Arguments for one head of all.
ONE_HEAD = {
    "layer": {"type": "integer", "minimum": 0, "description": "one layer, from 0 (default: all)"},
    "head": {"type": "integer", "minimum": 0, "description": "one head of this layer, from 0 (default: all)"},
}
TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "what_a_token_attends_to",
            "What does a token attend to in a head? Or, with direction from: what attends to it? The weights of all "
            "tokens, the largest first. Tokens are positions from 0; [CLS] or its like is 0.",
            "trace",
            heads.traced,
            {"text": "text", "tokens": "select", "layer": "layer", "head": "head", "direction": "direction"}
            | {"pair": "pair", "norm": "norm"},
            ("text", "tokens", "layer", "head"),
            _attended,
            {"weight": "attention weight, 0 to 1; the weights of one query sum to 1", "position": "from 0"},
            "A weight says what is fetched, not what it changes: ask what_changes_without_a_part for that.",
            values=lambda _: {"view": "text"},
            lines=lambda given: f"weights = trace.attention({given['layer']}, {given['head']})",
            always={"view": "text"},
        ),
        Tool(
            "which_head_does_what",
            "Which head does X? Every head by a measure (entropy, distance, previous, next, self, ...) with its types, "
            "such as previous-token or positional, on one text.",
            "measure",
            heads.measured,
            {"text": "text", "measure": "measure", "queries": "queries", "pair": "pair", "norm": "norm"},
            ("text",),
            _measured,
            HEADS | {"types": "types of the head on this text"},
            "One text shows one case: a type is a description of these weights, not of what the head is for.",
            values=lambda _: {"all_heads": "table"},
            lines=lambda _: "table = encoder.measure.heads(trace).table()",
        ),
        Tool(
            "what_changes_without_a_part",
            "What does a head, or an attention or feed-forward sublayer, change? Each is switched off by itself; the "
            "effect is the change of an outcome. layer and head: of one head, and its place among all.",
            "ablate",
            effects.ablated,
            {"text": "text", "what": "what", "outcome": "outcome", "pair": "pair", "norm": "norm"},
            ("text",),
            _effects,
            HEADS | {"effect": "outcome without the part, minus the outcome with it"},
            "Other parts can take over what a part did, so a small effect does not mean that it does nothing.",
            page="interventions",
            lines=_effect_lines,
            chooses=ONE_HEAD,
        ),
        Tool(
            "norms_and_residual_stream",
            "What do the norms and the residual stream do? Mean and standard deviation of each token at each norm, or "
            "with what stream the growth of the residual stream by layer. norm pre or post moves the norms.",
            "norms",
            heads.normalised,
            {"text": "text", "what": "what", "pair": "pair", "norm": "norm"},
            ("text",),
            _stream,
            {"std_before": "standard deviation over the components before the norm", "value": "see `what`"},
            "With norms moved, the same weights run without retraining.",
            page="norms",
            lines=lambda _: "stream = encoder.measure.stream(trace)",
        ),
        Tool(
            "embed",
            "What is the vector of each text? The vectors as the checkpoint makes them, with its pooling and prompt.",
            "embed",
            texts.embed,
            {"texts": "text", "prompt": "prompt", "norm": "norm"},
            ("texts",),
            _embedded,
            {"v0": "component 0, and so on; without a unit"},
            "Vectors of two models cannot be compared with each other.",
            page="texts",
            lines=lambda given: f"vectors = model.embed({given['texts']!r})",
        ),
        Tool(
            "which_texts_are_nearest",
            "Which texts are nearest to a query, and how far is each of the others? Every text, its cosine and rank.",
            "search",
            texts.search,
            {"texts": "text", "query": "query", "k": "k", "norm": "norm"},
            ("texts", "query"),
            _ranked,
            {"cosine": "-1 to 1", "rank": "from 1"},
            "How large a cosine is for unrelated texts differs from model to model.",
            page="texts",
            values=lambda given: {"query": given["query"][0]},
            lines=_search_lines,
        ),
        Tool(
            "why_two_texts_are_alike",
            "Why are two texts alike? The score, and what it loses without each word; with detail also the pairs of "
            "words that add up to it.",
            "why",
            texts.why,
            {"texts": "text", "norm": "norm", "each_word": "each-word"},
            ("texts",),
            _alike,
            {"value": "part of the score, of a pair; what the score loses, of a word"},
            "The split among pairs averages over texts with words left out, which nobody would write. What the score "
            "loses without a word is measured, and need not add up to the score. A text of more than 64 words is "
            "divided into phrases, sentences or passages, unless each_word is true.",
            page="texts",
            values=_pair_values,
            lines=_pair_lines,
            made=_pair_options,
            n_texts=2,
            more=lambda reply: _of_kind(reply, "pair"),
        ),
    )
}


@dataclass(frozen=True)
class Comparison:
    """Two models, or one with its norms in two places, on the same texts."""

    question = (
        "Do two models, or one model with its norms moved, find the same texts alike? The cosine of each pair of texts "
        "by both, and how well the two orders agree."
    )

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        norm = schema_of(option_of(running.COMMANDS["embed"], "norm"))
        properties = {"first": MODEL, "second": MODEL, "first_norm": norm, "second_norm": norm, "detail": DETAIL}
        both = TOOLS["embed"].schema["properties"]["texts"] | {"minItems": 2}
        return {
            "type": "object",
            "properties": {"texts": both, **properties},
            "required": ["texts", "first", "second"],
            "additionalProperties": False,
        }

    def run(self, given: Mapping[str, Any], root: Path | None) -> Answer:
        """The cosines by both. Raises CommandError and EncoderError."""
        return self._compared(given, root)[0]

    def drawn(self, given: Mapping[str, Any], root: Path | None) -> Answer:
        """The same, with the picture of the differences. Raises CommandError and EncoderError."""
        answer, differences = self._compared(given, root)
        title = f"cosine by {answer.assumptions['second']} minus that by {answer.assumptions['first']}"
        names = [str(at) for at in range(len(differences))]
        return replace(answer, png=still.matrix(title, differences, names, names, signed=True).png())

    def _compared(self, given: Mapping[str, Any], root: Path | None) -> tuple[Answer, np.ndarray]:
        """The answer, and the difference of the cosines of each pair of texts [N, N]."""
        replies = [
            ask(
                running.COMMANDS["embed"],
                texts.embed,
                given[name],
                {"text": given["texts"], "norm": given.get(f"{name}_norm")},
                root,
            )
            for name in ("first", "second")
        ]
        cosines = [texts.cosines_of(reply.arrays["vectors"]) for reply in replies]
        rows = [
            {"a": a, "b": b, "first": float(cosines[0][a, b]), "second": float(cosines[1][a, b])}
            for a, b in combinations(range(len(given["texts"])), 2)
        ]
        for row in rows:
            row["difference"] = row["second"] - row["first"]
        rows = sorted(rows, key=lambda row: -abs(row["difference"]))
        a, b = rows[0]["a"], rows[0]["b"]
        specs = [ModelSpec(reply.options.model, norm=reply.options.norm) for reply in replies]
        names = [f"{reply.result.facts['Model']}" for reply in replies]
        said = (
            f"The largest difference between {names[0]} and {names[1]} is {rows[0]['difference']:+.3g}, for texts "
            f"{a} and {b}"
        )
        if len(rows) > 2:
            rank = spearmanr([row["first"] for row in rows], [row["second"] for row in rows]).statistic
            said += f"; the rank correlation of all {len(rows)} pairs is {rank:.3f}"
        answer = Answer(
            f"{said}.",
            rows,
            units={"first": "cosine by the first model", "second": "cosine by the second model"},
            limit="Models use different ranges of cosines: compare the order of pairs, not single numbers.",
            assumptions={"first": names[0], "second": names[1]},
            link=Link("texts", Run(specs[0], Text(given["texts"][a])), {"similar_to": given["texts"][b]}).address,
            python=_comparing_lines(specs, given["texts"]),
            command=" && ".join(reply.line for reply in replies),
        )
        return answer, cosines[1] - cosines[0]


#: The questions that have a picture.
DRAWN: dict[str, Tool | Comparison] = {**TOOLS, "do_two_models_agree": Comparison()}


@dataclass(frozen=True)
class Picture:
    """The picture of a question, drawn without a browser."""

    question = "What does an answer look like? Its picture as PNG: the question in `of`, with the question's arguments."

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema: `of`, and the arguments of all questions, which `run` checks by their own."""
        schemas = [tool.schema["properties"] for tool in DRAWN.values()]
        own = {name: {"description": one["description"]} for each in schemas for name, one in each.items()}
        of = {"enum": list(DRAWN), "description": "the question that the picture answers"}
        return {
            "type": "object",
            "properties": {"of": of, **{name: one for name, one in own.items() if name != "detail"}},
            "required": ["of"],
            "additionalProperties": False,
        }

    def run(self, given: Mapping[str, Any], root: Path | None) -> Answer:
        """The picture. Raises CommandError and EncoderError."""
        tool = DRAWN[given["of"]]
        own = {name: value for name, value in given.items() if name != "of"}
        check(own, tool.schema)
        return tool.drawn(own, root)


@dataclass(frozen=True)
class Meaning:
    """What a term means."""

    question = "What does a term of the field mean? Its definition, and the work that it is from."

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its argument."""
        term = {"type": "string", "maxLength": 100, "description": "a term, such as attention sink"}
        return {"type": "object", "properties": {"term": term}, "required": ["term"], "additionalProperties": False}

    def run(self, given: Mapping[str, Any], root: Path | None) -> Answer:
        """Its entry of the glossary. Raises Misuse for an unknown term."""
        return glossary.find(str(given["term"]))


#: Every question, by the name that an agent calls.
QUESTIONS: dict[str, Tool | Comparison | FolderCheck | VectorDiagnosis | Picture | Meaning] = {
    **TOOLS,
    "check_a_folder": FolderCheck(),
    "why_vectors_differ": VectorDiagnosis(),
    "do_two_models_agree": DRAWN["do_two_models_agree"],
    "picture": Picture(),
    "what_a_term_means": Meaning(),
}
