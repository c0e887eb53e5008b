"""The store of traces: bounded by bytes, one computation for one key, nothing kept of a failure."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import encoder
from encoder import explain
from encoder.edits import AblateHead
from encoder.explain import Recomputation
from encoder.maps import long_map
from encoder.measure.head_measures import head_measures
from encoder.run import TRAINED, UNTRAINED, ModelSpec, Run, Text, Untrained
from encoder.trace.trace import Trace
from pages.core.stores import cache, model_store, sizes, trained
from pages.core.stores.byte_cache import ByteCache


def test_least_recently_used_goes_first() -> None:
    store = ByteCache(limit=250)
    made: list[str] = []

    def entry(name: str) -> str:
        return store.get(name, lambda: made.append(name) or name, lambda _: 100)

    for name in ("a", "b", "a", "c", "a", "b"):
        assert entry(name) == name
    # "b" went when "c" came, since "a" had been used after it; "c" went when "b" came back.
    assert made == ["a", "b", "c", "b"]
    assert store.bytes == 200


def test_one_entry_larger_than_the_limit_is_still_served() -> None:
    store = ByteCache(limit=10)
    assert store.get("big", lambda: "value", lambda _: 1_000) == "value"
    assert store.get("next", lambda: "other", lambda _: 1_000) == "other"
    assert store.bytes == 1_000


def test_two_sessions_compute_a_key_once() -> None:
    store = ByteCache(limit=1_000)
    calls: list[int] = []

    def make() -> str:
        calls.append(1)
        time.sleep(0.05)  # long enough for every thread to ask while this one computes
        return "value"

    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(store.get("k", make, lambda _: 1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["value"] * 8
    assert len(calls) == 1


def test_a_failure_is_not_kept() -> None:
    store = ByteCache(limit=1_000)
    with pytest.raises(ValueError, match="first"):
        store.get("k", lambda: (_ for _ in ()).throw(ValueError("first")), lambda _: 1)
    assert store.get("k", lambda: "second", lambda _: 1) == "second"


def test_after_a_failure_waiting_sessions_still_count_the_value_once() -> None:
    store = ByteCache(limit=1_000)
    failing, waiting = threading.Event(), threading.Event()
    made: list[str] = []

    def fail() -> str:
        failing.set()
        waiting.wait(10)
        raise ValueError("first")

    def make() -> str:
        time.sleep(0.02)
        made.append("value")
        return "value"

    def first() -> None:
        with pytest.raises(ValueError, match="first"):
            store.get("k", fail, lambda _: 100)

    threads = [threading.Thread(target=first)]
    threads[0].start()
    failing.wait(10)
    threads += [threading.Thread(target=lambda: store.get("k", make, lambda _: 100)) for _ in range(4)]
    for thread in threads[1:]:
        thread.start()
    while store._turns["k"].sessions < 5:
        time.sleep(0.001)
    waiting.set()
    for thread in threads:
        thread.join()
    assert made == ["value"]
    assert store.bytes == 100
    assert not store._turns


@given(
    limit=st.integers(0, 400),
    calls=st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 300), st.booleans()), max_size=30),
)
def test_the_bytes_are_always_those_of_the_entries(limit: int, calls: list[tuple[str, int, bool]]) -> None:
    evicted: list[object] = []
    store = ByteCache(limit, lambda key, _: evicted.append(key))
    for key, size, forget in calls:
        if forget:
            store.discard(lambda name, _, key=key: name == key)
            assert store.known(key) is None
        else:
            assert store.get(key, lambda size=size: size + 1, lambda value: value - 1) == store.known(key)
        assert store.bytes == sum(size for _, size in store._entries.values())
        assert store.bytes <= limit or len(store._entries) == 1
    assert set(evicted) <= set("abcdef")


def test_what_needs_an_evicted_model_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The float64 reference keeps the weights it reads: as a derived value it must not outlive the model."""
    monkeypatch.setattr(cache, "_STORE", ByteCache(1_000_000_000))
    monkeypatch.setattr(model_store, "_MODELS", ByteCache(1, model_store._MODELS._on_evict))  # room for the newest only
    made = Untrained(layers=1, heads=2, width=16, ffn=24)
    first, second = (ModelSpec(UNTRAINED, untrained=replace(made, seed=seed), device="cpu") for seed in (2, 3))
    cache.derived(Run(first, Text("one two")), ("float64",), Recomputation)
    cache.computed(("both", (first, second)), lambda: {"encoder": model_store.model(first).encoder})
    model = weakref.ref(model_store.model(first).encoder)
    model_store.model(second)
    gc.collect()
    assert model() is None


def test_what_is_in_a_cycle_when_a_model_is_loaded_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    class Standing:
        """Keeps itself alive until the garbage collector finds it, as a page's figure or a training run may."""

        def __init__(self) -> None:
            self.itself, self.numbers = self, np.zeros(1_000)

    monkeypatch.setattr(model_store, "_MODELS", ByteCache(1, model_store._MODELS._on_evict))
    made = Untrained(layers=1, heads=2, width=16, ffn=24)
    alive = []
    for seed in range(10, 14):
        standing = Standing()
        alive.append(weakref.ref(standing))
        model_store.model(ModelSpec(UNTRAINED, untrained=replace(made, seed=seed), device="cpu"))
    del standing
    gc.collect()
    assert [one() for one in alive] == [None] * 4


