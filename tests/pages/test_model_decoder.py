"""The page Model with an encoder-decoder: the line above the picture, what a click in the second river opens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from encoder.figures.numbers import three_digits
from encoder.run import ModelSpec
from encoder.trace.trace import Trace
from pages.base.access import visitors
from pages.components.events import model_event
from pages.core.stores import model_store
from pages.model.params import STEPS
from tests.load import decoders, reference
from tests.pages.apps import assert_well, visit, words
from tests.test_components import unpack

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

DATE = "the twenty-first of March 1998"
MONTH = 6


@pytest.fixture(scope="module")
def trace() -> Trace:
    found: Trace = model_store.model(ModelSpec("dates-pre")).trace(DATE, target="1998-03-21")
    return found


def opened(**values: str) -> AppTest:
    app = visit("model", start="1", model="dates-pre", text=DATE, layer="1", head="2", **values)
    assert_well(app)
    return app


def picture(app: AppTest) -> dict[str, Any]:
    """The header of the drawn picture."""
    component = next(one for one in app.get("bidi_component") if "model-picture" in one.proto.id)
    header, _ = unpack(component.proto.bytes)
    return header


def test_the_line_says_what_the_selected_token_attends_to(trace: Trace) -> None:
    row = trace.cross_attention(1, 2)[MONTH]
    said = words(opened(output_token=str(MONTH)))
    assert trace.labels[int(row.argmax())] in said
    assert three_digits(float(row.max())) in said


def test_a_forced_output_is_drawn_and_one_that_does_not_fit_is_named(trace: Trace) -> None:
    app = opened(output="1998-03-22")
    assert [label for label, _ in picture(app)["decoder"]["outputs"]][-2:] == ["##2", "[SEP]"]
    long = visit("model", start="1", model="dates-pre", text=DATE, output="1" * 40)
    assert "decoder" not in picture(long)
    assert any("shorter" in one.value for kind in ("error", "info", "warning") for one in long.get(kind))


@pytest.mark.parametrize("step", ["cross", "cross-scores", "cross-mixing", "softmax", "norm", "add", "ffn", "next"])
def test_every_part_opens_in_the_decoder(trace: Trace, step: str) -> None:
    assert step in STEPS
    header = picture(opened(step=step, part="cross", output_token=str(MONTH), output_from="1", check="1"))["decoder"]
    assert header["part"] == (f"{step}-cross" if step in ("norm", "add") else step)
    assert header["partsOf"]["query"] == MONTH
    assert header["partsOf"]["source"] == 1
    assert header["checkSaid"]
    weight = float(trace.cross_attention(1, 2)[MONTH, 1])
    assert header["parts"]["cross"]["value"] == pytest.approx(weight, abs=1e-6)


def test_the_encoder_opens_as_in_any_model() -> None:
    header = picture(opened(side="encoder", i="6", step="softmax"))
    assert (header["side"], header["part"], header["partsOf"]["query"]) == ("encoder", "softmax", 6)
    assert "parts" not in header["decoder"]


def test_events_of_the_second_river_have_its_limits() -> None:
    inner = {"layers": 2, "heads": 4, "count": 11, "width": 64, "neuronCount": 128, "inputCount": 30}
    header = {**inner, "count": 30, "decoder": inner}
    event = model_event("select", {"side": "decoder", "query": 10, "key": None, "source": 29}, header)
    assert event is not None
    assert (event["side"], event["query"], event["source"]) == ("decoder", 10, 29)
    assert model_event("select", {"side": "decoder", "query": 11}, header) is None
    assert model_event("select", {"query": 11}, header) is not None


def test_the_examples_are_dates() -> None:
    app = opened()
    app.pills(key="model-example").set_value("A date in digits").run()
    assert_well(app)
    assert app.text_area(key="view:text").value == "21/3/98"


def test_a_decoder_deeper_than_its_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    case = decoders.CASES["t5"]
    decoders.made(replace(case, fields=case.fields | {"num_decoder_layers": 5})).save_pretrained(tmp_path)
    reference.write_tokenizer(tmp_path, "bert")
    app = visit("model", start="1", model="other", source=str(tmp_path), text="w7 w8 w9", output="w5 w6", layer="4")
    assert_well(app)
    assert (picture(app)["decoder"]["layer"], picture(app)["layer"]) == (4, 2)
    app.session_state["view:side"] = "encoder"
    assert_well(app.run())
    assert picture(app)["layer"] == 2  # its last
