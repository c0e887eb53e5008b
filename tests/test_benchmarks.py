"""The benchmark: its table and its JSON, its statistics, and each engine part run once on something tiny.

No test here asserts a time. Rivals are not needed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from benchmarks import __main__ as command
from benchmarks import browser, calls, engine, load, memory, report, rivals, search, similarity, subjects, timing
from benchmarks.protocol import Run, Template
from benchmarks.report import Figure
from tests.conftest import ROOT
from tests.engine.conftest import tiny

FIGURES = [
    Figure("engine", "traced forward", "plain forward", 1.0312, 64, "", 1.10, 1.01, 1.05, {"ours": "3 ms"}),
    Figure("browser", "bytes for all heads and one", "bertviz model_view", 0.5, 128, "", 0.02, note="published"),
    Figure("load", "95th percentile", "", 0.25, 24, "s", 0.3, note="published"),
    Figure("load", "memory", "", 1234.5, None, "MB"),
]


def test_a_figure_is_ok_up_to_its_target_and_missed_above():
    assert [figure.verdict for figure in FIGURES] == ["ok", "MISSED", "ok", ""]
    assert Figure("", "", "", 1.1, target=1.1).verdict == "ok"


def test_the_table_says_what_was_measured_and_what_was_to_be_reached():
    lines = report.table(FIGURES).splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:6]]
    assert rows[0] == ["traced forward", "plain forward", "64", "1.03", "1.01 to 1.05", "<= 1.1", "ok", "3 ms"]
    assert rows[1][5:7] == ["<= 0.02", "MISSED"]
    assert rows[3][:4] == ["memory", "-", "", "1,234 MB"]
    assert len({len(line) for line in lines[:6]}) == 1  # columns stand under each other
    bytes_sent, percentile = FIGURES[1:3]
    named = f"{bytes_sent.what} / {bytes_sent.against}, T=128; {percentile.what}, T=24"
    assert lines[-1] == f"- {named}: published"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0, "", "0"), (0.00012, "", "0.00012"), (0.04567, "s", "0.0457 s"), (12345.6, "", "12,346")],
)
def test_numbers_have_three_digits_that_count(value: float, unit: str, text: str):
    assert report.number(value, unit) == text


def test_the_file_holds_every_figure_and_nothing_of_this_machine_but_its_kind(tmp_path: Path):
    target = tmp_path / "new" / "figures.json"
    report.write_json(target, FIGURES, report.environment(quick=True))
    found = json.loads(target.read_text(encoding="utf-8"))
    assert [entry["value"] for entry in found["figures"]] == [figure.value for figure in FIGURES]
    assert set(found["figures"][0]) == {
        "part",
        "what",
        "against",
        "value",
        "tokens",
        "unit",
        "target",
        "low",
        "high",
        "raw",
        "note",
        "verdict",
    }
    assert {"date", "python", "processor", "cores", "packages", "quick"} <= set(found["environment"])
    text = target.read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert str(Path.home()) + "/" not in text


def test_the_ratio_is_that_of_medians_and_its_interval_holds_it():
    ours, theirs = [1.0, 2.0, 3.0, 100.0, 2.5], [4.0, 5.0, 6.0, 5.5, 1.0]
    found = timing.ratio(ours, theirs)
    assert found.value == 2.5 / 5.0
    assert found.low <= found.value <= found.high


def test_contestants_take_turns_and_each_begins_in_turn():
    order: list[str] = []
    calls = {name: (lambda name=name: order.append(name)) for name in "abc"}
    times = timing.in_turn(calls, seconds=0, least=4, most=4)
    assert {name: len(series) for name, series in times.items()} == {"a": 4, "b": 4, "c": 4}
    assert "".join(order) == "abc" + "abc" + "bca" + "cab" + "abc"  # a warm-up, then the rounds


def test_memory_is_counted_to_the_byte():
    def call() -> torch.Tensor:
        kept = torch.empty(1000)
        torch.empty(5000)
        return kept

    assert memory.tensor_bytes(call) == (24_000, 4_000)


@pytest.fixture(scope="module")
def pair() -> subjects.ModelPair:
    """A tiny encoder; the other side is the same one, called as transformers' models are."""
    model = tiny(max_positions=64)

    def reference(input_ids: torch.Tensor, **_: bool) -> torch.Tensor:
        return model.encoder(input_ids)

    return subjects.ModelPair("MiniLM", model, reference, reference)


@pytest.mark.slow("measures times and memory")
def test_the_engine_part_measures_times_and_memory(pair: subjects.ModelPair):
    found = [*engine.times(pair, 16, seconds=0, clock="cpu"), *engine.peaks(pair, 16)]
    *timed, peak = found
    assert [(figure.what, figure.against) for figure in timed] == [
        ("traced forward", "plain forward"),
        ("plain forward", "transformers SDPA"),
        ("trace, thumbnails, measures", "transformers output_attentions"),
    ]
    assert "peak memory" in peak.what
    assert "hidden states" in peak.against
    assert all(figure.value > 0 and figure.tokens == 16 for figure in found)
    assert all(figure.low <= figure.value <= figure.high for figure in found[:3])
    assert found[3].value > 1  # a trace keeps what a plain forward pass lets go
    maps = engine.maps_with_the_pass(pair, 16, seconds=0, clock="cpu")
    assert 0 < maps.low <= maps.value <= maps.high
    assert maps.raw.keys() == {"together", "apart"}


@pytest.mark.slow("measures passes in a process of its own")
def test_what_a_person_calls_is_measured_in_a_process_of_its_own():
    with calls.neighbour():
        (measured,) = calls.in_a_process((16,), 0.0)
    found = calls.figure(measured, ", next to copies of memory")
    assert found.tokens == 16
    assert 0 < found.low <= found.value <= found.high
    assert found.raw.keys() == {"ours", "theirs", "pages, ours", "pages, theirs"}


