"""The commands `check`, `diagnose`, `golden` and `fingerprint`: other programs' vectors against a model's."""

from __future__ import annotations

import argparse
import functools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from encoder import diagnose as engine
from encoder.checkpoints import load
from encoder.cli import inputs
from encoder.cli.command import CommandError, Result
from encoder.cli.progress import Shown
from encoder.cli.writing import say
from encoder.diagnose import Model
from encoder.diagnose.fingerprint import DECIDES
from encoder.diagnose.folders import signal_encoder, text_encoder
from encoder.diagnose.media import Inputs, content
from encoder.diagnose.verdict import MOST_TOGETHER
from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError
from encoder.inputs.layout import InputKind
from encoder.trace import gradual

V = TypeVar("V")
#: Seconds that `golden check` searches for a fault, so that a job of CI ends.
GOLDEN_SECONDS = 300.0


def check(options: argparse.Namespace) -> int:
    """What will go wrong with a folder elsewhere."""
    found = engine.check(options.folder)
    if options.json:
        print(json.dumps(found.about(), ensure_ascii=False))
        return found.code
    if found.trouble:
        print(f"This program cannot open the folder: {found.trouble}\n")
    print(found.said)
    for one in found.findings:
        where = f"{one.file}, {one.key}" if one.key else one.file
        print(f"\n{one.level}: {where}: {' | '.join(one.values)}\n  {one.said}\n  Remedy: {one.remedy}")
    for note in found.notes:
        print(f"\nnote: {note}")
    return found.code


def misused(command: Callable[[argparse.Namespace], V]) -> Callable[[argparse.Namespace], V]:
    """The command, whose errors exit with 2: the other codes are answers (`codes` in commands.toml)."""

    @functools.wraps(command)
    def run(options: argparse.Namespace) -> V:
        try:
            return command(options)
        except inputs.Misuse:
            raise
        except (EncoderError, CommandError) as error:
            raise inputs.Misuse(str(error)) from error

    return run


