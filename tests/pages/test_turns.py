"""Turns and limits: a short computation never waits for a long one, and nobody takes the whole server."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

import encoder
import pages.core.inputs.image_input
import pages.core.inputs.sound_input  # noqa: F401
from encoder.errors import EncoderError
from encoder.model.config import EncoderConfig
from encoder.model.pauses import pause, pausing
from encoder.run import ModelSpec
from pages.base.access import limits, visitors
from pages.base.work import compute_turns, page_slots
from pages.base.work.compute_turns import Turns
from pages.core.stores import estimates, model_store
from pages.core.stores.byte_cache import ByteCache
from tests.pages.apps import sentences, visit

LARGE = EncoderConfig(vocab_size=30_522, d_model=768, n_layers=24, n_heads=16, d_ffn=3072, max_positions=8192)


def running(turns: Turns, *, long: bool, until: threading.Event) -> threading.Thread:
    """A thread that takes a turn and keeps it until an event."""
    began = threading.Event()

    def work() -> None:
        with turns.turn(long=long):
            began.set()
            until.wait(20)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.began = began  # type: ignore[attr-defined]
    return thread


def test_a_short_computation_never_waits_for_long_ones():
    turns, end = Turns(), threading.Event()
    long = [running(turns, long=True, until=end) for _ in range(3)]
    deadline = time.monotonic() + 20
    while not any(one.began.is_set() for one in long) and time.monotonic() < deadline:
        time.sleep(0.01)
    began = time.monotonic()
    with turns.turn():
        assert time.monotonic() - began < 5
    deadline = time.monotonic() + 20
    while turns.n_long < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert turns.n_long == 3
    assert sum(one.began.is_set() for one in long) == 1, "one long computation at a time"
    end.set()
    for one in long:
        one.join(20)
    assert turns.n_long == 0


def test_a_long_computation_is_told_its_place_in_the_queue(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compute_turns, "SAID", 0.0)
    turns, ends, said = Turns(), [threading.Event() for _ in range(2)], list[str]()
    for number, end in enumerate(ends, 1):
        running(turns, long=True, until=end)
        wait_until(lambda number=number: turns.n_long == number)

    def work() -> None:
        with turns.turn(long=True, say=said.append):
            pass

    last = threading.Thread(target=work, daemon=True)
    last.start()
    wait_until(lambda: len(said) == 1)
    ends[0].set()
    wait_until(lambda: len(said) == 2)
    ends[1].set()
    last.join(20)
    assert [re.findall(r"\d+", one) for one in said] == [["2"], ["1"]]
    with turns.turn(long=True, say=said.append):
        assert len(said) == 2, "who does not wait hears nothing"


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_turn_inside_a_turn_waits_for_nobody():
    turns = Turns(at_once=1)
    with turns.turn(long=True), turns.turn(), turns.turn(long=True):
        assert turns.n_long == 1


def test_an_error_gives_the_turn_back():
    turns = Turns(at_once=1)
    with pytest.raises(ZeroDivisionError), turns.turn(long=True):
        _ = 1 // 0
    with turns.turn(long=True):
        pass


def test_a_pass_pauses_after_each_layer_and_a_map_after_each_chunk():
    model = encoder.load("twin-pre", device="cpu")
    seen = []
    with pausing(lambda: seen.append(1)):
        trace = model.trace("the cat")
        assert len(seen) == trace.config.n_layers
        trace.thumbnails()
    assert len(seen) == 2 * trace.config.n_layers
    pause()
    assert len(seen) == 2 * trace.config.n_layers, "outside, nobody is asked"


def test_a_pass_can_be_ended_between_two_layers():
    class Enough(BaseException):
        pass

    def end() -> None:
        raise Enough

    model = encoder.load("twin-pre", device="cpu")
    with pytest.raises(Enough), pausing(end):
        model.trace("the cat")
    assert model.trace("the cat").finite


def test_a_long_computation_gives_way_while_another_page_is_drawn():
    turns = Turns()
    with ExitStack() as pages:
        pages.enter_context(page_slots.drawing())  # its own
        with turns.turn(long=True):
            began = time.monotonic()
            pause()
            alone = time.monotonic() - began
            pages.enter_context(page_slots.drawing())
            began = time.monotonic()
            pause()
            assert time.monotonic() - began > alone


# --- slots ----------------------------------------------------------------------------------------------------------


def pages_in(slots: page_slots.Slots, count: int, end: threading.Event) -> tuple[list[int], list[threading.Thread]]:
    """Threads that ask for a place one after another; the numbers of those that have had one, in their order."""
    drawn: list[int] = []

    def draw(number: int) -> None:
        with slots.slot():
            drawn.append(number)
            end.wait(20)

    threads = []
    for number in range(count):
        threads.append(threading.Thread(target=draw, args=(number,), daemon=True))
        threads[-1].start()
        wait_for(lambda number=number: len(drawn) + len(slots._queue) > number)
    return drawn, threads


def wait_for(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_few_pages_are_drawn_at_once_and_in_their_order():
    end = threading.Event()
    drawn, threads = pages_in(page_slots.Slots(at_once=2, counts=60), 6, end)
    assert drawn == [0, 1]
    end.set()
    for thread in threads:
        thread.join(20)
    assert sorted(drawn) == list(range(6))
    assert drawn[2] == 2


def test_nobody_waits_for_a_page_that_takes_long(monkeypatch: pytest.MonkeyPatch):
    end = threading.Event()
    drawn, _ = pages_in(page_slots.Slots(at_once=1, counts=0.05), 3, end)
    wait_for(lambda: len(drawn) == 3)
    end.set()
    slots = page_slots.Slots(at_once=1, counts=60)
    monkeypatch.setattr(page_slots, "SLOTS", slots)
    with slots.slot(), Turns().turn(long=True):
        drawn, _ = pages_in(slots, 1, end)
        wait_for(lambda: drawn == [0])


def test_a_visitor_who_asks_for_something_else_leaves_the_queue(monkeypatch: pytest.MonkeyPatch):
    slots = page_slots.Slots(at_once=1, counts=60)
    asked, end = threading.Event(), threading.Event()
    first = threading.current_thread()

    class Enough(BaseException):
        pass

    def leave() -> None:
        if threading.current_thread() is not first and asked.is_set():
            raise Enough

    monkeypatch.setattr(page_slots, "leave_if_asked", leave)
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    with slots.slot():
        drawn, threads = pages_in(slots, 2, end)
        asked.set()
        for waiting in list(slots._queue):
            waiting.set()
        for thread in threads:
            thread.join(20)
    assert not drawn
    assert not slots._queue
    with slots.slot():
        pass


# --- limits -----------------------------------------------------------------------------------------------------------


def test_the_estimates_are_near_what_is_measured():
    model = encoder.load("twin-pre", device="cpu")
    trace = model.trace("the cat sat " * 100)
    kept = {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes() for value in trace.values.values()}
    estimated = estimates.trace_bytes(model.config, trace.n_tokens, 4)
    assert 0.7 * sum(kept.values()) < estimated < 2 * sum(kept.values())
    assert estimates.n_parameters(model.config) == pytest.approx(model.n_parameters, rel=0.02)


def test_a_shared_server_refuses_what_would_starve_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: False)
    with pytest.raises(EncoderError, match="limit of this shared server"):
        estimates.of_model(LARGE, 4)
    with pytest.raises(EncoderError, match="MB"):
        estimates.of_trace(LARGE, 2_600, 4, "cpu")
    estimates.of_trace(LARGE.replace(n_layers=2), 512, 4, "cpu")
    monkeypatch.setenv(limits.WORK.variable, "10")
    with pytest.raises(EncoderError, match="operations"):
        estimates.of_trace(LARGE.replace(n_layers=2), 512, 4, "cpu")
    monkeypatch.setenv(limits.MODEL.variable, "100000")
    estimates.of_model(LARGE, 4)


def test_ones_own_machine_does_what_its_memory_allows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    monkeypatch.setattr(estimates, "free_memory", lambda device: 2_000_000_000)
    estimates.of_model(LARGE, 4)
    with pytest.raises(EncoderError, match="memory that is free"):
        estimates.of_trace(LARGE, 8_000, 4, "cpu")


@pytest.fixture
def none_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is loaded already has the limits of the test that loaded it."""
    monkeypatch.setattr(model_store, "_MODELS", ByteCache(2 << 30, model_store._MODELS._on_evict))


