"""Faults before the tokens: the prompt, a template, another form of the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from encoder.diagnose.faults.base import Clues, Fault, refuse_unless, register
from encoder.diagnose.pipeline import TEXT, Pipeline, Stage
from encoder.errors import quoted

#: Prompts of families whose folders often name none.
USUAL_PROMPTS = (
    "query: ", "passage: ", "search_query: ", "search_document: ", "clustering: ", "classification: ",
    "Represent this sentence for searching relevant passages: ",
    "task: search result | query: ", "title: none | text: ",
    "为这个句子生成表示以用于检索相关文章：",
)  # fmt: skip
#: Texts that programs put around a text.
USUAL_TEMPLATES = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: {text}",
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:{text}",
    "<|im_start|>user\n{text}<|im_end|>\n",
    "<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>system\nRepresent the user's "
    "input.<|im_end|>\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n",
    "User: {text}\nAssistant:",
    "[INST] {text} [/INST]",
    '"{text}"',
    "{text}.",
    "{text} {text}",
    "['{text}']",
)  # fmt: skip


@dataclass(frozen=True)
class _Prompt(Fault):
    """Base: another prompt."""

    stage: ClassVar[Stage] = "text"
    rank: ClassVar[int] = 2

    def _said(self, parameters: dict[str, Any]) -> str:
        return self.said.format(**{name: quoted(value) for name, value in parameters.items()})


@register
@dataclass(frozen=True)
class PromptMissing(_Prompt):
    """The prompt that the model needs is not there."""

    prompt: str
    name: ClassVar[str] = "prompt-missing"
    said: ClassVar[str] = "does not put the prompt {prompt} before the text"
    remedy: ClassVar[str] = (
        "Put the prompt before each text yourself, or pass prompt_name (sentence-transformers), input_type or "
        "prompt_name (servers); queries and documents may need different ones."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(pipeline.front.prompt)] if pipeline.front.prompt else []

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.front.prompt == self.prompt, "has another prompt")
        return pipeline.with_front(prompt="")


@register
@dataclass(frozen=True)
class PromptDoubled(_Prompt):
    """The prompt is there twice: the caller adds it, and the program adds it again."""

    prompt: str
    name: ClassVar[str] = "prompt-doubled"
    said: ClassVar[str] = "puts the prompt {prompt} before the text twice"
    remedy: ClassVar[str] = "Add the prompt in one place only: in your text, or by the program's prompt setting."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(pipeline.front.prompt)] if pipeline.front.prompt else []

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.front.prompt == self.prompt, "has another prompt")
        return pipeline.with_front(prompt=2 * self.prompt)


@register
@dataclass(frozen=True)
class PromptOther(_Prompt):
    """Another prompt, such as that of documents for a query."""

    prompt: str
    name: ClassVar[str] = "prompt-other"
    said: ClassVar[str] = "puts the prompt {prompt} before the text"
    remedy: ClassVar[str] = "Choose the prompt by what the text is: a query, a document, or neither."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        model, own = pipeline.model, pipeline.front.prompt
        names = {own.rstrip(), own.replace(": ", ":")} if own else set()
        known = [*(prompt for prompt in model.prompts.values() if prompt), *sorted(names), *USUAL_PROMPTS]
        return [cls(prompt) for prompt in dict.fromkeys(known) if prompt not in ("", own)]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.front.prompt != self.prompt, "has this prompt")
        return pipeline.with_front(prompt=self.prompt)


@register
@dataclass(frozen=True)
class Template(_Prompt):
    """A template around the text, such as that of a chat."""

    template: str
    name: ClassVar[str] = "template"
    rank: ClassVar[int] = 6
    most_together: ClassVar[int] = 0
    said: ClassVar[str] = "wraps the text in the template {template}"
    remedy: ClassVar[str] = (
        "Send the text to the endpoint of embeddings as it is, without a chat or instruction template."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(one) for one in USUAL_TEMPLATES]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(pipeline.front.template == TEXT, "has a template")
        return pipeline.with_front(template=self.template)


@register
@dataclass(frozen=True)
class Whitespace(Fault):
    """Line breaks become spaces, as clients of OpenAI's older models were advised, or blanks at "
    "the ends are dropped."""

    how: str
    name: ClassVar[str] = "white-space"
    most_together: ClassVar[int] = 0
    stage: ClassVar[Stage] = "text"
    said: ClassVar[str] = "changes white space in the text ({how})"
    remedy: ClassVar[str] = "Send the text unchanged."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls("newlines"), cls("strip")]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        return pipeline.with_front(rewrites=(*pipeline.front.rewrites, self.how))