def test_both_sides_of_the_similarity_part_give_the_same_matrix():
    model = tiny()
    texts = ("the cat sat", "a big dog")
    ours = encoder.similarity.attribute(model, *texts, steps=3).matrix
    np.testing.assert_allclose(similarity.backward(model, *texts, steps=3), ours, atol=1e-5)
    found = similarity.against_backward(model, texts, 5, 2, "cpu")
    assert found.value > 0
    assert found.target == 0.1


def test_an_explained_score_is_measured_in_passes_and_in_seconds():
    figures = [*similarity.explained(tiny(), ("the cat sat", "a big dog"), 24, 2, "cpu")]
    assert [(one.what, one.against, one.target) for one in figures] == [
        ("explained score, words", "one pass", None),
        ("explained score, pairs", "one pass", None),
        ("explained score, pairs", "", 3.0),
    ]
    assert all(one.value > 0 for one in figures)


def test_texts_have_exactly_the_tokens_asked_for():
    model = encoder.load("minilm", device="cpu")
    for n_tokens in (8, 64, 512):
        assert len(subjects.sentence(model, n_tokens)) == n_tokens
    typed = browser.words(40, seed=1)
    assert len(model.tokenize(typed)) == 40
    assert typed != browser.words(40, seed=2)
    first, second = similarity.pair(model, 24)
    assert first != second
    assert len(model.tokenize(first)) == len(model.tokenize(second)) == 24
    with pytest.raises(ValueError, match="takes 512"):
        subjects.sentence(model, 600)


def test_a_rival_that_is_not_installed_is_said_and_not_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rivals, "missing", lambda: ["bertviz", "attnview"])
    assert browser.opened_at(64) == []
    found = list(browser.byte_figures(128, 200_000))
    assert [(figure.value, figure.note) for figure in found] == [(200_000 / 53e6, browser.PUBLISHED)]
    assert list(browser.byte_figures(16, 200_000)) == []  # nothing is published for so short a text


def test_a_page_is_made_only_where_there_is_memory_for_it():
    assert rivals.fits(64, budget=1_000_000_000)
    assert not rivals.fits(512, budget=1_000_000_000)


@pytest.mark.parametrize(("share", "value"), [(50, 5), (95, 10), (90, 9), (100, 10), (1, 1)])
def test_percentiles_are_values_that_were_measured(share: int, value: int):
    assert load.percentile([3, 1, 2, 5, 4, 10, 9, 8, 7, 6], share) == value


def test_a_class_is_summed_up():
    series = load.Series(opened=[Run(1.0, 10)], seconds=10.0, server_cpu=2.0, own_cpu=1.0, resident=5)
    series.runs["another head"] = [Run(0.1 * k, 1000) for k in range(1, 21)]
    found = list(load.figures(series, 30, 5.0))
    (percentile,) = (figure for figure in found if "30 visitors" in figure.what and "95th" in figure.what)
    (work,) = (figure for figure in found if "work" in figure.what)
    assert percentile.value == pytest.approx(1.9)
    assert percentile.verdict == "MISSED"
    assert work.value == pytest.approx(100.0)


def test_a_template_is_the_fullest_request_and_keeps_no_moment():
    from streamlit.proto.BackMsg_pb2 import BackMsg

    def request(*widgets: str, trigger: bool = False) -> bytes:
        message = BackMsg()
        message.rerun_script.query_string = "a=1"
        message.rerun_script.cached_message_hashes.append("old")
        for widget in widgets:
            message.rerun_script.widget_states.widgets.add(id=widget, string_value="x")
        if trigger:
            message.rerun_script.widget_states.widgets.add(id="empty")  # a choice of which nothing is chosen
            message.rerun_script.widget_states.widgets.add(id="button", trigger_value=True)
            message.rerun_script.widget_states.widgets.add(id="$$ID-0a1b-grid", json_value='{"grid": []}')
        return message.SerializeToString()

    template = Template.from_frames([request("one"), request("one", "two", trigger=True), request()])
    state = template.request().rerun_script
    assert [widget.id for widget in state.widget_states.widgets] == ["one", "two", "empty"]
    assert not state.cached_message_hashes
    assert template.components == {"grid": "$$ID-0a1b-grid"}
    with pytest.raises(ValueError, match="no request"):
        Template.from_frames([BackMsg(clear_cache=True).SerializeToString()])


def test_the_command_goes_on_after_a_part_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def part(name: str, options: object) -> list[Figure]:
        if name == "browser":
            raise FileNotFoundError("no Chromium found")
        return [figure for figure in FIGURES if figure.part == name]

    monkeypatch.setattr(command, "part", part)
    file = tmp_path / "figures.json"
    assert command.main(["--quick", "--json", str(file)]) == 1
    written = json.loads(file.read_text(encoding="utf-8"))
    assert [entry["part"] for entry in written["figures"]] == ["engine", "load", "load"]
    assert written["environment"]["failed"] == {"browser": "FileNotFoundError: no Chromium found"}
    assert "\n- browser " in capsys.readouterr().out
    assert command.main(["--only", "engine", "--json", str(file)]) == 0


def test_a_length_that_no_model_takes_is_wrong_usage(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        command.main(["--lengths", "9000"])
    assert "8 to 512" in capsys.readouterr().err


def test_both_sides_of_the_search_part_give_the_same_vectors():
    from encoder.search import embed

    texts = ["A kitten sleeps in a basket.", "Rain", "The orchestra tuned their instruments before the concert."]
    theirs = search.reference().encode(texts)
    np.testing.assert_allclose(embed(encoder.load("minilm", device="cpu"), texts).vectors, theirs, atol=1e-5)
