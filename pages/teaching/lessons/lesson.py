"""A lesson: a Markdown file with front matter. It is text: it can run no code and name no file.

    ---
    title: Heads and what they specialise in
    minutes: 20
    level: first year
    goals: [Read a row of an attention map, Tell head types apart]
    needs: a sentence with a pronoun
    ---
    ## What "it" attends to

    Prose, in Markdown.

    ```view
    page: heads
    text: The animal didn't cross the street because it was too tired.
    layer: 4
    head: 9
    ```

    ```question
    kind: token
    ask: Which word does "it" attend to most here?
    query: it
    ```

Each heading of level 2 begins a step. A step has prose, at most one view (a page and its values, as in a link) and at
most one question. Prose below the view is about the picture, and is shown only next to it. A heading of level 1 before
the first step begins the opening: step 0, which says where the lesson is in the model.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import frontmatter
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from encoder import EncoderError, disk
from encoder.errors import quoted
from pages.base.access import limits
from pages.core.words import symbols
from pages.state import former, state
from pages.teaching.questions import Question, read_question
from pages.teaching.questions.quantities import FAULTS

#: Values of a link that name files, runs or the machine: a lesson has none of them.
FORBIDDEN = ("source", "run", "device", "dtype")
#: Front matter: field -> type.
FIELDS: dict[str, type] = {"title": str, "minutes": int, "level": str, "goals": list, "needs": str}
#: What a reader's browser would run or fetch -> why a lesson has none.
FOREIGN = dict.fromkeys(("html_block", "html_inline"), "a lesson has no HTML: write Markdown.") | {
    "image": "a lesson has no pictures: show a view of a page."
}
#: A word of a file that a sentence about it shows in part.
LONG_WORD = re.compile(r"\S{120,}")


class LessonError(EncoderError):
    """A fault in a lesson file. line: counted from 1; file: its name, where a reader has several."""

    def __init__(self, line: int, reason: str, file: str = "") -> None:
        super().__init__(
            f"{file}{', line' if file else 'Line'} {line}: {LONG_WORD.sub(lambda word: f'{word[0][:60]}…', reason)}"
        )
        self.line = line


#: What YAML raises for a text that is none, for a date or a number that does not exist, and for deep brackets.
NOT_YAML = (yaml.YAMLError, ValueError, ArithmeticError, TypeError, RecursionError)
#: A week of lessons.
MOST_MINUTES = 10_080


@dataclass(frozen=True)
class Step:
    """One step. prose: what it says before its question; about_view: what it says next to the picture; view: page and
    values, as texts; line: of its heading; view_line, question_line: 0 if there is none.

    level: of its heading; 1: the opening.
    """

    title: str
    prose: str
    view: Mapping[str, str]
    question: Question | None
    line: int
    view_line: int = 0
    question_line: int = 0
    level: int = 2
    about_view: str = ""

    @property
    def text(self) -> str:
        """All that it says, for a place that has the picture."""
        return f"{self.prose}\n\n{self.about_view}".strip()


def in_html(prose: str) -> str:
    """Markdown as HTML; a lesson has no HTML of its own."""
    return symbols.of_html(str(MarkdownIt("commonmark", {"html": False}).render(prose)))


@dataclass(frozen=True)
class Lesson:
    """A lesson with its front matter and steps. name: the file's name without its ending.

    first: the number of its first step: 0 for an opening, otherwise 1.
    """

    name: str
    title: str
    minutes: int
    level: str
    goals: tuple[str, ...]
    needs: str
    steps: tuple[Step, ...]
    first: int = 1

    @property
    def label(self) -> str:
        """Its number, from the file's name: "3b" of 03b-from-weight-to-output; "" without one."""
        found = re.match(r"0*(\d+[a-z]?)-", self.name)
        return found[1] if found else ""

    @property
    def heading(self) -> str:
        """Its number and title, as every list has them: “3b · From weight to output”."""
        return f"{self.label} · {self.title}".removeprefix(" · ")

    def place(self, number: int) -> str:
        """The number of a step among all lessons: “3b.2”; of a lesson without a number “2”."""
        return f"{self.label}.{number}".removeprefix(".")

    @property
    def last(self) -> int:
        """The number of the last step."""
        return self.first + len(self.steps) - 1

    def numbered(self) -> Iterator[tuple[int, Step]]:
        """Each step with its number."""
        return enumerate(self.steps, self.first)

    def nearest(self, number: int) -> int:
        """The number of a step that exists, as near to `number` as possible."""
        return min(max(number, self.first), self.last)

    def step(self, number: int) -> Step:
        """The step of a number, or the nearest one."""
        return self.steps[self.nearest(number) - self.first]