@pytest.mark.usefixtures("none_loaded")
def test_models_of_the_pages_split_no_longer_text_than_a_visitor_may_give():
    """The engine itself has no such limit: importing pages changes nothing in it."""
    text = "a " * limits.TEXT.value
    bounded = model_store.model(ModelSpec(source="twin-pre", device="cpu"))
    for split in (bounded.tokenizer, bounded.tokenizer.lower_cased()):
        with pytest.raises(EncoderError, match="characters, and at most"):
            split.encode(text)
    assert encoder.load("twin-pre", device="cpu").tokenizer.most_characters is None
    pair = model_store.joint(ModelSpec(source="digit-words", device="cpu"))
    assert pair is not None
    assert pair.text.tokenizer.most_characters == limits.TEXT.value


@pytest.mark.usefixtures("none_loaded")
def test_the_page_says_what_to_do():
    app = visit("heads", model="scratch", layers="24", heads="16", width="768", ffn="3072")
    assert "fewer layers" in sentences(app)
    assert not app.exception
    assert "characters" in sentences(visit("heads", text="word " * 100_000))


LONG = "the old cat sleeps near a green river " * 6


@pytest.mark.parametrize(
    ("page", "query", "button"),
    [
        ("probes", {}, "probes:begin"),
        ("texts", {"query": LONG, "similar_to": LONG + "end", "explain": "pairs"}, ""),
        ("contribution", {"text": 3 * LONG, "beyond": "deletion"}, "deletion:run"),
        ("training", {"train_part": "gradients"}, ""),
        ("interventions", {"intervention": "ablation", "text": "seven grey cats"}, ""),
    ],
)
def test_a_page_says_its_place_in_the_queue(
    monkeypatch: pytest.MonkeyPatch, page: str, query: dict[str, str], button: str
):
    monkeypatch.setattr(compute_turns, "SAID", 0.0)
    said, begin = [], Turns._begin

    def begins(turns: Turns, long: bool, say: Callable[[str], None]) -> None:
        def shows(sentence: str) -> None:
            say(sentence)
            said.append(sentence)
            raise EncoderError("enough")

        begin(turns, long, shows)

    app = visit(page, **query) if button else None
    monkeypatch.setattr(Turns, "_begin", begins)
    end = threading.Event()
    holder = running(compute_turns.TURNS, long=True, until=end)
    wait_until(holder.began.is_set)
    app = app.button(key=button).click().run() if app else visit(page, **query)
    end.set()
    holder.join(20)
    assert said
    assert not app.exception