@misused
def diagnose(options: argparse.Namespace) -> int:
    """Which fault gives exactly these vectors; with --probes, texts to send."""
    if options.probes:
        model = load(options.model, device=options.device)
        if options.media:
            names = engine.write_probes(signal_encoder(model), options.media)
            say(options, f"{options.media}: {', '.join(names)}", {"folder": str(options.media), "files": names})
            return 0
        texts = engine.probes(text_encoder(model))
        print("\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in texts))
        return 0
    return _printed(options, verdict(options))


@misused
def verdict(options: argparse.Namespace) -> engine.Verdict:
    """Which fault gives exactly these vectors, with its progress. Raises CommandError."""
    if options.media:
        return _verdict_of_media(options)
    model = text_encoder(load(options.model, device=options.device))
    prompt = _prompt(model, options.prompt)
    sent = tuple(text for text in _texts(options) for _ in range(options.repeat))
    vectors = _vectors(options, lambda: model, sent, model.takes, prompt)
    return _searched(options, options.model, model, sent, vectors, prompt)


def _verdict_of_media(options: argparse.Namespace) -> engine.Verdict:
    """Of images or sounds: the files of a folder."""
    if options.texts:
        raise inputs.Misuse("--media FOLDER stands in place of --texts FILE: specify one of them.")
    files = _files(options.media)
    model = signal_encoder(load(options.model, device=options.device))
    prompt = _prompt(model, options.prompt)
    vectors = _vectors(options, lambda: model, files, model.takes, prompt)
    return _searched(options, options.model, model, files, vectors, prompt)


def _files(folder: Path) -> dict[str, bytes]:
    """The files of a folder in the order of their names."""
    if not folder.is_dir():
        raise inputs.Misuse(f"no folder {str(folder)[:200]}: specify the folder of the images or sounds.")
    found = sorted(one for one in folder.iterdir() if one.is_file() and not one.name.startswith("."))
    if not found:
        raise inputs.Misuse(f"no files in {str(folder)[:200]}: specify the folder of the images or sounds.")
    return {one.name: content(one) for one in found}


def _searched(
    options: argparse.Namespace,
    source: str,
    model: TextEncoder | SignalEncoder,
    texts: Inputs,
    vectors: np.ndarray,
    prompt: str | None,
    most_seconds: float | None = None,
) -> engine.Verdict:
    shown = Shown("candidates")
    work = engine.find_gradually(
        source if options.device == "auto" else model,
        texts,
        vectors,
        prompt=prompt,
        precision=options.precision,
        batch=options.batch,
        others=options.other,
        together=options.together,
        kept=engine.Excluded(options.resume),
        most_seconds=most_seconds,
    )

    def say_progress(step: engine.Step) -> None:
        if step.estimate and not step.done:
            fewer = "; --together 1 tries single faults only" if options.together > 1 else ""
            print(f"{step.estimate}{fewer}", file=sys.stderr)
        shown(step.done, max(step.total, 2))

    return gradual.result(gradual.reported(work, say_progress))


def _printed(options: argparse.Namespace, found: engine.Verdict) -> int:
    print(found.as_json() if options.json else found.said)
    if found.more:
        print(f"{found.more}: encoderscope diagnose --together {found.together + 1}", file=sys.stderr)
    return found.code


def _prompt(model: TextEncoder | SignalEncoder, given: str | None) -> str | None:
    """A prompt by its name in the model, or as it is written. Raises Misuse for a model of images or sounds."""
    if given is None:
        return None
    if not isinstance(model, TextEncoder):
        raise inputs.Misuse(f"--prompt stands before texts, and {model.name} accepts {model.takes}s: leave it out.")
    return model.prompts.get(given, given)


def _texts(options: argparse.Namespace) -> tuple[str, ...]:
    """The texts as they are: white space at their ends may be what is wrong."""
    if not options.texts:
        raise inputs.Misuse("no texts: specify --texts FILE or --media FOLDER, or --probes for texts to send.")
    path = Path(options.texts)
    if path.suffix == ".json":
        from encoder.inputs.json_file import parse_json

        found = parse_json(path) if path.is_file() else None
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise CommandError(f"{path} is not a JSON list of texts: specify one, or a .txt, .csv or .jsonl file.")
        return tuple(found)
    from encoder.inputs.read import read_texts

    read = read_texts(options.texts, text=options.column)
    if read.problems or read.n_blank:
        why = read.problems[0] if read.problems else f"{read.n_blank} rows are blank."
        raise CommandError(f"{path} does not have one text for each vector: {why} Correct it.")
    return read.texts


def _vectors(
    options: argparse.Namespace,
    model: Callable[[], TextEncoder | SignalEncoder],
    texts: Inputs,
    takes: InputKind,
    prompt: str | None,
) -> np.ndarray:
    """The other program's vectors: of a file, of a server, or of an ONNX file, which needs the model's tokens."""
    given = [name for name in ("vectors", "endpoint", "onnx") if getattr(options, name)]
    if len(given) != 1:
        raise inputs.Misuse("specify one of --vectors FILE, --endpoint URL and --onnx FILE.")
    if options.vectors:
        return engine.read_vectors(options.vectors)
    if options.onnx:
        if isinstance(texts, Mapping):
            raise inputs.Misuse("--onnx FILE runs texts: save the vectors of images and sounds, and specify --vectors.")
        return engine.embed_by_onnx(text_encoder(model()), options.onnx, texts, prompt=prompt)
    server = engine.Endpoint(options.endpoint, options.server_model or "", options.batch)
    if isinstance(texts, Mapping):
        return server.embed_files(texts, takes)
    return server.embed(texts)


def write_golden(options: argparse.Namespace) -> int:
    """Write a golden file of a model."""
    model = _tower(load(options.model, device="cpu"), bool(options.media))
    given: Inputs = _files(options.media) if options.media else _texts(options) if options.texts else ()
    prompt = _prompt(model, options.prompt)
    golden = engine.make_golden(options.model, given, model=model, layers=options.layers, prompt=prompt)
    engine.write_golden(golden, options.out)
    facts = {"file": str(options.out), "texts": len(golden.texts), "fingerprint": golden.fingerprint.id}
    noun = "files" if golden.files else "texts"
    say(options, f"{options.out}: {len(golden.texts)} {noun}, fingerprint {golden.fingerprint.id}", facts)
    return 0


def _tower(model: Model, media: bool) -> TextEncoder | SignalEncoder:
    """The encoder of texts; of images or sounds where `media` says so, or where the model has no other."""
    return signal_encoder(model) if media or "text" not in model.towers else text_encoder(model)


@misused
def check_golden(options: argparse.Namespace) -> int:
    """Compare another program with a golden file; where it differs, diagnose with the model, if it opens here."""
    golden = engine.read_golden(options.golden)
    opened = cache(lambda: _model_of(golden, options.model))  # where its numbers are needed
    vectors = _vectors(options, opened, golden.inputs, golden.takes, golden.prompt)
    worst, limit = float(golden.differences(vectors).max()), golden.tolerance(options.precision)
    same = worst <= limit
    found = f"largest relative difference: {worst:.2g}" if math.isfinite(worst) else "the width differs"
    said = f"{'The same' if same else 'Other vectors'}: {found}, tolerance: {limit:.2g}."
    facts = {
        "verdict": "sound" if same else "unknown", "difference": worst if math.isfinite(worst) else None,
        "tolerance": limit, "fingerprint": golden.fingerprint.id,
    }  # fmt: skip
    if same:
        say(options, said, facts)
        return 0
    try:
        model = opened()
    except CommandError as error:
        say(options, f"{said}\nNot diagnosed. {error}", {**facts, "trouble": str(error)})
        return 1
    if not options.json:  # the diagnosis is its object
        print(said, flush=True)
    changed = engine.fingerprint(model, golden.prompt).differences(golden.fingerprint)
    for name, (now, then) in changed.items():
        print(f"The model here is not that of the golden file: {name}: {now}, then: {then}", file=sys.stderr)
    options.device, options.other, options.together, options.resume = "cpu", [], MOST_TOGETHER, None
    source = options.model or golden.run.model.source
    _printed(options, _searched(options, source, model, golden.inputs, vectors, golden.prompt, GOLDEN_SECONDS))
    return 1


def _model_of(golden: engine.Golden, source: str | None) -> TextEncoder | SignalEncoder:
    """The model of a golden file, from `source` or where the file names it. Raises CommandError where it does not
    open."""
    try:
        return golden.model_of(load(source or golden.run.model.source, device="cpu"))
    except EncoderError as error:
        raise CommandError(f"The golden file's model is needed: specify it with --model MODEL. {error}") from error


def fingerprint(options: argparse.Namespace) -> int:
    """The fingerprint of a model, or what differs from another."""
    model = _tower(load(options.model, device="cpu"), options.media)
    own = engine.fingerprint(model, _prompt(model, options.prompt))
    if options.compare is None:
        lines = [f"{own.id}", *(f"{name}: {value}" for name, value in own.fields.items())]
        print(own.as_json() if options.json else "\n".join(lines))
        return 0
    path = Path(options.compare)
    if path.suffix == ".json" and path.is_file():
        other = engine.Fingerprint.parse(path.read_text(encoding="utf-8"))
    elif path.suffix == ".safetensors" and path.is_file():
        other = engine.read_golden(path).fingerprint
    else:
        second = _tower(load(options.compare, device="cpu"), options.media)
        other = engine.fingerprint(second, _prompt(second, options.prompt))
    changed = own.differences(other)
    decides = [name for name in changed if name in DECIDES]
    if not changed:
        sentence = f"The same ({own.id}): keep your index."
    elif decides:
        sentence = f"Make your index again: {', '.join(decides)} differ."
    else:
        sentence = f"{', '.join(changed)} differ: compare some vectors, and keep your index if they agree."
    lines = [f"{name}: {here}, there: {there}" for name, (here, there) in changed.items()]
    say(options, "\n".join([sentence, *lines]), {"same": not changed, "keep": not decides, "differences": changed})
    return int(bool(decides))


def list_faults(_: argparse.Namespace) -> Iterator[Result]:
    """The registry of faults."""
    import pandas as pd

    rows = [
        (kind.name, kind.stage, " ".join((kind.__doc__ or "").split()), kind.remedy) for kind in engine.FAULTS.values()
    ]
    table = pd.DataFrame(rows, columns=["fault", "stage", "what", "remedy"])
    yield Result(lambda: [table], shown=lambda: table.drop(columns="remedy"), name=f"{len(table)} faults")