@contextmanager
def of_question(lesson: Lesson, step: Step) -> Iterator[None]:
    """Name lesson and line in what a step's question raises: a LessonError."""
    try:
        yield
    except FAULTS as error:
        raise LessonError(step.question_line, fault_of(error), f"{lesson.name}.md") from error


def load(path: Path) -> Lesson:
    """The lesson in a file. Raises LessonError, or OSError if the file cannot be read."""
    if path.stat().st_size > limits.LESSON_FILE.value:
        raise LessonError(1, f"the file is larger than {limits.LESSON_FILE.value:,} bytes: split the lesson.")
    try:
        text = disk.read_regular(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise LessonError(1, "the file is not UTF-8 text: save it as UTF-8.") from error
    return read(text, path.stem)


def read(text: str, name: str) -> Lesson:
    """The lesson in a text. Raises LessonError with the line and the reason."""
    try:
        return _read(text, name)
    except LessonError:
        raise
    except FAULTS as error:
        raise LessonError(1, fault_of(error)) from error


def fault_of(error: Exception) -> str:
    """What is wrong with a value of a lesson, by what it raised."""
    if isinstance(error, EncoderError):
        return str(error)
    return f"it has a value that no lesson has ({quoted(str(error))[1:-1]}): remove what you added last."


def _read(text: str, name: str) -> Lesson:
    try:
        about, body = frontmatter.parse(text)
    except NOT_YAML as error:
        raise _not_yaml("the front matter", error, 1) from error
    about = _about(about)
    offset = text.rstrip().count("\n") - body.rstrip().count("\n")
    steps = tuple(_steps(body, offset))
    if not steps:
        raise LessonError(1, "a lesson needs at least one step: a heading that begins with “## ”.")
    if len(steps) > limits.LESSON_STEPS.value:
        raise LessonError(
            steps[limits.LESSON_STEPS.value].line, f"a lesson has at most {limits.LESSON_STEPS.value} steps: split it."
        )
    return Lesson(name=name, steps=steps, first=0 if steps[0].level == 1 else 1, **about)


def _about(written: Mapping[str, Any]) -> dict[str, Any]:
    if missing := [field for field in FIELDS if field not in written]:
        raise LessonError(1, f"the front matter lacks {', '.join(missing)}.")
    if unknown := [str(field) for field in written if field not in FIELDS]:
        raise LessonError(1, f"the front matter has no {', '.join(unknown)}. It has {', '.join(FIELDS)}.")
    for field, kind in FIELDS.items():
        if not isinstance(written[field], kind) or isinstance(written[field], bool):
            raise LessonError(1, f"{field} is a {'list' if kind is list else 'number' if kind is int else 'text'}.")
    if not 1 <= written["minutes"] <= MOST_MINUTES or not written["title"].strip():
        raise LessonError(1, f"a lesson has a title, and takes 1 to {MOST_MINUTES:,} minutes.")
    return {**written, "goals": tuple(map(str, written["goals"]))}


def _steps(body: str, offset: int) -> Iterator[Step]:
    """The steps of a lesson's text. offset: lines of the file before it."""
    parser = MarkdownIt("commonmark")
    parser.validateLink = lambda url: True  # type: ignore[method-assign] # links of any kind are seen, and refused here
    lines, tokens = body.splitlines(), parser.parse(body)
    starts: list[tuple[int, str, int]] = []
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.map and (token.tag == "h2" or (token.tag == "h1" and not starts)):
            starts.append((token.map[0], tokens[number + 1].content, int(token.tag[1])))
    first = starts[0][0] if starts else len(lines)
    if any(line.strip() for line in lines[:first]):
        raise LessonError(offset + 1, "text before the first step: begin with a heading “## …”.")
    for number, (start, title, level) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(lines)
        inside = [token for token in tokens if token.map and start <= token.map[0] < end]
        yield replace(_step(title, lines, start, end, inside, offset), level=level)


def _step(title: str, lines: list[str], start: int, end: int, tokens: list[Token], offset: int) -> Step:
    _refuse_foreign(tokens, offset)
    blocks: dict[str, Token] = {}
    for token in tokens:
        info = token.info.strip()
        if token.type != "fence" or info not in ("view", "question"):
            continue
        if info in blocks:
            raise LessonError(offset + token.map[0] + 1, f"this step has a {info} already: begin another step.")
        blocks[info] = token
    skipped = {line for token in blocks.values() for line in range(*token.map)}
    view_end = blocks["view"].map[1] if "view" in blocks else end
    prose, about_view = (
        "\n".join(line for number, line in enumerate(lines[first:last], first) if number not in skipped).strip()
        for first, last in ((start + 1, view_end), (view_end, end))
    )
    view_line, question_line = (
        offset + blocks[name].map[0] + 1 if name in blocks else 0 for name in ("view", "question")
    )
    return Step(
        title=title,
        prose=prose,
        about_view=about_view,
        view=_view(_block(blocks["view"], offset), view_line) if "view" in blocks else {},
        question=_question(_block(blocks["question"], offset), question_line) if "question" in blocks else None,
        line=offset + start + 1,
        view_line=view_line,
        question_line=question_line,
    )


def _refuse_foreign(tokens: list[Token], offset: int) -> None:
    """Raise LessonError for HTML and pictures: a reader's browser would run or fetch them."""
    for token in tokens:
        for one in (token, *(token.children or ())):
            if one.type in FOREIGN:
                raise LessonError(offset + token.map[0] + 1, FOREIGN[one.type])
            href = str(one.attrGet("href") or "") if one.type == "link_open" else ""
            if href and not href.startswith(("https://", "http://", "#")):
                raise LessonError(offset + token.map[0] + 1, f"a link begins with https://, not {href[:40]}.")


def _block(token: Token, offset: int) -> Mapping[str, Any]:
    """The YAML of a fenced block."""
    line = offset + token.map[0] + 1
    try:
        values = yaml.safe_load(token.content)
    except NOT_YAML as error:
        raise _not_yaml("this block", error, line + 1) from error
    if not isinstance(values, Mapping):
        raise LessonError(line, "this block is a list of names and values, such as “layer: 4”.")
    _refuse_words_as_truths(yaml.compose(token.content, yaml.SafeLoader), values, line + 1)
    return values


def _refuse_words_as_truths(root: yaml.Node, values: Mapping[str, Any], first: int) -> None:
    """Raise LessonError for a word such as on or yes, which YAML reads as true or false where a text is meant.

    values: of the block; first: its first line in the file.
    """
    for field, node in _scalars(root):
        if node.tag == "tag:yaml.org,2002:bool" and not _is_truth(field, values):
            truth, named = str(yaml.safe_load(node.value)).lower(), f"{field}: " if field else ""
            reason = f'{named}YAML reads {node.value} as {truth}. Put it in quotes: {named}"{node.value}"'
            raise LessonError(first + node.start_mark.line, reason)


def _scalars(root: yaml.Node) -> Iterator[tuple[str, yaml.ScalarNode]]:
    """Each single value with the field that it is in, and each name with ""; what an anchor repeats, once."""
    waiting, known = [("", root)], set[int]()
    while waiting:
        field, node = waiting.pop()
        if id(node) in known:
            continue
        known.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield field, node
        elif isinstance(node, yaml.SequenceNode):
            waiting += [(field, one) for one in node.value]
        else:
            waiting += [pair for name, one in node.value for pair in (("", name), (str(name.value), one))]


def _is_truth(field: str, values: Mapping[str, Any]) -> bool:
    """Whether a field of a block is true or false: of a question, or of a view, where pages say so."""
    if "page" in values:
        return field not in state.params or isinstance(state.params[field].default, bool)
    return field in ("look", "right") or (field == "answer" and values.get("kind") == "true or false")


def _view(values: Mapping[str, Any], line: int) -> dict[str, str]:
    """Page and values as a link has them. Whether the page exists is checked where pages are known."""
    if not isinstance(values.get("page"), str):
        raise LessonError(line, "a view names its page, such as “page: heads”.")
    for name, value in values.items():
        if name in FORBIDDEN:
            raise LessonError(line, f"a view has no {name}: a lesson names no file and no machine.")
        if name != "page" and name not in state.params:
            raise LessonError(line, f"no page has a value “{name}”. Copy the values from a link of the app.")
        if not isinstance(value, str | int | float):
            raise LessonError(line, f"{name} is a text or a number, as in a link.")
    return former.current({str(name): _in_link(value) for name, value in values.items()})


def _in_link(value: str | float | bool) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _question(values: Mapping[str, Any], line: int) -> Question:
    try:
        return read_question(values)
    except FAULTS as error:
        raise LessonError(line, fault_of(error)) from error


def _not_yaml(what: str, error: Exception, first: int) -> LessonError:
    mark = getattr(error, "context_mark", None) or getattr(error, "problem_mark", None)
    reason = getattr(error, "problem", None) or (
        "it is nested too deeply" if isinstance(error, RecursionError) else f"it has a value of no kind ({error})"
    )
    return LessonError(first + mark.line if mark else first, f"{what} is not YAML: {reason}.")
