"""Export and share: what the downloads hold and what the Python lines give are the page's own numbers."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder.checkpoints import BUNDLED
from encoder.cli import main
from encoder.export import map as attention_map
from encoder.figures.numbers import in_words, three_digits
from encoder.maps import aggregate
from encoder.measure import map_comparison
from encoder.run import TRAINED, ModelSpec
from pages.core.widgets import export
from pages.core.words import number
from tests.pages.apps import assert_well, exported, registered, visit, written
from tests.test_report import HOSTILE, Page, drawn

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

TEXT = "The tokenizers split unbelievable words."


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], bytes]]:
    """Suffix -> what a click on its button would make, of the last run."""
    made: dict[str, Callable[[], bytes]] = {}

    def note(label: str, data: Callable[[], bytes], file: str, mime: str) -> None:
        made[file.rsplit(".", 1)[-1]] = data
        made["name"] = lambda: file.encode()

    monkeypatch.setattr(export, "_button", note)
    return made


def python(app: AppTest) -> str:
    return exported(app)


def run(lines: str) -> dict:
    names: dict = {}
    exec(lines, names)
    return names


def csv(files: dict[str, Callable[[], bytes]]) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(files["csv"]()), keep_default_na=False)


# --- the Heads page --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        {"special": "renormalise", "i": "3", "j": "4"},
        {"words": "1", "pair": "It works.", "between": "a-b", "average": "heads"},
        {"model": "scratch", "layers": "3", "positions": "rotary", "norm": "pre", "seed": "5"},
    ],
    ids=["renormalised", "words", "scratch"],
)
def test_a_heads_numbers_its_lines_and_its_files_agree(query: dict[str, str], files: dict[str, Callable[[], bytes]]):
    query = {"text": TEXT, "layer": "1", "head": "2", **query}
    app = visit(**query)
    assert_well(app)
    weights = run(python(app))["table"]["weight"].to_numpy()
    table = csv(files)
    assert table["weight"].to_numpy() == pytest.approx(weights, abs=1e-6)
    again = pd.read_parquet(io.BytesIO(files["parquet"]()))
    assert again["weight"].to_numpy() == pytest.approx(weights, abs=1e-7)
    assert again.attrs["python"].strip() == python(app)
    assert again.attrs["text"].splitlines()[0] == TEXT
    report = files["html"]().decode()
    assert f"{weights.max():.3f}" in report
    assert Page(report).inside["code"][0].strip() == python(app)


#: View, values in the address, and what must stand in its report.
SEEN = [
    ("lines", {"overlay": "1.8,3.3", "least": "0.1", "special": "renormalise"}, ["L1 H8, L3 H3", "0.1; the numbers"]),
    ("lines", {"i": "2", "hold": "5", "words": "1"}, ["tokenizers", "are averaged"]),
    ("lines", {"average": "heads", "j": "0"}, ["L1, mean of 12 heads", "Lines to [CLS] (0)"]),
    ("text", {"i": "2", "scale": "log"}, ["to it in L1 H2", "logarithmic"]),
    ("text", {"direction": "from", "j": "10", "pair": "It works.", "between": "a-b"}, ["it attends to", "A → B"]),
    ("text", {"words": "1", "average": "both"}, ["a word receives", "Mean of all 72 heads"]),
]


@pytest.mark.parametrize(("kind", "query", "said"), SEEN, ids=[f"{kind}-{next(iter(q))}" for kind, q, _ in SEEN])
def test_lines_and_text_are_exported_as_drawn(
    kind: str, query: dict[str, str], said: list[str], files: dict[str, Callable[[], bytes]]
):
    app = visit(text=TEXT, layer="1", head="2", view=kind, **query)
    assert_well(app)
    names = run(python(app))
    table = pd.read_parquet(io.BytesIO(files["parquet"]()))
    pd.testing.assert_frame_equal(table, names["table"], check_dtype=False, rtol=1e-5)
    assert len(csv(files)) == len(table)
    if kind == "lines":
        assert table["weight"].min() >= float(query.get("least", 0))
        assert len(table[["layer", "head"]].drop_duplicates()) == 1 + query.get("overlay", "").count(".")
        held = {int(token) for name in ("i", "hold") for token in query.get(name, "").split(",") if token}
        assert not held or set(table["query"]) == held
    page = files["html"]().decode()
    assert names["view"].picture().element() in page
    assert not [each for each in said if each not in page]
    assert drawn(page)[1]["weights"].size > 0, "what lets the picture answer to the pointer"


def test_lines_of_a_long_text_leave_the_map_to_export(files: dict[str, Callable[[], bytes]]):
    long = {"text": "attention is all you need " * 120, "model": "scratch", "positions": "rotary", "layers": "2"}
    app = visit(**long, view="lines")
    assert_well(app)
    assert "export.map(" in python(app)
    assert "largest_weight" in csv(files)
    app = visit(**long, view="text", i="3")
    assert_well(app)
    table = csv(files)
    assert len(table) > 512
    assert table["weight"].sum() == pytest.approx(1, abs=1e-3)
    assert run(python(app))["table"]["weight"].to_numpy() == pytest.approx(table["weight"].to_numpy(), abs=1e-6)


def test_words_keep_the_positions_of_their_tokens(files: dict[str, Callable[[], bytes]], minilm: encoder.TextEncoder):
    visit(text=TEXT, words="1", layer="1", head="2")
    trace = minilm.trace(TEXT)
    words = aggregate.token_map(trace.attention(1, 2), trace, words=True)
    table = csv(files)
    assert tuple(table["key_token"][: len(words.key_labels)]) == words.key_labels
    assert list(table["key"][: len(words.keys)]) == [group[0] for group in words.keys]
    assert table["key"].max() == trace.n_tokens - 1


def test_a_long_text_is_exported_in_blocks(files: dict[str, Callable[[], bytes]]):
    app = visit(text="attention is all you need " * 60, layer="1", head="2")
    assert_well(app)
    table = csv(files)
    weights = run(python(app))["table"]["largest_weight"].to_numpy()
    assert table["largest_weight"].to_numpy() == pytest.approx(weights, abs=1e-6)
    assert "pairs of tokens" in files["html"]().decode()


def test_typed_text_does_no_harm(files: dict[str, Callable[[], bytes]]):
    typed = HOSTILE.replace("\x00", "").strip()
    app = visit(text=typed, i="2")
    assert_well(app)
    page = Page(files["html"]().decode())
    assert not page.tags() & {"img", "iframe"}
    assert page.inside["blockquote"] == [typed]
    assert run(python(app))["trace"].source.text == typed
    assert files["name"]() == b"L0-H2-of-all-MiniLM-L6-v2.html"


# --- the other pages -------------------------------------------------------------------------------------------------


#: Page, values in the address, columns of the table, what the lines give in their order.
OTHERS = [
    ("heads", {"view": "vectors"}, ["q", "k", "v"], lambda names: np.stack(
        [np.asarray(names[n]).ravel() for n in "qkv"], 1)),
    ("norms", {"norm": "pre"}, ["mean_before", "std_before", "mean_after", "std_after"], lambda names: np.stack(
        [part.ravel() for part in (*names["found"].before, *names["found"].after)], 1)),
    ("positions", {}, ["cosine"], lambda names: names["cosine"].reshape(-1, 1)),
    ("positions", {"positions_part": "encoding"}, ["value"],
     lambda names: np.asarray(names["position"]).reshape(-1, 1)),
    ("positions", {"positions_part": "without"}, ["cosine"], lambda names: names["cosine"].reshape(-1, 1)),
    ("positions", {"positions_part": "encoding", "model": "scratch", "positions": "rotary"}, ["cos", "sin"],
     lambda names: np.stack([names["cos"].ravel(), names["sin"].ravel()], 1)),
    ("heads", {"all_heads": "table"}, ["entropy", "previous"],
     lambda names: names["measures"][["entropy", "previous"]].to_numpy()),
    ("heads", {"all_heads": "table", "role": "cls", "role_special": "0.7"}, ["layer", "head", "cls"],
     lambda names: names["measures"][["layer", "head", "cls"]].to_numpy()),
    ("heads", {"all_heads": "roles", "role_position": "0.3"}, ["layer", "head", "value", "threshold"],
     lambda names: names["found"][["layer", "head", "value", "threshold"]].to_numpy()),
    ("heads", {"all_heads": "roles", "role": "previous"}, ["value"],
     lambda names: names["found"][["value"]].to_numpy()),
    ("contribution", {"beyond": "whole"}, ["share"],
     lambda names: np.array([[one.share] for one in names["found"].parts])),
    ("contribution", {"beyond": "moves"}, ["norm_weighted"],
     lambda names: np.asarray(names["weighted"]).reshape(-1, 1)),
    ("contribution", {"beyond": "rollout"}, ["share"], lambda names: np.asarray(names["shares"]).reshape(-1, 1)),
    ("contribution", {"beyond": "plane"}, ["query_x", "query_y", "key_x", "key_y", "weight"],
     lambda names: np.column_stack([names["space"].queries, names["space"].keys, names["space"].weights])),
    ("contribution", {"beyond": "deletion", "text": "The old cat sat on the mat."}, ["most_attended", "random_3"],
     lambda names: np.stack([names["found"].by_attention, names["found"].random[3]], 1)),
    ("predict", {"model": "twin-pre", "text": "A [MASK] sat."}, ["probability"], lambda names: np.array(
        [entry.probabilities for of in names["guesses"].values() for entry in of]).reshape(-1, 1)),
    ("pre_post", {"model": "twin-pre"}, ["a", "difference"], lambda names: np.stack(
        [names["found"].first.numpy().ravel(), names["found"].difference.numpy().ravel()], 1)),
    *(("model", {"start": "1", "step": step, **more}, ["value"],
       lambda names: names["table"][["value"]].to_numpy(float))
      for step, more in (
          ("embedding", {}), ("qkv", {"vector": "k"}), ("scores", {"causal": "1"}), ("softmax", {"causal": "1"}),
          ("mixing", {"component": "5"}), ("norm", {"part": "ffn"}), ("ffn", {}),
          ("output", {"pooling": "cls", "second": "A dog ran."}))),
    ("model", {"start": "1", "step": "ids"}, ["id"], lambda names: names["table"][["id"]].to_numpy()),
    ("model", {"start": "1", "i": "2"}, ["before", "update", "sum", "after", "cosine"],
     lambda names: names["table"][["before", "update", "sum", "after", "cosine"]].to_numpy()),
    ("model", {"start": "1", "show": "cost"}, ["flops", "bytes"],
     lambda names: names["table"][["flops", "bytes"]].to_numpy()),
    ("texts", {"similar_to": "A dog ran."}, ["effect"], lambda names: names["why"].table()[["effect"]].to_numpy()),
    ("feed_forward", {}, ["activation"], lambda names: np.asarray(names["hidden"]).reshape(-1, 1)),
    ("interventions", {}, ["effect"], lambda names: np.asarray(names["effects"]).reshape(-1, 1)),
    ("interventions", {"intervention": "patching", "patch_with": "The dog sat."}, ["share"],
     lambda names: np.asarray(names["shares"]).reshape(-1, 1)),
    ("pre_post", {"model": "twin-pre", "sides": "stream"}, ["value"],
     lambda names: names["table"][["value"]].to_numpy()),
]  # fmt: skip


@pytest.mark.sample(4, "opens a page, its files and its lines of Python")
@pytest.mark.parametrize(("page", "query", "columns", "given"), OTHERS, ids=[f"{o[0]}-{o[2][0]}" for o in OTHERS])
def test_every_pages_files_and_lines_agree(
    page: str, query: dict[str, str], columns: list[str], given, files: dict[str, Callable[[], bytes]]
):
    app = visit(page, **{"text": "The cat sat.", "layer": "1", "head": "1", **query})
    assert_well(app)
    lines = next(block.value for block in app.get("code") if block.value.startswith("import encoder"))
    table, names = pd.read_parquet(io.BytesIO(files["parquet"]())), run(lines)
    assert table[columns].to_numpy() == pytest.approx(given(names), abs=1e-5, nan_ok=True)
    assert len(csv(files)) == len(table)
    html = files["html"]().decode()
    assert Page(html).inside["code"][0] == lines + "\n"
    wanted = {"contribution": 1, "norms": 4, "feed_forward": 2, "interventions": 1}.get(page, 0)
    wanted = max(wanted, {"map": 1, "stream": 4}.get(query.get("sides"), 0))
    assert html.count('id="figure-') >= wanted  # its pictures, not its numbers only


@pytest.mark.parametrize(
    ("page", "query", "columns"),
    [
        ("by_hand", {"hand": '{"scaled":false,"eps":0.5}'}, ["value"]),
        ("by_hand", {"worked": "notes"}, ["notes", "computed"]),
        ("training", {"train_part": "recorded", "depth": "deep"}, ["loss", "held_out_accuracy"]),
    ],
)
def test_pages_without_a_model_give_programs(
    page: str, query: dict[str, str], columns: list[str], files: dict[str, Callable[[], bytes]]
):
    app = visit(page, **query)
    assert_well(app)
    table, names = pd.read_parquet(io.BytesIO(files["parquet"]())), run(exported(app))
    np.testing.assert_allclose(table[columns].to_numpy(), names["table"][columns].to_numpy())
    assert len(csv(files)) == len(table) > 5
    assert Page(files["html"]().decode()).inside["code"][0] == exported(app) + "\n"
    if "hand" in query:
        assert names["example"].inputs.eps == 0.5
        assert names["example"].scale == 1.0


#: Page, values in the address, what the lines give -> the numbers in the page's first line as the page writes them.
FIRST_LINES = [
    ("norms", {}, lambda names: [
        "{} → {}".format(*map(three_digits, pair)) for pair in names["ends"].values()]),
    ("positions", {}, lambda names: [number(names["mean"]), number(names["most"][1])]),
    ("positions", {"positions_part": "encoding", "i": "2"}, lambda names: [f"{np.sort(names['similar'][2])[-2]:.2f}"]),
    ("pre_post", {}, lambda names: [three_digits(names["tokens"]), three_digits(names["whole"])]),
    ("pre_post", {"model": "twin-pre"}, lambda names: [
        f"{end(names['moved']):.0%}" for end in (np.mean, np.max)]),
    ("predict", {}, lambda names: [
        *(in_words(of[0].probabilities[0]) for of in names["guesses"].values()),
        *(f"{in_words(probability)} (rank {rank:,})" for rank, probability in names["ranks"].values())]),
    ("training", {}, lambda names: [f"from step {int(names['solved'].min())}", f"{names['last'].min():.1%}"]),
    ("training", {"train_part": "gradients", "grad_depths": "2", "grad_width": "32", "grad_seeds": "1"},
     lambda names: [number(names["deepest"][place]) for place in (("pre", 0), ("pre", 1), ("post", 1))]),
    ("training", {"train_part": "history"}, lambda names: [
        f"{max(mean for mean in names['means']['reverse'].values() if mean < 0.9):.0%}"]),
]  # fmt: skip


@pytest.mark.sample(3, "opens a page and runs its lines of Python")
@pytest.mark.parametrize(("page", "query", "given"), FIRST_LINES, ids=lambda one: one if isinstance(one, str) else "")
def test_the_lines_give_the_numbers_of_the_first_line(page: str, query: dict[str, str], given) -> None:
    app = visit(page, text="The old cat sat on the mat.", **query)
    assert_well(app)
    said = written(app)
    for number_said in given(run(exported(app))):
        assert number_said in said


def test_a_page_without_a_sentence_gives_a_program_of_its_own(files: dict[str, Callable[[], bytes]]):
    app = visit("training", train_part="gradients", grad_depths="2", grad_width="32", grad_seeds="1")
    assert_well(app)
    lines = exported(app)
    assert "trace" not in lines
    table, again = pd.read_parquet(io.BytesIO(files["parquet"]())), run(lines)["table"]
    assert list(table.columns) == list(again.columns)
    assert table["gradient_norm"].to_numpy() == pytest.approx(again["gradient_norm"].to_numpy(), rel=1e-4)
    assert "blockquote" not in Page(files["html"]().decode()).tags()


# --- the link and where the model comes from -------------------------------------------------------------------------


def test_the_link_says_what_differs_from_the_defaults(monkeypatch: pytest.MonkeyPatch):
    told: list[tuple] = []
    monkeypatch.setattr(export, "copy_link", lambda query, typed, **more: told.append((query, typed, more)))
    monkeypatch.setattr("pages.base.access.visitors.network_address", lambda: "192.0.2.7")
    app = visit(text="a b", layer="2", i="1")
    query, typed, more = told[-1]
    assert more["network"] == "192.0.2.7"
    assert query == dict(app.query_params.items()) or query == {k: v[0] for k, v in app.query_params.items()}
    assert query["text"] == "a b"
    assert {"text", "pair", "text_b", "template", "source", "patch_with"} <= set(typed)
    assert more["note"] == ""
    app = visit(text="word " * 2_000)
    query, typed, more = told[-1]
    assert "text" not in query
    assert set(app.query_params) <= set(query), "the link keeps what the address bar keeps"
    assert "kept_text" in query
    assert "kept_text" in typed
    assert "report" in more["note"]


def test_a_link_without_the_text_has_nothing_of_the_user(monkeypatch: pytest.MonkeyPatch):
    told: list[tuple] = []
    monkeypatch.setattr(export, "copy_link", lambda query, typed, **more: told.append((query, typed)))
    own = {name: f"secret {name}" for name, param in registered().items() if param.typed and param.in_links}
    shown = {"edits": "ablate_l0_h1", "boxes": "80.640.150.665", "nodes": "2/html/body/p"}
    own |= shown
    app = visit("heads", layer="2", **own)
    assert not app.exception
    query, typed = told[-1]
    assert {name: query.get(name) for name in own} == own
    bare = {name: value for name, value in query.items() if name not in typed}
    assert bare["layer"] == "2"
    assert not {name for name, value in bare.items() if "secret" in value or value in shown.values()}


def test_a_shared_server_never_tells_its_folders(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    monkeypatch.setattr(export.state, "get", lambda param: "small" if param.name == "source" else None)
    key, remark = export.origin(ModelSpec(str(tmp_path / "small")))
    assert key.source == "small"
    assert remark.startswith("# ")
    for name in BUNDLED:
        assert export.origin(ModelSpec(name)) == (ModelSpec(name), "")


def test_a_model_trained_here_is_said_to_need_saving():
    key, remark = export.origin(ModelSpec(f"{TRAINED}abc"))
    assert key.source == export.SAVED
    assert "save it" in remark


@pytest.mark.parametrize(
    ("title", "name"), [("L2 H3 of a/b", "L2-H3-of-a-b"), ("..", "encoderscope"), ("Käse, ок", "Käse-ок")]
)
def test_a_title_becomes_a_files_name(title: str, name: str):
    assert export.file_name(title) == name


# --- Compare ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        {"compare": "heads", "layer": "0", "head": "2", "layer_b": "1", "head_b": "8"},
        {
            "compare": "sentences",
            "text": "We sat on the bank of the river.",
            "text_b": "The bank took our money.",
            "special": "zero",
        },
        {"compare": "models", "model": "twin-pre", "model_b": "twin-post", "layer_b": "3", "head_b": "1"},
    ],
    ids=["heads", "sentences", "twins"],
)
def test_a_comparisons_numbers_its_lines_and_its_files_agree(
    query: dict[str, str], files: dict[str, Callable[[], bytes]]
):
    app = visit("heads", view="beside", **query)
    assert_well(app)
    found = run(python(app))["found"]
    assert isinstance(found, map_comparison.Comparison)
    table = pd.read_parquet(io.BytesIO(files["parquet"]()))
    for name, part in (("a", found.first), ("b", found.second), ("difference", found.difference)):
        assert table[name].to_numpy() == pytest.approx(part.numpy().ravel(), abs=1e-6, nan_ok=True)
    side = len(found.alignment)
    assert table["row"].tolist() == [row for row in range(side) for _ in range(side)]
    assert table["column"].tolist() == list(range(side)) * side
    cell = found.largest[0]
    shown = " ".join(block.value for block in app.markdown)
    assert all(f"**{three_digits(weight)}** in" in shown for weight in (cell.first, cell.second))
    report = files["html"]().decode()
    assert len(Page(report).attributes("div")) >= 3
    assert three_digits(cell.second) in report


def test_repeated_words_are_distinguished_by_their_positions(minilm: encoder.TextEncoder):
    view = attention_map(minilm.trace("the cat the cat"), 0, 2, queries=[4])
    pairs = view.strongest()
    assert list(pairs.columns) == ["query", "from", "key", "to", "weight"]
    assert not pairs.duplicated(["query", "key"]).any()
    assert pairs.duplicated(["from", "to"]).any()


def test_the_command_runs_the_same(tmp_path: Path) -> None:
    app = visit("heads", text="The cat sat", model="twin-pre", layer="1", head="2", edits="ablate_l0_h1")
    words = shlex.split(exported(app, "bash"))
    assert main.main([*words[1:], "--out", str(tmp_path / "head.csv")]) == 0
    weights = run(exported(app))["trace"].attention(1, 2)
    found = pd.read_csv(tmp_path / "head.csv").iloc[:, -1].to_numpy()
    assert found == pytest.approx(weights.numpy().ravel(), abs=1e-6)
