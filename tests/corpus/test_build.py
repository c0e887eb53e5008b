"""A build: the same files in any order of blocks and however often it is ended; what is wrong is said."""

from __future__ import annotations

import dataclasses
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from encoder import EncoderError, corpus
from encoder.cli import main
from encoder.corpus.plan import MEASURES
from encoder.errors import AtlasError
from tests.conftest import ROOT
from tests.corpus.conftest import SETTINGS, built, contents, sentences


def test_means_errors_and_counts_are_those_of_a_plain_loop(atlas, model, texts, measured):
    single = np.stack([[one[name] for name in MEASURES] for one in measured])
    for place, name in enumerate(MEASURES):
        values = single[:, place]
        n = (~np.isnan(values[:, 0, 0])).sum()
        assert (atlas.array(name, "n") == n).all()
        assert atlas.array(name) == pytest.approx(np.nanmean(values, 0), abs=1e-6), name
        assert atlas.array(name, "std") == pytest.approx(np.nanstd(values, 0, ddof=1), abs=1e-5), name
        assert atlas.array(name, "se") == pytest.approx(np.nanstd(values, 0, ddof=1) / n**0.5, abs=1e-5), name
    two = atlas.by_label("kind", "previous").query("value == 'two'")["mean"].to_numpy().reshape(3, 5)
    assert two == pytest.approx(np.nanmean(single[1::3, MEASURES.index("previous")], 0), abs=1e-6)
    count = atlas.manifest["count"]
    assert (count["texts"], count["tokens"]) == (len(texts), sum(len(model.tokenize(text)) for text in texts))


@pytest.mark.parametrize("order", ["backwards", "twice"])
def test_blocks_may_come_in_any_order_and_twice(atlas, model, source, tmp_path, order):
    def run(model, plan, texts, numbers):
        results = [one for one in corpus.in_process(model, plan, texts, numbers) if not isinstance(one, int)]
        yield from reversed(results) if order == "backwards" else [*results[2:], *results]

    other = built(model, source, tmp_path / "atlas", run=run)
    assert contents(other.folder) == contents(atlas.folder)


def test_a_build_goes_on_where_it_was_ended(atlas, model, source, tmp_path):
    out = tmp_path / "atlas"
    seen = list(
        itertools.takewhile(lambda one: one.done < 40, corpus.iter_build(model, source, out, SETTINGS, seconds=0))
    )
    assert seen[-1].done > 0
    assert not out.exists()
    ran = []

    def run(model, plan, texts, numbers):
        ran.extend(numbers)
        yield from corpus.in_process(model, plan, texts, numbers)

    assert contents(built(model, source, out, run=run).folder) == contents(atlas.folder)
    assert 0 < len(ran) < 5
    assert not (tmp_path / "atlas.partial").exists()


@pytest.mark.slow("builds an atlas in processes that are killed")
def test_a_killed_build_goes_on_and_gives_the_same_files(tmp_path, texts):
    """A real process, ended by SIGKILL after its first checkpoint."""
    model = encoder.load("twin-post", device="cpu")
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(sentences(160)), encoding="utf-8")
    program = "import sys; from encoder.cli.main import main; sys.exit(main())"
    options = ["corpus", "build", "twin-post", "--texts", str(path), "--device", "cpu", "--block", "16"]
    command = [sys.executable, "-c", program, *options, "--out", str(tmp_path / "killed"), "--checkpoint", "0"]
    # With another number of threads, some processors add up in another order.
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen(command, cwd=ROOT, env=environment, **quiet)
    checkpoint = tmp_path / "killed.partial" / "checkpoint.safetensors"
    while child.poll() is None and not checkpoint.exists():
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "the build was over before it could be killed"
    source = corpus.Source(str(path))
    settings = corpus.Settings(block_texts=16)
    first = next(iter(corpus.iter_build(model, source, tmp_path / "killed", settings)))
    assert 0 < first.before < 160
    resumed = built(model, source, tmp_path / "killed", settings=settings)
    whole = built(model, source, tmp_path / "whole", settings=settings)
    assert contents(resumed.folder) == contents(whole.folder)


