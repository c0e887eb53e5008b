"""Capture: by context, so that concurrent threads never mix; gone after a failure; nested; edits per thread."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from encoder.edits import AblateHead, MaskKeys, SetScore, Zero
from encoder.errors import EncoderError
from encoder.model.hooks import LAYER_POINTS, HookPoint, current_visitor, visiting
from encoder.trace.capture import ON_REQUEST, record
from encoder.trace.trace import Trace
from tests.engine.conftest import WORDS, tiny

THREADS = 8


def sentence(seed: int) -> str:
    chosen = random.Random(seed)
    return " ".join(chosen.choice(WORDS) for _ in range(chosen.randint(1, 25)))


def same(one: Trace, other: Trace) -> bool:
    """To the last bit: the same ids and every captured value."""
    return (
        one.ids == other.ids
        and set(one.values) == set(other.values)
        and all(torch.equal(one.values[name], other.values[name]) for name in one.values)
    )


def race(tasks, threads: int = THREADS) -> list:
    """Run the tasks in threads that all start at once; each thread takes the next task when it is done with one."""
    start = threading.Barrier(threads)

    def wait() -> None:
        start.wait()

    with ThreadPoolExecutor(threads, initializer=wait) as pool:
        return list(pool.map(lambda task: task(), tasks))


def test_eight_threads_over_one_model():
    model = tiny(n_segments=2)
    texts = [sentence(seed) for seed in range(30)]
    alone = {text: model.trace(text) for text in texts}
    order = texts * 5
    random.Random(0).shuffle(order)
    together = race([lambda text=text: model.trace(text) for text in order])
    assert len(together) == 150
    wrong = [trace.source.text for trace in together if not same(trace, alone[trace.source.text])]
    assert not wrong
    assert current_visitor() is None


def test_edits_and_requests_travel_with_their_thread():
    model = tiny()
    cases = [
        {},
        {"edits": (AblateHead(1, 2),)},
        {"edits": (MaskKeys((1,)),)},
        {"edits": (SetScore(0, 4, 1, 0, 7.5),), "request": ("scores",)},
        {"request": ("ffn.hidden", "z")},
    ]
    text = "the cat sat on the mat"
    alone = [model.trace(text, **case) for case in cases]
    for index, other in enumerate(alone[1:4], start=1):
        assert not torch.allclose(other.output, alone[0].output, atol=1e-4), f"case {index} changes nothing"
    order = list(range(len(cases))) * 24
    random.Random(1).shuffle(order)
    together = race([lambda case=cases[index]: model.trace(text, **case) for index in order])
    assert not [index for index, trace in zip(order, together, strict=True) if not same(trace, alone[index])]


def test_a_plain_forward_pass_beside_a_recorded_one_is_not_recorded():
    model = tiny()
    ids = torch.tensor([model.tokenize("the cat").ids])
    recorded = threading.Event()
    finished = threading.Event()

    def other() -> None:
        recorded.wait(10)
        with torch.no_grad():
            model.encoder(ids)
        finished.set()

    thread = threading.Thread(target=other)
    thread.start()
    with record() as recorder:
        recorded.set()
        assert finished.wait(10)
    thread.join()
    assert not recorder.values


def test_tasks_of_one_thread_do_not_mix_either():
    """asyncio gives every task a context of its own: a recorder opened in one is not seen in another."""
    model = tiny()
    texts = ["the cat", "a big red bus", "dog"]

    async def one(text: str):
        ids = torch.tensor([model.tokenize(text).ids])
        with record() as recorder:
            await asyncio.sleep(0)
            with torch.no_grad():
                model.encoder(ids)
            await asyncio.sleep(0)
        return recorder.values["output"][0]

    async def all_of_them():
        return await asyncio.gather(*(one(text) for text in texts))

    for text, output in zip(texts, asyncio.run(all_of_them()), strict=True):
        assert torch.equal(output, model.trace(text).output)


class Broken(RuntimeError):
    pass


def test_a_failed_forward_pass_leaves_no_recorder_behind(monkeypatch: pytest.MonkeyPatch):
    model = tiny()
    before = model.trace("the cat")

    def fail(*_: object) -> None:
        raise Broken

    with monkeypatch.context() as patch:
        patch.setattr(model.encoder.layers[1].ffn, "forward", fail)
        with pytest.raises(Broken):
            model.trace("the cat")
        assert current_visitor() is None
        with pytest.raises(Broken), record():
            model.encoder(torch.tensor([[1, 2]]))
        assert current_visitor() is None
    assert same(model.trace("the cat"), before)


def test_a_nested_recording_hides_the_outer_one():
    model = tiny()
    ids = [torch.tensor([model.tokenize(text).ids]) for text in ("the cat", "a big red bus")]
    with record() as outer, torch.no_grad():
        with record() as inner:
            model.encoder(ids[1])
        assert not outer.values
        model.encoder(ids[0])
    assert inner.values["output"].shape[1] == ids[1].shape[1]
    assert outer.values["output"].shape[1] == ids[0].shape[1]
    assert current_visitor() is None


def test_a_trace_within_a_recording_is_not_seen_by_it():
    model = tiny()
    with record() as outer:
        model.trace("the cat")
    assert not outer.values


@pytest.mark.parametrize("changes", [{}, {"norm_placement": "pre"}])
def test_some_values_are_kept_on_request_only(changes: dict[str, str]):
    model = tiny(**changes)
    names = set(model.trace("the cat").values)
    others = ("cross", "adapter", "first_ffn", "convolution", "end_norm")
    plain = [point for point in LAYER_POINTS if not any(part in point for part in others)]
    mine = [point for point in plain if point in ON_REQUEST]
    always = [point for point in plain if point not in ON_REQUEST]
    assert {name for name in names if name.startswith("layers.")} == {
        f"layers.{layer}.{point}" for layer in range(3) for point in always
    }
    for request in (*((name,) for name in mine), ("scores", "z"), mine):
        more = set(model.trace("the cat", request=request).values) - names
        assert more == {f"layers.{layer}.{name}" for name in request for layer in range(3)}
    trace = model.trace("the cat", request=("ffn.hidden",))
    assert trace.values["layers.2.ffn.hidden"].shape == (trace.n_tokens, model.config.d_ffn)


@pytest.mark.parametrize("name", ["ffn.hiden", "hidden", "ffn", "q", "layers.0.z", ""])
def test_a_request_for_another_name_lists_the_names(name: str):
    with pytest.raises(EncoderError, match=re.escape(f"request={name!r}")) as caught:
        tiny().trace("the cat", request=(name,))
    assert all(point in str(caught.value) for point in ON_REQUEST)


def test_an_edit_of_an_unknown_hook_point_lists_the_names():
    """ "z" does not match every name that ends with a z."""
    with pytest.raises(EncoderError, match=re.escape("'ffn.z'")) as caught:
        tiny().trace("the cat", edits=(Zero("ffn.z"),))
    assert all(point in str(caught.value) for point in LAYER_POINTS)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_a_sublayers_output_is_what_it_adds_to_the_residual_stream(placement: str):
    model = tiny(norm_placement=placement)
    trace = model.trace("the cat sat on the mat", request=("attention_out", "ffn_out"))
    stream = list(trace.residual.items())
    for (_, before), (name, after) in itertools.pairwise(stream):
        layer, part = name.rsplit(".after_")
        sum_ = before + trace.values[f"{layer}.{part}_out"]
        expected = trace.norms[f"{layer}.{part}_norm"].input if placement == "post" else after
        torch.testing.assert_close(sum_, expected, atol=1e-6, rtol=1e-5)


def test_a_hook_point_without_a_recorder_is_the_identity():
    value = torch.ones(2)
    assert HookPoint("here")(value, 3) is value
    assert "here" in repr(HookPoint("here"))


def test_nothing_writes_to_a_captured_value():
    """Every value that the recorder holds by reference is, at the end of the pass, what it was when it was seen."""
    model = tiny(n_segments=2, position="rotary", gated=True)

    class Copying:
        def __init__(self) -> None:
            self.kept, self.copies = {}, {}

        def visit(self, name: str, layer: int | None, value: torch.Tensor) -> torch.Tensor:
            self.kept[layer, name], self.copies[layer, name] = value, value.clone()
            return value

        def needs_scores(self, layer: int) -> bool:
            return layer == 1

    visitor = Copying()
    with visiting(visitor), torch.no_grad():
        model.encoder(torch.tensor([model.tokenize("the cat sat").ids]))
    assert len(visitor.kept) > 30
    assert all(torch.equal(visitor.kept[name], visitor.copies[name]) for name in visitor.kept)
