"""The bundled twins and their variants: `python -m encoder.train.twins`, which `make twins` calls.

Trains twin-pre and twin-post from WordNet's text, side by side, and writes encoder/data/twin-pre and
encoder/data/twin-post. Stop it at any time (Ctrl-C); the same command goes on from the last checkpoint.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from encoder.train.mlm import Progress, Run
from encoder.train.recipe import Recipe

#: Both twins: 15,000 steps of 1,024 tokens, 15 million tokens in all, about eight times through the text.
TWIN = Recipe(name="twin", norm_placement="pre", steps=15_000, warmup_steps=1_000, learning_rate=1e-3)
#: Twelve layers, narrower, the first 2,500 steps of a schedule of 7,500.
DEEP = dataclasses.replace(
    TWIN, name="deep", n_layers=12, d_model=96, d_ffn=384, steps=7_500, stop_after=2_500, warmup_steps=750,
    evaluate_every=250,
)  # fmt: skip
PLACEMENTS = ("pre", "post")


def recipes() -> dict[str, Recipe]:
    """Every run by name. Two that differ in pre and post alone are a pair; "no-warmup" ones start at the full rate."""
    runs = []
    for placement in PLACEMENTS:
        runs.append(dataclasses.replace(TWIN, name=f"twin-{placement}", norm_placement=placement))
        runs.append(
            dataclasses.replace(
                TWIN, name=f"twin-{placement}-no-warmup", norm_placement=placement, warmup_steps=0, stop_after=3_000
            )
        )
        runs.append(dataclasses.replace(DEEP, name=f"deep-{placement}", norm_placement=placement))
        runs.append(
            dataclasses.replace(DEEP, name=f"deep-{placement}-no-warmup", norm_placement=placement, warmup_steps=0)
        )
    return {recipe.name: recipe for recipe in runs}


MAIN = ("twin-pre", "twin-post")
VARIANTS = tuple(name for name in recipes() if name not in MAIN)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m encoder.train.twins", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("build/twins"), help="checkpoints and the prepared text")
    parser.add_argument("--out", type=Path, default=None, help="where the finished models go (default: encoder/data)")
    parser.add_argument("--wordnet", type=Path, default=None, help="folder of WordNet's data.noun and so on")
    parser.add_argument("--runs", nargs="+", choices=[*recipes(), "main", "variants"], default=["main"])
    parser.add_argument("--jobs", type=int, default=None, help="runs side by side (default: one a core, one on a GPU)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each run on a CPU")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda", "mps"), default="auto")
    parser.add_argument("--finish-only", action="store_true", help="write the models of the checkpoints there are")
    parser.add_argument("--one", choices=list(recipes()), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    from encoder.train.corpus import prepare

    if options.one:
        return train_one(options)
    prepare(options.work / "corpus", options.wordnet)
    names = [name for group in options.runs for name in {"main": MAIN, "variants": VARIANTS}.get(group, (group,))]
    if not options.finish_only and train_side_by_side(names, options):
        return 1
    from encoder.train.finish import finish

    finish(options.work, options.out)
    return 0


def train_one(options: argparse.Namespace) -> int:
    """One run in this process; SIGINT and SIGTERM end it after a whole checkpoint."""
    import torch

    from encoder.load import pick_device
    from encoder.train.corpus import prepare

    torch.set_num_threads(options.threads)
    device = pick_device(options.device)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    run = Run(recipes()[options.one], prepare(options.work / "corpus", options.wordnet), options.work, device)
    state = run.train(show, stopped.is_set)
    print(f"{options.one}: {state.status} at step {state.step}", flush=True)
    return 0 if run.finished else 1


def show(progress: Progress) -> None:
    """A line of the log: at first at once, then every hundred steps and after each look at the held-out sentences."""
    accuracy = "" if progress.held_out_accuracy is None else f"  held-out accuracy {progress.held_out_accuracy:.3f}"
    if progress.step < 100 or progress.step % 100 == 0 or accuracy:
        print(
            f"{progress.name} step {progress.step:>6}/{progress.last_step}  loss {progress.loss:.3f}  "
            f"{progress.tokens_per_second:,.0f} tokens/s{accuracy}",
            flush=True,
        )


def train_side_by_side(names: Sequence[str], options: argparse.Namespace) -> int:
    """Each run in a process of its own, `jobs` at a time: two runs of one thread are faster than one of two. ->
    failures.
    """
    from encoder.load import pick_device

    on_cpu = pick_device(options.device).type == "cpu"
    jobs = options.jobs or (max(1, (os.cpu_count() or 1) // options.threads) if on_cpu else 1)
    waiting, running, failed = list(names), {}, 0
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop(0)
                running[name] = subprocess.Popen(one_command(name, options), env=one_environment(options))
            for name, process in list(running.items()):
                try:
                    failed += process.wait(timeout=1.0) != 0
                except subprocess.TimeoutExpired:
                    continue
                del running[name]
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
    return failed


def one_command(name: str, options: argparse.Namespace) -> list[str]:
    """The command of one run."""
    command = [sys.executable, "-m", "encoder.train.twins", "--one", name, "--work", str(options.work),
               "--threads", str(options.threads), "--device", options.device]  # fmt: skip
    return command + (["--wordnet", str(options.wordnet)] if options.wordnet else [])


def one_environment(options: argparse.Namespace) -> dict[str, str]:
    """Threads must be set before torch is imported."""
    return os.environ | {"OMP_NUM_THREADS": str(options.threads), "MKL_NUM_THREADS": str(options.threads)}


if __name__ == "__main__":
    sys.exit(main())
