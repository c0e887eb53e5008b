"""Time and memory of the engine, compared with its plain forward pass, transformers and TransformerLens."""

import contextlib
import itertools
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks import calls, lens, memory, report, subjects, timing
from benchmarks.report import Figure
from benchmarks.subjects import ModelPair
from encoder.causal import ablate_each_head
from encoder.maps.long_map import layer_overview
from encoder.measure.head_measures import survey

#: Eager attention keeps layers x heads x T^2 numbers, 19 GB at 8192 tokens, so it runs only up to this length.
LONGEST_EAGER = 2048
#: Goal for a trace of 8192 tokens: resident memory of the whole process, with interpreter and libraries.
LONG_TRACE_BYTES = 2_000_000_000


def run(
    *, lengths: tuple[int, ...], long: tuple[int, ...], seconds: float, clock: str, imports: int
) -> Iterator[Figure]:
    """All figures of this part, each as soon as it is measured.

    seconds: for all contestants of one length; imports: how often each import is timed.
    """
    for pair, n_tokens in [(subjects.minilm, n) for n in lengths] + [(subjects.rotary, n) for n in long]:
        yield from times(pair(), n_tokens, seconds, clock)
    yield from calls.run(calls.LENGTHS if max(lengths, default=0) > 128 else calls.LENGTHS[:2], seconds)
    for n_tokens in long:
        yield maps_with_the_pass(subjects.rotary(), n_tokens, seconds, clock)
    held = [n_tokens for n_tokens in long if n_tokens <= LONGEST_EAGER]
    for pair, n_tokens in [(subjects.minilm, n) for n in lengths] + [(subjects.rotary, n) for n in held]:
        yield from peaks(pair(), n_tokens)
    yield from effects_of_heads(seconds, clock)
    yield from lens.against(lengths, seconds, clock)
    if long:
        yield longest_trace(max(long))
    if imports:
        yield import_time(imports, clock)


def times(pair: ModelPair, n_tokens: int, seconds: float, clock: str) -> Iterator[Figure]:
    """Forward pass, trace, and trace with small maps and measures, next to transformers, in the same rounds."""
    sides = contestants(pair, n_tokens)
    if n_tokens > LONGEST_EAGER:  # it has no rival there, and all maps take half a minute
        del sides["survey"]
    measured = timing.in_turn(sides, seconds=seconds, least=3 if n_tokens > 2000 else 7, clock=clock)
    small = pair.name == "MiniLM"

    def figure(what: str, against: str, ours: str, theirs: str, target: float | None) -> Figure:
        found = timing.ratio(measured[ours], measured[theirs])
        medians = {name: statistics.median(measured[name]) for name in (ours, theirs)}
        return Figure(
            "engine",
            what if small else f"{what} ({pair.name})",
            against,
            found.value,
            tokens=n_tokens,
            target=target,
            low=found.low,
            high=found.high,
            raw={name: report.seconds(value) for name, value in medians.items()},
        )

    yield figure("traced forward", "plain forward", "trace", "plain", 1.10 if n_tokens >= 64 else None)
    yield figure("plain forward", "transformers SDPA", "plain", "transformers", 1.05)
    if "eager" in measured:
        target = 1.1 if n_tokens == 512 else None
        yield figure("trace, thumbnails, measures", "transformers output_attentions", "survey", "eager", target)


def contestants(pair: ModelPair, n_tokens: int) -> dict[str, Callable[[], Any]]:
    """The calls to time, by name."""
    found = pair.sentence(n_tokens)
    ids = subjects.ids(found)
    model = pair.ours

    @torch.no_grad()
    def reference(other: Any, **options: Any) -> Any:
        return other(input_ids=ids, **options)

    sides = {
        "plain": torch.no_grad()(lambda: model.encoder(ids)),
        "trace": lambda: model.trace_tokens(found),
        "survey": lambda: survey(model.trace_tokens(found)),
        "transformers": lambda: reference(pair.sdpa),
    }
    if n_tokens <= LONGEST_EAGER:
        sides["eager"] = lambda: reference(pair.eager, output_attentions=True)
    return sides


def maps_with_the_pass(pair: ModelPair, n_tokens: int, seconds: float, clock: str) -> Figure:
    """A trace with the overviews of all heads, computed together, next to one after the other."""
    found, model = pair.sentence(n_tokens), pair.ours
    layers = range(model.config.n_layers)

    def apart() -> None:
        trace = model.trace_tokens(found)
        for layer in layers:
            layer_overview(trace, layer)

    sides = {"together": lambda: model.trace_tokens(found, on_overview=lambda *_: None), "apart": apart}
    measured = timing.in_turn(sides, seconds=seconds, least=2 if n_tokens > LONGEST_EAGER else 7, clock=clock)
    ratio = timing.ratio(measured["together"], measured["apart"])
    return Figure(
        "engine",
        "trace with all small maps (rotary)",
        "trace, then maps",
        ratio.value,
        tokens=n_tokens,
        target=0.75 if n_tokens > LONGEST_EAGER else None,
        low=ratio.low,
        high=ratio.high,
        raw={name: report.seconds(statistics.median(series)) for name, series in measured.items()},
    )


