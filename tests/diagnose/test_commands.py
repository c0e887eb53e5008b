"""The commands: one answer on every surface, its exit code, and wrong use."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import encoder
from encoder import diagnose
from encoder.cli import diagnose as cli
from encoder.cli import main
from encoder.diagnose.faults import FAULTS
from tests.diagnose.test_endpoint import reply, serving

TEXTS = ["A cat sat on the mat.", "two words", "A dog ran very fast through the old town.", "café"]
KEYS = {
    "verdict", "faults", "difference", "difference_without", "correlation", "alternatives", "excluded", "not_excluded",
    "nearest", "errors", "next_texts", "fingerprint", "together",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Texts, and the vectors that three programs give them."""
    monkeypatch.chdir(tmp_path)
    model = encoder.load("twin-pre")
    Path("texts.json").write_text(json.dumps(TEXTS), encoding="utf-8")
    Path("texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    np.save("right.npy", model.embed(TEXTS).numpy())
    states = [model.trace(text).output for text in TEXTS]
    np.save("first.npy", np.stack([one[0].numpy() for one in states]))
    np.save("random.npy", np.random.default_rng(0).normal(size=(4, model.config.d_model)))
    return tmp_path


def run(words: str, capsys: pytest.CaptureFixture) -> tuple[int, str]:
    capsys.readouterr()
    code = main.main(words.split())
    return code, capsys.readouterr().out


@pytest.mark.parametrize("texts", ["texts.json", "texts.txt"])
def test_the_right_vectors_are_sound(texts: str, folder: Path, capsys: pytest.CaptureFixture):
    code, said = run(f"diagnose twin-pre --texts {texts} --vectors right.npy --json", capsys)
    found = json.loads(said)
    assert (code, found["verdict"], found["faults"]) == (0, "sound", [])
    assert set(found) == KEYS


def test_a_fault_is_named_with_its_evidence(folder: Path, capsys: pytest.CaptureFixture):
    code, said = run("diagnose twin-pre --texts texts.json --vectors first.npy --together 1 --json", capsys)
    found = json.loads(said)
    (fault,) = found["faults"]
    assert (code, found["verdict"], fault["name"], fault["parameters"]) == (1, "fault", "pooling", {"pooling": "cls"})
    assert found["difference"] < 1e-5 < 0.01 < found["difference_without"]
    assert fault["name"] not in found["excluded"]
    assert set(found["excluded"]) <= set(FAULTS)
    assert len(found["excluded"]) > 15
    by_engine = diagnose.find("twin-pre", TEXTS, np.load("first.npy"), together=1)
    assert by_engine.about() == found
    code, said = run("diagnose twin-pre --texts texts.json --vectors first.npy --together 1", capsys)
    assert fault["said"] in said
    assert fault["remedy"] in said


def test_random_vectors_are_unknown(folder: Path, capsys: pytest.CaptureFixture):
    code, said = run("diagnose twin-pre --texts texts.json --vectors random.npy --together 1 --json", capsys)
    found = json.loads(said)
    assert (code, found["verdict"], found["faults"]) == (3, "unknown", [])
    assert found["next_texts"]
    assert not set(found["next_texts"]) & set(TEXTS)
    main.main(["diagnose", "twin-pre", *"--texts texts.json --vectors random.npy --together 1".split()])
    said = capsys.readouterr()
    assert "single" in said.out, "pairs were not searched, so nothing is said of them"
    assert "--together 2" in said.err


def test_an_unknown_answer_says_what_was_searched_and_offers_the_rest():
    one, two, three = (diagnose.Verdict("unknown", 1.0, 1.0, together=number) for number in (1, 2, 3))
    assert len({found.said for found in (one, two, three)}) == 3
    assert one.more
    assert two.more
    assert not three.more, "everything was searched"
    assert not diagnose.Verdict("sound", 0.0, 0.0).more


def test_a_program_that_does_not_repeat_itself_is_not_diagnosed(folder: Path, capsys: pytest.CaptureFixture):
    vectors = np.repeat(np.load("right.npy"), 2, axis=0)
    vectors[::2] *= 1 + np.random.default_rng(0).uniform(0.1, 0.2, (4, 1))
    np.save("twice.npy", vectors)
    code, said = run("diagnose twin-pre --texts texts.json --vectors twice.npy --repeat 2 --json", capsys)
    assert (code, json.loads(said)["verdict"]) == (3, "not-repeatable")


def test_probes_can_be_read_as_texts(folder: Path, capsys: pytest.CaptureFixture):
    code, said = run("diagnose twin-pre --probes", capsys)
    assert code == 0
    Path("probes.jsonl").write_text(said, encoding="utf-8")
    texts = [json.loads(line)["text"] for line in said.splitlines()]
    assert {"a", "one\ttwo\nthree"} <= set(texts)
    np.save("probes.npy", encoder.load("twin-pre").embed(texts).numpy())
    assert run("diagnose twin-pre --texts probes.jsonl --vectors probes.npy", capsys)[0] == 0


def test_a_server_is_diagnosed(folder: Path, capsys: pytest.CaptureFixture):
    model = encoder.load("twin-pre")

    def answer(handler, body) -> None:
        reply(handler, {"data": [{"index": at, "embedding": model.trace(text).output[0].tolist()}
                                 for at, text in enumerate(body["input"])]})  # fmt: skip

    with serving(answer) as url:
        words = f"diagnose twin-pre --texts texts.json --endpoint {url}/v1/embeddings --together 1 --json"
        code, said = run(words, capsys)
    assert (code, json.loads(said)["faults"][0]["name"]) == (1, "pooling")


def test_a_golden_file_is_checked(folder: Path, capsys: pytest.CaptureFixture):
    assert run("golden write twin-pre --texts texts.json --out golden.safetensors", capsys)[0] == 0
    code, said = run("golden check golden.safetensors --vectors right.npy --json", capsys)
    assert (code, json.loads(said)["verdict"]) == (0, "sound")
    code, said = run("golden check golden.safetensors --vectors first.npy --json", capsys)
    assert (code, json.loads(said)["faults"][0]["name"]) == (1, "pooling")


def test_a_golden_check_compares_without_the_model_and_says_how_to_diagnose(
    folder: Path, capsys: pytest.CaptureFixture
):
    encoder.save(encoder.load("twin-pre"), "mine")
    assert run("golden write mine --texts texts.json --out golden.safetensors", capsys)[0] == 0
    Path("mine").rename("moved")
    np.save("narrow.npy", np.load("first.npy")[:, :3])
    assert run("golden check golden.safetensors --vectors right.npy", capsys)[0] == 0
    for vectors in ("first.npy", "narrow.npy"):
        code, said = run(f"golden check golden.safetensors --vectors {vectors}", capsys)
        assert (code, "--model MODEL" in said, "'mine'" in said) == (1, True, True)
    code, said = run("golden check golden.safetensors --vectors first.npy --json", capsys)
    found = json.loads(said)
    golden = diagnose.read_golden("golden.safetensors")
    assert found["difference"] == golden.differences(np.load("first.npy")).max() > found["tolerance"]
    assert (code, found["verdict"], "--model" in found["trouble"]) == (1, "unknown", True)
    code, said = run("golden check golden.safetensors --vectors first.npy --model moved", capsys)
    assert (code, diagnose.FAULTS["pooling"].remedy in said) == (1, True)
    assert main.main("golden check golden.safetensors --onnx gone.onnx".split()) == 2
    assert "--model MODEL" in capsys.readouterr().err, "an ONNX file needs the model's tokens"


def test_a_golden_check_names_several_faults_and_ends(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    """A server that gives the first token's vector, not scaled."""
    model = dataclasses.replace(encoder.load("twin-pre"), normalise=True)
    golden = diagnose.make_golden("twin-pre", TEXTS, model=model)
    monkeypatch.setattr(cli, "load", lambda *given, **options: model)
    diagnose.write_golden(golden, "golden.safetensors")
    code, said = run("golden check golden.safetensors --vectors first.npy --json", capsys)
    found = json.loads(said)
    assert (code, {one["name"] for one in found["faults"]}) == (1, {"pooling", "normalise-missing"})
    monkeypatch.setattr(cli, "GOLDEN_SECONDS", 0.0)
    code, said = run("golden check golden.safetensors --vectors first.npy --json", capsys)
    found = json.loads(said)
    assert (code, found["verdict"], found["together"]) == (1, "unknown", 0)


def test_an_index_is_kept_where_nothing_changed(folder: Path, capsys: pytest.CaptureFixture):
    code, said = run("fingerprint twin-pre --json", capsys)
    Path("then.json").write_text(said)
    code, said = run("fingerprint twin-pre --compare then.json --json", capsys)
    assert (code, json.loads(said)["same"]) == (0, True)
    code, said = run("fingerprint twin-post --compare then.json --json", capsys)
    found = json.loads(said)
    assert (code, found["keep"]) == (1, False)
    assert "weights" in found["differences"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("diagnose twin-pre --vectors right.npy", "--texts"),
        ("diagnose twin-pre --texts texts.json", "--endpoint"),
        ("diagnose twin-pre --texts texts.json --vectors right.npy --endpoint http://localhost", "one of"),
        ("diagnose twin-pre --texts texts.json --vectors gone.npy", "gone.npy"),
        ("diagnose nowhere --texts texts.json --vectors right.npy", "nowhere"),
        ("diagnose digits-pre --texts texts.json --vectors right.npy", "text"),
        ("golden check texts.json --vectors right.npy", "golden write"),
    ],
)
def test_wrong_use_exits_with_2(words: str, said: str, folder: Path, capsys: pytest.CaptureFixture):
    assert main.main(words.split()) == 2
    assert said in capsys.readouterr().err


def test_another_number_of_texts_is_wrong_use(folder: Path, capsys: pytest.CaptureFixture):
    np.save("three.npy", np.load("right.npy")[:3])
    np.save("nan.npy", np.full((4, 3), np.nan))
    for file, said in (("three.npy", "3 vectors and 4 inputs"), ("nan.npy", "not finite")):
        assert main.main(f"diagnose twin-pre --texts texts.json --vectors {file}".split()) == 2
        assert said in capsys.readouterr().err


def test_every_fault_is_listed(folder: Path, capsys: pytest.CaptureFixture):
    _, said = run("faults --json", capsys)
    rows = json.loads(said)["rows"]
    assert [row["fault"] for row in rows] == list(FAULTS)
    assert all(row["what"] and row["remedy"] for row in rows)
