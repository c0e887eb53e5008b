"""The commands that run a model: one grammar, every format, the examples of help and documents."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import encoder
from docs import commands
from encoder import causal, diagnose
from encoder.cli import completion, doctor, inputs, lesson, main, progress
from encoder.cli.command import CODES, Parser
from encoder.cli.values import FORMATS
from encoder.documents.csv_file import FORMULA
from encoder.drawing import still
from encoder.inputs import spoken_digits
from encoder.inputs.digits import decode, examples
from encoder.inputs.sound_files import wav_bytes
from encoder.measure.head_measures import head_measures
from pages.teaching.lessons.command import main as lessons_of_files
from tests.conftest import ROOT

CAT = "The cat sat on the mat"
TEXTS = ["A cat sat.", "A dog ran fast.", "The mat is red."]
#: The document of the command line.
DOCUMENT = ROOT / "docs/command-line.md"
#: Commands that serve, or change more than files of the reader's folder.
NOT_RUN = {"app", "serve", "lesson preview", "mcp"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder, with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{text},{kind},{kind}\n" for text, kind in zip(TEXTS, "aba", strict=True))
    Path("texts.csv").write_text(f"text,label,stars\n{rows}", encoding="utf-8")
    Path("pairs.csv").write_bytes((ROOT / "docs/alignment.csv").read_bytes())
    digit = Image.fromarray((decode(examples()["5"]) * 255).astype("uint8"))
    digit.resize((80, 80), Image.Resampling.NEAREST).save("digit.png")
    Path("my-lessons").mkdir()
    Path("CODES.txt").touch()
    Path("seven.wav").write_bytes(wav_bytes(spoken_digits.examples()["seven"].sound))
    return tmp_path


def said(words: list[str], capsys: pytest.CaptureFixture, code: int = 0) -> str:
    capsys.readouterr()
    assert main.main(words) == code
    return str(capsys.readouterr().out)


def of_standard_output(words: list[str]) -> bytes:
    """What a process writes to a pipe."""
    command = [sys.executable, "-m", "encoder", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout


def of_lessons(command: list[str], check: bool) -> subprocess.CompletedProcess:
    """What a process with the app's script for lessons would do; `command` is Python, -P, the script, its words."""
    return subprocess.CompletedProcess(command, lessons_of_files(command[3:]))


# --- the grammar ------------------------------------------------------------------------------------------------------


