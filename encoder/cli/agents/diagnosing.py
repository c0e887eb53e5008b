"""What is wrong with a folder, and why another program's vectors differ: the answers of `check` and `diagnose`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoder.cli import diagnose, progress, running
from encoder.cli.agents.answer import Answer, view_of
from encoder.cli.agents.asking import (
    DETAIL,
    LONGEST_NAME,
    MODEL,
    file_place,
    line_of,
    model_place,
    option_of,
    parse,
    schema_of,
)
from encoder.cli.command import PROGRAM
from encoder.diagnose import Check, Verdict, iter_check

#: Other models of one search, each of which is opened.
MOST_OTHERS = 3
#: Where a file may be.
FILE = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}


@dataclass(frozen=True)
class FolderCheck:
    """What a folder leads other programs into."""

    question = (
        "What will go wrong with a model's folder in other programs? Files that contradict each other, and settings "
        "that are easily missed, each with its file, its values and a remedy. Needs no vectors."
    )

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its argument."""
        return {
            "type": "object",
            "properties": {"folder": {name: one for name, one in MODEL.items() if name != "default"}, "detail": DETAIL},
            "required": ["folder"],
            "additionalProperties": False,
        }

    def run(self, given: Mapping[str, Any], root: Path | None) -> Answer:
        """The findings, contradictions first. Raises CommandError and EncoderError."""
        place = model_place(given["folder"], root)
        found = progress.shares(iter_check(place))
        return Answer(
            _checked(found),
            found.about()["findings"],
            {"level": "contradiction: two files disagree; easily missed: some programs do not read it"},
            "The files are compared; no vectors are. A folder without findings may still be used wrongly: ask "
            "why_vectors_differ with another program's vectors.",
            {"folder": found.folder, "notes": list(found.notes), "trouble": found.trouble},
            view_of("diagnose", place),
            f"from encoder import diagnose\n\nfound = diagnose.check({place!r})\nprint(found.findings)\n",
            shlex.join([PROGRAM, *line_of(running.COMMANDS["check"], place, {})]),
        )


def _checked(found: Check) -> str:
    """The finding in one sentence. Names and files in it are those of this program's own list."""
    contradictions = len(found.contradictions)
    said = f"Contradictions: {contradictions}, easily missed settings: {len(found.findings) - contradictions}"
    if found.findings:
        names = dict.fromkeys(f"{one.name} ({one.file})" for one in found.findings)
        said += f": {', '.join(names)}"
    return f"{said}. {'The folder does not open: see trouble.' if found.trouble else 'The folder opens.'}"


@dataclass(frozen=True)
class VectorDiagnosis:
    """Which fault gives exactly another program's vectors."""

    question = (
        "Why do another program's vectors differ from a model's? Every fault of the list is run on the texts, alone "
        "and together; the answer is the verdict with its evidence, what was excluded, and texts to send next."
    )
    #: Argument -> option of the command, without dashes.
    arguments = {"texts_file": "texts", "vectors_file": "vectors"} | {
        name: name for name in ("column", "prompt", "precision", "batch", "repeat", "together")
    }

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments; limits are those of the command."""
        command = running.COMMANDS["diagnose"]
        own = {name: schema_of(option_of(command, option)) for name, option in self.arguments.items()}
        for name in ("texts_file", "vectors_file"):
            own[name] = FILE | {"description": f"below --models-root: {own[name]['description']}"}
        other = schema_of(option_of(command, "other")) | {"maxItems": MOST_OTHERS}
        own["together"]["description"] += "; a search for fewer takes less time"
        return {
            "type": "object",
            "properties": {"model": MODEL, **own, "other": other, "detail": DETAIL},
            "required": ["texts_file", "vectors_file"],
            "additionalProperties": False,
        }

    def run(self, given: Mapping[str, Any], root: Path | None) -> Answer:
        """The verdict. Raises CommandError and EncoderError."""
        place = model_place(given.get("model", "minilm"), root)
        options: dict[str, Any] = {option: given.get(name) for name, option in self.arguments.items()}
        options |= {option: file_place(options[option], root) for option in ("texts", "vectors")}
        options["other"] = [model_place(one, root) for one in given.get("other", [])]
        command = running.COMMANDS["diagnose"]
        words = line_of(command, place, options)
        parsed = parse(command, words)
        found: Verdict = running.found(command, diagnose.verdict, parsed)  # type: ignore[assignment]
        about = found.about()
        return Answer(
            " ".join(found.said.splitlines()[: 2 if found.faults else 1]),  # the cause and its evidence
            _explanations(about),
            {"difference": "largest difference of one number of a vector, with these faults; without a unit"}
            | {"difference_without": "the same without faults"}
            | {"correlation": "of the errors of these vectors and of the named rounding, -1 to 1"},
            "Only faults of `encoderscope faults` are tried. These texts show only what they contain: causes that give "
            "the same vectors are alternatives, and nearest is not a finding.",
            {name: about[name] for name in ("excluded", "not_excluded", "next_texts", "fingerprint")}
            | {"model": place, "texts": len(found.texts), "precision": parsed.precision, "together": parsed.together},
            view_of("diagnose", place, their_precision=parsed.precision, faults_together=str(parsed.together)),
            _lines(place, parsed, found),
            shlex.join([PROGRAM, *words]),
        )


def _explanations(about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for what explains the vectors, for each alternative, and for what came nearest, as `--json` has them."""
    names = ("verdict", "faults", "difference", "difference_without", "correlation")
    rows = [{name: about[name] for name in names}]
    rows += [{"verdict": "alternative", "faults": faults} for faults in about["alternatives"]]
    return rows + [{"verdict": "nearest", **one} for one in [about["nearest"]] if one]


def _lines(place: str, options: argparse.Namespace, found: Verdict) -> str:
    """Python lines that find the same."""
    prompt = None if options.prompt is None else found.prompt
    settings = {"prompt": prompt, "batch": options.batch, "others": options.other}
    given = "".join(f", {name}={value!r}" for name, value in settings.items() if value not in (None, []))
    imports, texts = "from encoder.inputs.read import read_texts", f"read_texts({options.texts!r}"
    texts += ").texts" if options.column is None else f", text={options.column!r}).texts"
    if Path(options.texts).suffix == ".json":
        imports = "import json\nfrom pathlib import Path"
        texts = f"json.loads(Path({options.texts!r}).read_text('utf-8'))"
    if options.repeat > 1:
        texts = f"[text for text in {texts} for _ in range({options.repeat})]"
    return (
        f"{imports}\n\nfrom encoder import diagnose\n\n"
        f"texts = {texts}\n"
        f"vectors = diagnose.read_vectors({options.vectors!r})\n"
        f"found = diagnose.find(\n    {place!r}, texts, vectors, precision={options.precision!r}, "
        f"together={options.together}{given}\n)\nprint(found.said)\n"
    )