def test_a_model_that_is_evicted_during_a_forward_pass_takes_the_trace_along(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ByteCache(1_000_000_000)
    monkeypatch.setattr(cache, "_STORE", store)
    monkeypatch.setattr(model_store, "_MODELS", ByteCache(1, model_store._MODELS._on_evict))  # room for the newest only
    made = Untrained(layers=1, heads=2, width=16, ffn=24)
    first, second = (ModelSpec(UNTRAINED, untrained=replace(made, seed=seed), device="cpu") for seed in (4, 5))
    model = weakref.ref(model_store.model(first).encoder)

    def evicted_meanwhile(trace: Trace) -> Recomputation:
        model_store.model(second)
        return Recomputation(trace)

    cache.derived(Run(first, Text("one two")), ("float64",), evicted_meanwhile)
    gc.collect()
    assert model() is None
    assert store.bytes == 0


def test_a_model_that_makes_room_takes_its_traces_along(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ByteCache(limit=1_000_000_000)
    models = ByteCache(1, model_store._MODELS._on_evict)  # room for the newest only
    monkeypatch.setattr(cache, "_STORE", store)
    monkeypatch.setattr(model_store, "_MODELS", models)
    made = Untrained(layers=2, heads=2, width=16, ffn=24)
    first, second = (ModelSpec(UNTRAINED, untrained=replace(made, seed=seed), device="cpu") for seed in (0, 1))
    model = weakref.ref(model_store.model(first).encoder)
    one, other = (Run(spec, Text("one two three")) for spec in (first, second))
    old = cache.trace(one)
    derived = cache.derived(one, "sum", lambda trace: trace.output.numpy().sum(keepdims=True))
    held = store.bytes
    cache.trace(other)
    assert store.bytes == held  # the new trace in the old one's place; what was derived from that stays
    assert cache.known(one, "sum") is derived
    assert cache.trace(one) is not old
    del old
    cache.trace(other)
    gc.collect()
    assert model() is None


def test_keys_hold_everything_that_changes_a_result() -> None:
    base = Run(input=Text("a short text"))
    plain = cache.trace(base)
    assert cache.trace(base) is plain
    assert cache.trace(base.but(layer=3, head=1, query=2)) is plain, "the place changes no number"
    others = [
        cache.trace(base.but(norm="pre")),
        cache.trace(base.but(dtype="bfloat16")),
        cache.trace(base.but(pair="and a pair")),
        cache.trace(base.but(edits=(AblateHead(0, 1),))),
    ]
    for other in others:
        same_shape = other.output.shape == plain.output.shape
        assert not same_shape or not np.array_equal(other.output.float().numpy(), plain.output.numpy())


def test_bytes_of_a_trace_count_shared_storage_once() -> None:
    trace = encoder.load("minilm").trace("one two three")
    numbers = 3 * 6 * 5 * 384  # q, k, v of six layers over five tokens: the least that is held
    assert 4 * numbers <= sizes.trace_bytes(trace) <= 4 * 4 * numbers


def test_bytes_of_a_result_count_the_arrays_inside_it() -> None:
    trace = encoder.load("minilm").trace("one two three")
    row = explain.softmax(trace, explain.Place(0, 1, 2))
    assert row.weights.nbytes + row.scores.nbytes <= sizes.value_bytes(row) < 5_000
    measures = head_measures(trace)
    arrays = sum(array.nbytes for array in measures.values.values())
    assert arrays < sizes.value_bytes((measures, "words")) < arrays + 10_000
    overview = long_map.layer_overview(trace, 0)
    assert sizes.value_bytes(overview) >= overview.pooled.nbytes + overview.received.nbytes
    array = np.zeros(100_000)
    assert 2 * array.nbytes < sizes.value_bytes({"a": [array, array], "b": (array.copy(),)}) < 2.1 * array.nbytes


def test_bytes_of_a_result_count_its_traces_and_not_the_weights() -> None:
    model = encoder.load("minilm")
    traces = model.trace_batch(["one two three", "four"])
    counted = sizes.value_bytes([*traces, model, model.encoder])
    assert counted == pytest.approx(sum(sizes.trace_bytes(trace) for trace in traces), abs=1_000)


@pytest.mark.parametrize("kind", ["scratch", "trained"])
def test_numbers_of_16_bits_are_what_runs(kind: str) -> None:
    made = Untrained(layers=2, heads=2, width=16, ffn=24)
    key = ModelSpec(UNTRAINED, untrained=made, device="cpu")
    if kind == "trained":
        key = ModelSpec(TRAINED + trained.keep_model(model_store.model(key)), device="cpu")
    full, half = model_store.model(key), model_store.model(replace(key, dtype="bfloat16"))
    assert sizes.model_bytes(half) * 2 == sizes.model_bytes(full) == 4 * full.n_parameters
    weights, here = (
        cache.trace(Run(replace(key, dtype=name), Text("one two three"))).attention(1, 1)
        for name in ("float32", "bfloat16")
    )
    np.testing.assert_allclose(here, weights, atol=0.01)
    assert not np.array_equal(here, weights)