def peaks(pair: ModelPair, n_tokens: int) -> Iterator[Figure]:
    """Peak memory of a trace, compared with transformers when it returns attention and hidden states."""
    found = pair.sentence(n_tokens)
    ids = subjects.ids(found)

    @torch.no_grad()
    def eager() -> Any:
        return pair.eager(input_ids=ids, output_attentions=True, output_hidden_states=True)

    ours, _ = memory.tensor_bytes(lambda: pair.ours.trace_tokens(found))
    theirs, _ = memory.tensor_bytes(eager)
    what = "peak memory of a trace" if pair.name == "MiniLM" else f"peak memory of a trace ({pair.name})"
    yield Figure(
        "engine",
        what,
        "transformers, attentions and hidden states",
        ours / theirs,
        tokens=n_tokens,
        target=0.4 if n_tokens >= 512 else None,
        raw={"ours": report.megabytes(ours), "theirs": report.megabytes(theirs)},
    )


def effects_of_heads(seconds: float, clock: str) -> Iterator[Figure]:
    """Effects of MiniLM's 72 heads, next to a plain forward pass of as many sentences in one batch; memory at T=512."""
    pair = subjects.minilm()
    n_heads = pair.ours.config.n_layers * pair.ours.config.n_heads
    found = pair.sentence(16)
    ids = subjects.ids(found).expand(n_heads, -1).contiguous()
    sides = {
        "effects": lambda: ablate_each_head(pair.ours, found),
        f"plain forward of {n_heads} sentences": torch.no_grad()(lambda: pair.ours.encoder(ids)),
        "a loop of forward hooks on transformers": lambda: hooks_loop(pair, ids[:1]),
    }
    targets = {f"plain forward of {n_heads} sentences": 1.5, "TransformerLens' loop of run_with_hooks": 1 / 3}
    with contextlib.suppress(ImportError):
        theirs = lens.bridge()
        sides["TransformerLens' loop of run_with_hooks"] = lambda: lens.ablation_loop(theirs, pair.ours.config, ids[:1])
    measured = timing.in_turn(sides, seconds=seconds, clock=clock)
    raw = {name: report.seconds(statistics.median(series)) for name, series in measured.items()}
    for name in list(sides)[1:]:
        ratio = timing.ratio(measured["effects"], measured[name])
        yield Figure(
            "engine",
            f"effects of {n_heads} heads",
            name,
            ratio.value,
            tokens=16,
            target=targets.get(name),
            low=ratio.low,
            high=ratio.high,
            raw=raw,
        )
    peak = memory.peak_resident(
        "import encoder\nfrom benchmarks import subjects\nfrom encoder.causal import ablate_each_head\n"
        "model = encoder.load('minilm', device='cpu')\nablate_each_head(model, subjects.sentence(model, 512))"
    )
    yield Figure(
        "engine",
        f"resident memory of a process: effects of {n_heads} heads",
        "",
        peak / 1e9,
        tokens=512,
        unit="GB",
        target=1.0,
    )


@torch.no_grad()
def hooks_loop(pair: ModelPair, ids: torch.Tensor) -> None:
    """One run for each head that is off, by a forward hook on transformers' model. ids [1, T]."""
    config = pair.ours.config

    def off(head: int) -> Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]:
        def change(_: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
            z = given[0].clone()
            z[..., head * config.d_head : (head + 1) * config.d_head] = 0
            return (z, *given[1:])

        return change

    for layer, head in itertools.product(range(config.n_layers), range(config.n_heads)):
        hook = pair.eager.encoder.layer[layer].attention.output.register_forward_pre_hook(off(head))
        try:
            pair.eager(input_ids=ids)
        finally:
            hook.remove()


def longest_trace(n_tokens: int) -> Figure:
    """Resident memory of a whole process that traces a text of `n_tokens` with the rotary encoder."""
    peak = memory.peak_resident(f"from benchmarks import subjects\nsubjects.trace_random_rotary({n_tokens})")
    maps = subjects.LAYERS * subjects.HEADS * n_tokens**2 * 4
    raw = {"in all": report.megabytes(peak), "attention maps only": report.megabytes(maps)}
    return Figure(
        "engine",
        "resident memory of a process that traces (rotary)",
        "",
        peak / 1e9,
        tokens=n_tokens,
        unit="GB",
        target=LONG_TRACE_BYTES / 1e9,
        raw=raw,
    )


def import_time(rounds: int, clock: str) -> Figure:
    """`import encoder` compared with `import torch`, each in a new process, in turn."""
    series: dict[str, list[float]] = {"encoder": [], "torch": []}
    for number in range(-1, rounds):  # the first round only reads the files into memory
        for name, times_of in series.items():
            taken = seconds_to_import(name, clock)
            if number >= 0:
                times_of.append(taken)
    ratio = timing.ratio(series["encoder"], series["torch"])
    raw = {name: report.seconds(statistics.median(times_of)) for name, times_of in series.items()}
    return Figure(
        "engine", "import encoder", "import torch", ratio.value, target=1.5, low=ratio.low, high=ratio.high, raw=raw
    )


def seconds_to_import(module: str, clock: str) -> float:
    """Seconds of `import module` in a new process."""
    read = {"wall": "time.perf_counter()", "cpu": "time.process_time()"}[clock]
    program = f"import time; began = {read}; import {module}; print({read} - began)"
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, cwd=memory.ROOT, capture_output=True, text=True, check=True)
    return float(answer.stdout)