def run_example(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command; one that serves is only parsed."""
    command, rest = main._found(words)
    if command.name in NOT_RUN:
        assert callable(main.function(command))
        Parser(command).parse_intermixed_args(rest)
        return
    if command.name in ("corpus show", "corpus index") and not Path("atlas").exists():
        build = "corpus build twin-pre --texts wordnet --most 20 --out atlas --vectors 0"
        assert main.main(build.split()) == 0
    if command.name == "golden check" and not Path("vectors.npy").exists():  # what another program gives
        assert main.main(["golden", "write", "twin-pre", "--out", "golden.safetensors"]) == 0
        np.save("vectors.npy", diagnose.read_golden("golden.safetensors").vectors)
    if command.name.startswith("lesson "):  # in this process: another one takes seconds to start
        monkeypatch.setattr(lesson.subprocess, "run", of_lessons)
    if command.name == "lesson check" and not Path(rest[0]).exists():
        assert main.main(["lesson", "new", rest[0]]) == 0
    if command.name == "probe":  # the whole task takes minutes
        from encoder import probe

        small = probe.bundled("pos")
        small = probe.Task(small.texts[:60], ("a", "b") * 30, None, "small")
        monkeypatch.setattr(probe, "bundled", lambda _: small)
    assert main.main(words) in ((0, 1) if command.name == "doctor" else (0,))


@pytest.mark.sample(3, "another command, which opens a model")
@pytest.mark.parametrize("name", main.COMMANDS)
def test_the_example_of_the_help_runs(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    words = shlex.split(main.COMMANDS[name].example)
    with pytest.raises(SystemExit, match="0"):
        main.main([*name.split(), "--help"])
    help_text = capsys.readouterr().out
    assert f"encoderscope {main.COMMANDS[name].example}" in help_text
    assert "130" in help_text
    run_example(words, monkeypatch)
    if "--out" in words:
        assert Path(words[words.index("--out") + 1]).exists()


def test_the_document_of_all_commands_says_what_their_help_says():
    of_each = dict(part.split("\n", 1) for part in commands.text().split("\n## encoderscope ")[1:])
    assert list(of_each) == list(main.COMMANDS)
    for name, part in of_each.items():
        command = main.COMMANDS[name]
        assert part.strip().split("\n")[0][1:].removesuffix(".") == command.help[1:], "with its capitals"
        printed = "".join(Parser(command).format_help().split())  # which breaks lines, also after a hyphen
        cells = [row.split("` | ")[1].removesuffix(" |") for row in part.splitlines() if row.startswith("| `")]
        plain = [cell.replace("\\|", "|").replace("&lt;", "<") for cell in cells]
        assert [cell for cell in plain if "".join(cell.split()) not in printed] == []
        assert not any("default: default" in cell or cell.count("(default:") > 1 for cell in plain)


def documented() -> list[str]:
    """The commands of README and docs that run, without those marked as not run and the examples of the help."""
    found = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        for kind, block in re.findall(r"```(?:sh|bash)( no-run)?\n(.*?)```", text, re.DOTALL):
            lines = [re.split(r" > | +#", line)[0] for line in block.splitlines()]
            found += [line for line in lines if line.startswith("encoderscope") and not kind]
    examples = {f"encoderscope {one.example}" for one in main.COMMANDS.values()}  # these run above
    return [line for line in dict.fromkeys(found) if line not in examples]


@pytest.mark.sample(3, "another command, which opens a model")
@pytest.mark.parametrize("line", documented())
def test_the_commands_of_the_documents_run(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    run_example(shlex.split(line)[1:], monkeypatch)


def test_texts_come_from_options_a_file_and_a_pipe(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    measure = ["measure", "twin-pre", "--format", "jsonl"]
    both = said([*measure, "--text", CAT, "--texts", "texts.csv"], capsys).splitlines()
    assert {json.loads(line)["text"] for line in both} == {0, 1, 2, 3}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(TEXTS).encode())))
    piped = said([*measure, "-"], capsys).splitlines()
    assert [json.loads(line)["entropy"] for line in piped] == [json.loads(line)["entropy"] for line in both[16:]]


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["measur", "minilm"], "did you mean measure?"), (["corpus", "buidl"], "did you mean corpus build?"),
        (["corpus"], "corpus show"), (["frobnicate"], "--help"), (["measure"], "MODEL is missing"),
        (["measure", "minilm"], "no input"), (["measure", "minilm", "more", "--text", "a"], "'more' follows MODEL"),
        (["search", "minilm", "--file", "a.png", "--query", "a"], "texts only"),
    ],
)  # fmt: skip
def test_wrong_words_have_a_suggestion(words: list[str], remedy: str, capsys: pytest.CaptureFixture):
    assert main.main(words) == 2
    assert remedy in capsys.readouterr().err


def test_a_command_of_texts_offers_no_file(capsys: pytest.CaptureFixture):
    with pytest.raises(SystemExit, match="0"):
        main.main(["search", "--help"])
    said = capsys.readouterr().out
    assert "--texts FILE" in said
    assert "--file" not in said


def test_an_unknown_option_has_a_suggestion(capsys: pytest.CaptureFixture):
    with pytest.raises(SystemExit, match="2"):
        main.main(["trace", "minilm", "--text", "a", "--heads", "2"])
    assert "did you mean --head?" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main.main(["measure", "minilm", "--text", "a", "--measure", "entorpy"])
    assert "did you mean entropy?" in capsys.readouterr().err
    assert main.main(["ablate", "minilm", "--text", "a", "--outcome", "sentense"]) == 1
    assert "did you mean sentence?" in capsys.readouterr().err


def test_exit_codes_of_help_and_document_are_those_of_the_table():
    """The document has a row for each command whose codes mean something else, and its help says nothing else."""
    rows = [row.strip("| ").split(" | ") for row in DOCUMENT.read_text("utf-8").splitlines() if row.startswith("| ")]
    written = {name.strip("`"): codes for name, *codes in rows if len(codes) == 4 and name != "command"}
    declared = {"every other": CODES} | {
        name: CODES | dict(one.codes) for name, one in main.COMMANDS.items() if one.codes
    }
    assert written == {name: [codes.get(code, "-") for code in range(4)] for name, codes in declared.items()}
    for name, one in main.COMMANDS.items():
        said = " ".join(Parser(one).format_help().split())
        codes = declared.get(name, CODES)
        assert "Exit codes: " + ", ".join(f"{code} {codes[code]}" for code in sorted(codes)) in said
        assert not re.search(r"(exits|ends) with \d", said, re.IGNORECASE), "said a second time"


def test_an_answer_of_diagnose_is_no_error_of_it(folder: Path):
    """1 is a fault there, so whatever cannot be read exits with 2."""
    Path("object.json").write_text("{}")
    assert main.main(["diagnose", "twin-pre", "--texts", "object.json", "--vectors", "gone.npy"]) == 2
    assert main.main(["check", "nowhere"]) == 1


def test_means_over_texts_have_intervals_and_groups(folder: Path, capsys: pytest.CaptureFixture):
    options = ["--texts", "texts.csv", "--mean", "--by", "label", "--json"]
    rows = pd.DataFrame(json.loads(said(["measure", "twin-pre", *options], capsys))["rows"])
    model = encoder.load("twin-pre")
    single = [head_measures(model.trace(text))["previous"] for text in TEXTS]
    whole = rows[(rows["measure"] == "previous") & (rows["label"] == "")]
    assert whole["mean"].to_numpy() == pytest.approx(np.mean(single, axis=0).ravel(), abs=1e-6)
    assert (whole["low"] <= whole["mean"]).all()
    of_a = rows[(rows["measure"] == "previous") & (rows["value"] == "a")]
    assert set(of_a["texts"]) == {2}
    keep = ["ablate", "twin-pre", "--texts", "texts.csv", "--mean", "--keep", "kept", "--json"]
    assert said(keep, capsys) == said(keep, capsys)
    assert main.main([*keep, "--pair", "a"]) == 1
    sublayers = said(["ablate", "twin-pre", *options, "--what", "sublayers"], capsys)
    assert {row["outcome"] for row in json.loads(sublayers)["rows"]} == {"sentence"}
    assert "3 texts" in said(["ablate", "twin-pre", "--texts", "texts.csv", "--mean"], capsys)
    assert {row["sublayer"] for row in json.loads(sublayers)["rows"]} == {"attention", "ffn"}


@pytest.mark.slow("starts the command in another process")
def test_the_module_of_the_package_is_the_command():
    assert of_standard_output(["--version"]).decode().strip() == f"encoderscope {encoder.__version__}"


def test_progress_is_for_a_terminal_only(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    assert list(progress.track("abc", 3)) == list("abc")
    assert not capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(progress.track("abc", 3)) == list("abc")
    assert "3 of 3 texts" in capsys.readouterr().err


# --- the formats ------------------------------------------------------------------------------------------------------


@pytest.mark.sample(7, "the same tables and pictures in another format")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", [name for name, one in main.COMMANDS.items() if "png" in one.formats])
def test_every_command_writes_every_format(name: str, form: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    words = shlex.split(main.COMMANDS[name].example)
    words = [word for word in words if word != "--json"]
    if name == "similarity":
        words[words.index("minilm")] = "twin-pre"  # the smaller model
    if "--out" in words:
        del words[words.index("--out") : words.index("--out") + 2]
    run_example([*words, "--out", f"out.{form}"], monkeypatch)
    content = Path(f"out.{form}").read_bytes()
    if form == "png":
        assert min(Image.open(io.BytesIO(content)).size) > 20
    elif form == "svg":
        assert content.startswith(b"<svg ")
    elif form == "html":
        assert b"<!DOCTYPE html>" in content[:20]
    elif form == "npz":
        assert len(np.load(io.BytesIO(content))) > 0
    else:
        table = {
            "csv": pd.read_csv,
            "parquet": pd.read_parquet,
            "jsonl": lambda file: pd.read_json(file, lines=True),
            "json": lambda file: pd.DataFrame(json.load(file)["rows"]),
        }[form](io.BytesIO(content))
        assert len(table) > 0


def test_all_heads_by_default(folder: Path):
    model = encoder.load("twin-pre")
    trace = model.trace(CAT)
    assert main.main(["trace", "twin-pre", "--text", CAT, "--out", "all.csv"]) == 0
    table = pd.read_csv("all.csv", keep_default_na=False)
    expected = trace.every_layer()[1].numpy()
    np.testing.assert_allclose(table["weight"].to_numpy().reshape(expected.shape), expected, atol=1e-6)
    assert main.main(["trace", "twin-pre", "--text", CAT, "--out", "all.npz"]) == 0
    arrays = np.load("all.npz")
    np.testing.assert_allclose(arrays["attention"], expected, atol=1e-6)
    np.testing.assert_array_equal(arrays["q"], trace.q.numpy())
    np.testing.assert_array_equal(arrays["residual"][-1], list(trace.residual.values())[-1].numpy())
    assert main.main(["trace", "twin-pre", "--text", "a", "--text", CAT, "--out", "two.npz"]) == 0
    np.testing.assert_allclose(np.load("two.npz")["1/attention"], expected, atol=1e-6)


def test_numbers_are_those_of_python(folder: Path, capsys: pytest.CaptureFixture):
    model = encoder.load("twin-pre")
    trace = model.trace(CAT)
    rows = json.loads(said(["measure", "twin-pre", "--text", CAT, "--json"], capsys))["rows"]
    np.testing.assert_allclose([row["entropy"] for row in rows], head_measures(trace)["entropy"].ravel())
    rows = json.loads(said(["ablate", "twin-pre", "--text", CAT, "--outcome", "token:2", "--json"], capsys))["rows"]
    effects = causal.ablate_each_head(model, CAT, causal.TokenVector(2))
    np.testing.assert_allclose([row["effect"] for row in rows], effects.ravel(), atol=1e-6)
    words = [
        "patch",
        "twin-pre",
        "--text",
        "The cat sat",
        "--text",
        "The dog sat",
        "--where",
        "attention_out",
        "--json",
    ]
    patched = json.loads(said(words, capsys))
    outcome = causal.Similarity("The cat sat")  # as on the page: the vector that the patched run comes closer to
    expected = causal.patch(model, "The cat sat", "The dog sat", outcome, "attention_out")
    np.testing.assert_allclose([row["effect"] for row in patched["rows"]], expected.ravel(), atol=1e-6)
    assert patched["clean"] == pytest.approx(1)
    assert patched["corrupted"] < 0.9999
    assert [one for one in main.COMMANDS["patch"].options if "--run" in one.flags] == []
    assert [one for one in main.COMMANDS["ablate"].options if "--run" in one.flags]
    assert main.main(["embed", "minilm", "--texts", "texts.csv", "--out", "v.npz"]) == 0
    np.testing.assert_allclose(np.load("v.npz")["vectors"], encoder.load("minilm").embed(TEXTS).numpy(), atol=1e-5)
    assert (
        main.main(["embed", "minilm", "--texts", "texts.csv", "--layer", "2", "--pool", "cls", "--out", "v.npz"]) == 0
    )
    expected = [encoder.load("minilm").trace(text).before_layer(2)[0].numpy() for text in TEXTS]
    np.testing.assert_allclose(np.load("v.npz")["vectors"], expected, atol=1e-5)
    found = json.loads(said(["similarity", "minilm", "--texts", "texts.csv", "--json"], capsys))["rows"]
    vectors = encoder.load("minilm").embed(TEXTS).numpy()
    assert [row["cosine"] for row in found] == pytest.approx(
        [vectors[a] @ vectors[b] for a, b in ((0, 1), (0, 2), (1, 2))]
    )
    hits = json.loads(said(["search", "minilm", "--texts", "texts.csv", "--query", "a puppy", "--json"], capsys))[
        "rows"
    ]
    assert [hit["rank"] for hit in hits] == [1, 2, 3]
    assert hits[0]["sentence"] == "A dog ran fast."
    masked = json.loads(said(["classify", "twin-pre", "--text", "The [MASK] sat", "--json"], capsys))["rows"]
    first = model.predict_masked(model.trace("The [MASK] sat"), k=10)[0]
    assert [row["word"] for row in masked] == list(first.tokens)


#: Longer than the context of twin-pre.
LONG = "a cat sat on the mat " * 40


@pytest.mark.parametrize(
    ("words", "which"),
    [
        (["trace", "twin-pre", "--text", LONG], "the text "),
        (["measure", "twin-pre", "--text", "a cat", "--text", LONG], "text 2 "),
        (["trace", "--run", "model=twin-pre&" + urlencode({"text": LONG})], "the text "),
        (["trace", "twin-pre", "--text", "a cat", "--pair", LONG], "the text "),
        (["embed", "twin-pre", "--text", "a cat", "--text", LONG], "1 of 2 texts"),
        (["search", "twin-pre", "--text", LONG, "--query", "a cat"], "1 of 1 texts"),
        (["similarity", "twin-pre", "--layer", "output", "--text", "a cat", "--text", LONG], "1 of 2 texts"),
        (["similarity", "twin-pre", *["--text", LONG] * 3], "3 of 3 texts"),
        (["measure", "twin-pre", "--mean", "--text", "a cat", "--text", LONG], "1 of 2 texts"),
    ],
)
def test_a_command_that_cuts_a_text_says_so(words: list[str], which: str, capsys: pytest.CaptureFixture):
    """A number of its beginning would look like one of the whole text."""
    assert main.main(words) == 0
    first, *more = capsys.readouterr().err.splitlines()
    assert first.startswith(f"cut: {which}")
    assert not more


def test_of_many_cut_texts_the_first_are_named(folder: Path, capsys: pytest.CaptureFixture):
    assert main.main(["norms", "twin-pre", *["--text", LONG] * 7, "--out", "norms.csv"]) == 0
    *named, last = capsys.readouterr().err.splitlines()
    assert len(named) == inputs.PRINTED
    assert "7 texts" in last


def test_a_window_of_a_long_text_is_not_called_cut(capsys: pytest.CaptureFixture):
    run = urlencode({"model": "twin-pre", "text": LONG, "long": "windows", "window": 1})
    assert main.main(["trace", "--run", run]) == 0
    assert "cut:" not in capsys.readouterr().err


def test_probes_of_a_file_with_labels(folder: Path, capsys: pytest.CaptureFixture):
    rows = [f"the {animal} sat on mat {number},{animal}" for animal in ("cat", "dog") for number in range(6)]
    Path("labels.csv").write_text("text,label\n" + "\n".join(rows), encoding="utf-8")
    found = json.loads(said(["probe", "twin-pre", "--texts", "labels.csv", "--json"], capsys))
    assert [row["layer"] for row in found["rows"]] == [0, 1, 2, 3, 4]
    assert found["majority"] == 0.5
    assert found["rows"][-1]["accuracy"] == 1
    assert main.main(["probe", "twin-pre", "--text", "a"]) == 1


def test_images_have_classes_measures_and_effects(folder: Path, capsys: pytest.CaptureFixture):
    rows = json.loads(said(["classify", "digits-pre", "--file", "digit.png", "--json"], capsys))["rows"]
    assert max(rows, key=lambda row: row["probability"])["label"] == "5"
    assert main.main(["classify", "digits-pre", "--file", "digit.png", "--out", "c.npz"]) == 0
    assert np.load("c.npz")["labels"].tolist() == [row["label"] for row in rows]
    assert "head" in said(["ablate", "digits-pre", "--file", "digit.png", "--outcome", "class:5"], capsys)
    assert main.main(["trace", "minilm", "--file", "digit.png"]) == 1
    assert main.main(["embed", "digit-words", "--file", "digit.png", "--out", "v.npz"]) == 0
    assert np.load("v.npz")["vectors"].shape[0] == 1


def cells(path: Path) -> set[str]:
    """The cells of a table, but for numbers."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        found = {one for row in csv.reader(file) for one in row}
    return {one for one in found if not re.fullmatch(r"-?[\d.]+(e-?\d+)?", one)}


def test_csv_has_a_mark_only_for_spreadsheets(folder: Path):
    words = ["measure", "twin-pre", "--texts", "texts.csv", "--out", "m.csv"]
    assert main.main(words) == 0
    with Path("m.csv").open(encoding="utf-8", newline="") as file:
        assert next(iter(csv.DictReader(file)))["text"] == "0"
    assert main.main([*words, "--excel"]) == 0
    assert Path("m.csv").read_bytes().count("\ufeff".encode()) == 1
    hostile = ["trace", "twin-pre", "--text", "= + - a", "--out", "t.csv"]
    assert main.main(hostile) == 0
    assert {"=", "+", "-"} <= cells(Path("t.csv")), "a program reads what the tokens are"
    assert main.main([*hostile, "--excel"]) == 0
    assert not [one for one in cells(Path("t.csv")) if one.startswith(FORMULA)]
    assert {"'=", "'+", "'-", "a"} <= cells(Path("t.csv"))
    assert main.main([*words[:-1], "m.json", "--excel"]) == 1


@pytest.mark.slow("starts the command in other processes")
def test_standard_output_holds_nothing_else(folder: Path):
    table = pd.read_csv(io.BytesIO(of_standard_output(["measure", "twin-pre", "--text", CAT, "--out", "-"])))
    assert len(table) == 16
    words = ["trace", "twin-pre", "--text", CAT, "--format", "npz"]
    assert np.load(io.BytesIO(of_standard_output(words)))["attention"].shape == (4, 4, 8, 8)


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["--json", "--format", "csv"], "one of them"), (["--out", "."], "folder"),
        (["--out", "no/x.csv"], "folder no"),
        (["--out", "x.gif"], ".png"), (["--text", "b", "--out", "x.png"], "one input"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_written(words: list[str], remedy: str, folder: Path, capsys: pytest.CaptureFixture):
    before = sorted(folder.iterdir())
    assert main.main(["measure", "twin-pre", "--text", "a", *words]) == 1
    assert remedy in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("outcome", ["sentences", "token:x", "word:", "class"])
def test_an_unknown_outcome(outcome: str, capsys: pytest.CaptureFixture):
    assert main.main(["ablate", "twin-pre", "--text", "a", "--outcome", outcome]) == 1
    assert "similarity:TEXT" in capsys.readouterr().err


def test_attention_to_words_that_the_reader_chooses(folder: Path, capsys: pytest.CaptureFixture):
    build = ["corpus", "build", "twin-pre", "--texts", "texts.csv", "--out", "atlas"]
    assert main.main([*build, "--key-tokens", "cat dog"]) == 0
    rows = json.loads(said(["corpus", "show", "atlas", "--table", "key_tokens", "--json"], capsys))["rows"]
    of_cat = {row["n"] for row in rows if row["token"] == "cat"}
    assert of_cat == {1}
    model = encoder.load("twin-pre")
    trace = model.trace(TEXTS[0])
    expected = trace.attention(1, 2)[:, trace.tokens.index("cat")].mean()
    found = next(row for row in rows if (row["token"], row["layer"], row["head"]) == ("cat", 1, 2))
    assert found["mean"] == pytest.approx(float(expected), abs=1e-6)
    assert main.main([*build[:-1], "other", "--key-tokens", "catdogmat"]) == 1


# --- stills -----------------------------------------------------------------------------------------------------------


def test_a_still_has_the_colours_of_its_numbers():
    values = np.array([[0.0, 1.0, np.nan], [-1.0, 0.5, 0.0]])
    picture = still.matrix("title", values, ["a", "b"], ["x", "y", "z"], signed=True)
    image = np.asarray(Image.open(io.BytesIO(picture.png())))
    left, top = picture._corner
    side = picture.pixels.shape[2]
    centre = image[top + side // 2 :: side, left + side // 2 :: side][:2, :3].astype(int)
    assert (centre[0, 0] == 255).all()
    assert (centre[0, 2] == 200).all()
    assert not (centre[0, 1] == centre[1, 0]).all()
    assert abs(centre[1, 1] - (centre[0, 1] + 255) / 2).max() <= 1
    assert "-1 to 1" in picture.svg()


@pytest.mark.parametrize("shape", [(1, 1), (3, 700), (2_000, 2)])
def test_a_still_of_any_size(shape: tuple[int, int]):
    rows, columns = ([f"token {at}" for at in range(count)] for count in shape)
    picture = still.matrix("a < b", np.ones(shape), rows, columns)
    assert Image.open(io.BytesIO(picture.png())).size == picture.size
    assert "a &lt; b" in picture.svg()


# --- completion, doctor -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mea"], ["measure"]), (["corpus", ""], ["build", "show", "index"]),
        (["measure", "twin"], ["twin-pre", "twin-post"]),
        (["trace", "minilm", "--vi"], ["--view"]), (["trace", "minilm", "--view", "l"], ["lines"]),
        (["trace", "minilm", "--out", ""], []),
        (["corpus", "build", "dig"], ["digits-pre", "digits-post", "digit-words"]),
        (["completion", "z"], ["zsh"]),
    ],
)  # fmt: skip
def test_what_tab_offers(words: list[str], expected: list[str]):
    assert completion.candidates(words, main.COMMANDS) == expected


