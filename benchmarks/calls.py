"""What a person calls: `model.trace(text)` and `transformers`, each with its own tokenizer, in a process of their own.

The process has no settings of malloc, as in a notebook. It measures on a quiet machine, and next to a neighbour that
copies memory all the time, as on a shared machine.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import memory, report, timing
from benchmarks.report import Figure

#: Tokens of the texts.
LENGTHS = (62, 128, 256, 502)
#: Goal for a trace, on a quiet machine and on a busy one.
TARGET = 1.05
#: Copies 128 MB again and again, more than any cache holds.
NEIGHBOUR = "import numpy as np\na = np.ones(2**24)\nb = a.copy()\nwhile True: np.copyto(b, a)"
#: What makes a figure differ -> the words for it.
STATES = {"quiet": "", "busy": ", next to copies of memory"}


def run(lengths: tuple[int, ...], seconds: float) -> Iterator[Figure]:
    """A trace of a text over the output of transformers, quiet and busy.

    seconds: for both sides of one length.
    """
    for state, where in STATES.items():
        with neighbour() if state == "busy" else contextlib.nullcontext():
            found = in_a_process(lengths, seconds)
        yield from (figure(one, where) for one in found)


def figure(measured: dict[str, Any], where: str) -> Figure:
    """The line of one length. where: the state of the machine, in words."""
    ratio = timing.ratio(measured["ours"], measured["theirs"])
    raw = {side: report.seconds(statistics.median(measured[side])) for side in ("ours", "theirs")}
    return Figure(
        "engine",
        f"model.trace(text){where}",
        "transformers with its tokenizer",
        ratio.value,
        tokens=measured["tokens"],
        target=TARGET,
        low=ratio.low,
        high=ratio.high,
        raw=raw | {f"pages, {side}": f"{measured['faults'][side]:,.0f} pages" for side in ("ours", "theirs")},
    )


@contextlib.contextmanager
def neighbour() -> Iterator[None]:
    """Inside, another process copies memory."""
    with subprocess.Popen([sys.executable, "-c", NEIGHBOUR]) as process:
        try:
            yield
        finally:
            process.kill()


def in_a_process(lengths: tuple[int, ...], seconds: float) -> list[dict[str, Any]]:
    """`measure` of each length in one new process without settings of malloc."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    environment.pop("GLIBC_TUNABLES", None)
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.calls", str(seconds), *map(str, lengths)],
        cwd=memory.ROOT,
        env=environment | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


def measure(n_tokens: int, seconds: float) -> dict[str, Any]:
    """Processor time of each call, and the pages of memory that one call asks the system for (its page faults)."""
    calls = contestants(n_tokens)
    times = timing.in_turn(calls, seconds=seconds, least=5, most=1_000, clock="cpu")
    return {"tokens": n_tokens, **times, "faults": {name: page_faults(call) for name, call in calls.items()}}


def contestants(n_tokens: int) -> dict[str, Callable[[], Any]]:
    """Both calls for a text of `n_tokens` tokens. Raises ValueError where they give other numbers."""
    import torch
    from transformers import AutoTokenizer

    from benchmarks import subjects
    from encoder.checkpoints.bundled import bundled_folder

    pair, tokenize = subjects.minilm(), AutoTokenizer.from_pretrained(bundled_folder("minilm"))
    found = pair.sentence(n_tokens)
    text = found.text[: max(end for _, end in found.offsets)]

    @torch.inference_mode()
    def theirs() -> Any:
        return pair.sdpa(**tokenize(text, return_tensors="pt")).last_hidden_state

    difference = (pair.ours.trace(text).output - theirs()[0]).abs().max().item()
    if difference > 1e-4:
        raise ValueError(f"The two sides differ by {difference:.2g}, so their speeds cannot be compared.")
    return {"ours": lambda: pair.ours.trace(text), "theirs": theirs}


def page_faults(call: Callable[[], Any], rounds: int = 5) -> float:
    """Page faults of one call, the median of some; 0 where the system does not count them."""
    try:
        import resource
    except ImportError:
        return 0.0

    def once() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        call()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    return statistics.median(once() for _ in range(rounds))


if __name__ == "__main__":
    for length in sys.argv[2:]:
        print(json.dumps(measure(int(length), float(sys.argv[1]))), flush=True)