def test_texts_that_fail_are_named_and_the_others_counted(make_tiny, tmp_path):
    model = make_tiny(seed=3)
    with torch.no_grad():
        model.encoder.embedding.tokens.weight[model.tokenizer.backend.token_to_id("dog")] = torch.nan
    path = tmp_path / "texts.txt"
    path.write_bytes(b"the cat\nthe dog\n\xff\na mat\n")
    atlas = built(model, corpus.Source(str(path)), tmp_path / "atlas")
    problems = atlas.table("problems")
    assert problems["row"].dropna().tolist() == [3]
    assert problems["text"].dropna().tolist() == [1]
    assert atlas.manifest["count"]["texts"] == 2
    path.write_text("dog\n", encoding="utf-8")
    with pytest.raises(EncoderError, match="No text"):
        built(model, corpus.Source(str(path)), tmp_path / "other")


def test_another_build_in_the_folder_is_refused(model, source, tmp_path):
    out = tmp_path / "atlas"
    work = corpus.iter_build(model, source, out, SETTINGS)
    next(work)
    with pytest.raises(AtlasError, match="Another build"):
        next(corpus.iter_build(model, source, out, SETTINGS))
    work.close()
    with pytest.raises(AtlasError, match="unfinished"):
        next(corpus.iter_build(model, source, out, dataclasses.replace(SETTINGS, seed=1)))
    built(model, source, out)
    with pytest.raises(AtlasError, match="exists"):
        next(corpus.iter_build(model, source, out, SETTINGS))
    assert built(model, source, out, replace=True).n_texts == 70


@pytest.mark.parametrize(
    "settings", [{"vector_layers": (9,)}, {"block_texts": 0}, {"max_tokens": 2}, {"strong": 2.0}], ids=str
)
def test_settings_that_do_not_fit_are_refused(model, source, tmp_path, settings):
    with pytest.raises(EncoderError, match="choose"):
        next(corpus.iter_build(model, source, tmp_path / "atlas", corpus.Settings(**settings)))
    assert not list(tmp_path.iterdir())


def test_too_many_labels_are_refused(model, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,id\n" + "\n".join(f"the cat,{number}" for number in range(200)), encoding="utf-8")
    with pytest.raises(EncoderError, match="different values"):
        next(corpus.iter_build(model, corpus.Source(str(path), labels=("id",)), tmp_path / "atlas"))
    assert list(tmp_path.iterdir()) == [path]


def test_equal_weights_have_the_same_hash_and_others_do_not(make_tiny):
    one, same, other = (corpus.model_about(make_tiny(seed=seed))["sha256"] for seed in (1, 1, 2))
    assert one == same != other
    moved = corpus.model_about(make_tiny(seed=1).with_norm_placement("pre"))["sha256"]
    assert moved != one


def test_a_cut_text_is_counted(model, source, tmp_path: Path):
    atlas = built(model, source, tmp_path / "atlas", settings=dataclasses.replace(SETTINGS, max_tokens=6))
    assert atlas.manifest["count"]["cut"] > 0
    assert atlas.table("lengths")["n_tokens"].max() == 6


def test_blank_rows_are_counted(model, tmp_path, capsys):
    """Of 30 rows two are blank and one is not JSON: all of them are said."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "the cat"}\n' * 27 + '\n{"text": "  "}\nno json\n', "utf-8")
    atlas = built(model, path, tmp_path / "atlas")
    count = atlas.manifest["count"]
    assert (count["rows"], count["texts"], count["broken"], count["blank"]) == (30, 27, 1, 2)
    assert atlas.left_out == "1 left out, 2 blank rows"
    assert main.main(["corpus", "show", str(tmp_path / "atlas")]) == 0
    assert "27 texts, " in (said := capsys.readouterr().out)
    assert "1 left out, 2 blank rows, 0 cut" in said


def test_an_atlas_of_texts_in_memory(model, tmp_path):
    texts = ["the cat sat", "a dog"]
    atlases = [built(model, given, str(tmp_path / name)) for name, given in (("a", texts), ("b", [*texts, "more"]))]
    assert [atlas.n_texts for atlas in atlases] == [2, 3]
    sources = [atlas.manifest["source"] for atlas in atlases]
    assert sources[0]["name"] == sources[1]["name"]
    assert sources[0]["sha256"] != sources[1]["sha256"]


def test_a_build_needs_no_loop(model, texts, tmp_path):
    """A build whose progress nobody asks for is a build, too."""
    given = [text for text in texts if text.strip()][:6]
    seen: list[corpus.Progress] = []
    atlas = corpus.build(model, [*given, " "], str(tmp_path / "atlas"), SETTINGS, progress=seen.append)
    assert (atlas.n_texts, atlas.folder.name, seen[-1].finished) == (len(given), "atlas", True)
    assert atlas.manifest["count"]["blank"] == 1