ASKED = {
    "bash": 'COMP_WORDS=(encoderscope measure mini); COMP_CWORD=2; _encoderscope; printf "%s" "${COMPREPLY[@]}"',
    "fish": "complete -C 'encoderscope measure mini'",
    # compadd works in a widget only: here it prints what it was given.
    "zsh": 'compadd() { printf "%s" "${(P)2}" }; words=(encoderscope measure mini); CURRENT=3; _encoderscope',
}


@pytest.mark.sample(3, "starts another shell")
@pytest.mark.parametrize("shell", ASKED)
def test_a_shell_completes(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture):
    """The script in a real shell, with the command under its name."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "encoderscope"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m encoder "$@"\n')
    script.chmod(0o755)
    program = f"{said(['completion', shell], capsys)}\n{ASKED[shell]}"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    answer = subprocess.run([shell, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "minilm", answer.stderr


def test_the_doctor_checks_versions(monkeypatch: pytest.MonkeyPatch):
    def version(name: str) -> str:
        return {"streamlit": "1.66.1"}.get(name, "999")

    monkeypatch.setattr("importlib.metadata.version", version)
    found = {one.name: one for one in doctor._packages()}
    assert found["streamlit"].state == "missing"
    assert "1.66.1" in found["streamlit"].what
    assert "pip install" in found["streamlit"].remedy
    assert found["torch"].state == "ok"


def test_what_a_command_did_is_said_as_json(folder: Path, capsys: pytest.CaptureFixture):
    build = "corpus build twin-pre --texts wordnet --most 20 --out said --vectors 2 --json"
    assert main.main(build.split()) == 0
    built = json.loads(capsys.readouterr().out)
    assert (built["Atlas"], built["Texts"], built["Heads"]) == ("said", 20, 4)
    assert main.main(["corpus", "index", "said", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"Atlas": "said", "Layers": [2]}
    Path("broken.md").write_text("# A lesson without a step\n", encoding="utf-8")
    assert lessons_of_files(["check", "--json", "broken.md"]) == 1
    found = json.loads(capsys.readouterr().out.splitlines()[0])
    assert found["file"] == "broken.md"
    assert found["reason"]


@pytest.mark.slow("starts the command in another process")
def test_lesson_check_is_silent_but_for_its_findings(folder: Path):
    assert main.main(["lesson", "new", "agreement.md"]) == 0
    command = [sys.executable, "-m", "encoder", "lesson", "check", "agreement.md"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert answer.stderr == ""
