"""Train the bundled twins and their variants: `python -m recipes.twins`, which `make twins` calls.

Trains twin-pre and twin-post on WordNet's text at the same time, and writes encoder/data/twin-pre and
encoder/data/twin-post. Stop it at any time (Ctrl-C); the same command continues from the last checkpoint.
"""

import argparse
import dataclasses
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from recipes.twins.corpus import prepare
from recipes.twins.finish import finish
from recipes.twins.mlm import TrainingRun
from recipes.twins.recipe import MAIN, TWIN, VARIANTS, TrainingRecipe, recipes

#: Steps between two rows of a curve; a run may end after each row.
RECORD_EVERY = TWIN.record_every


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.twins", description=__doc__)
    parser.add_argument(
        "--work", type=Path, default=Path("build/twins"), help="folder of the checkpoints and the prepared text"
    )
    parser.add_argument("--out", type=Path, default=None, help="folder of the finished models (default: encoder/data)")
    parser.add_argument("--wordnet", type=Path, default=None, help="folder with WordNet's data.noun and so on")
    parser.add_argument("--runs", nargs="+", choices=[*recipes(), "main", "variants"], default=["main"])
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time (default: one a core, one on a GPU)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each run on a CPU")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda", "mps"), default="auto")
    parser.add_argument(
        "--finish-only", action="store_true", help="write the models from the checkpoints, train nothing"
    )
    parser.add_argument(
        "--save-at",
        type=int,
        nargs="+",
        default=[],
        metavar="STEP",
        help="save the model at these steps as WORK/RUN-STEP, and end after the last one; encoder/data stays as it is",
    )
    parser.add_argument("--one", choices=list(recipes()), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    odd = [step for step in options.save_at if step < 0 or step % RECORD_EVERY]
    if odd:
        parser.error(f"--save-at {odd[0]}: choose multiples of {RECORD_EVERY}, or 0")
    if options.one:
        return train_one(options)
    prepare(options.work / "corpus", options.wordnet)
    names = [name for group in options.runs for name in {"main": MAIN, "variants": VARIANTS}.get(group, (group,))]
    if not options.finish_only and train_side_by_side(names, options):
        return 1
    if not options.save_at:
        finish(options.work, options.out)
    return 0


def train_one(options: argparse.Namespace) -> int:
    """Train one run in this process; SIGINT and SIGTERM end it after a whole checkpoint."""
    import torch

    from encoder.checkpoints import pick_device

    torch.set_num_threads(options.threads)
    device = pick_device(options.device)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    run = TrainingRun(recipes()[options.one], prepare(options.work / "corpus", options.wordnet), options.work, device)
    last = max(options.save_at, default=None)

    def report(row: dict[str, float]) -> None:
        show(run.recipe, row)
        save_one(run, options)

    def stop() -> bool:
        return stopped.is_set() or (last is not None and run.state.step >= last)

    save_one(run, options)
    state = run.state if stop() else run.train(report, stop)
    print(f"{options.one}: {state.status} at step {state.step}", flush=True)
    return 0 if run.finished or (last is not None and state.step >= last) else 1


def save_one(run: TrainingRun, options: argparse.Namespace) -> None:
    """Save the model as it is now, if this step is asked for."""
    from encoder.checkpoints import save

    if run.state.step in options.save_at:
        name = f"{options.one}-{run.state.step}"
        named = dataclasses.replace(run.text_encoder(), name=name)
        print(save(named, options.work / name, layout="encoderscope"), flush=True)


def show(recipe: TrainingRecipe, row: dict[str, float]) -> None:
    """Print a line: for every row of the first steps, then every hundred steps and after each evaluation."""
    step, evaluated = int(row["step"]), "held_out_accuracy" in row
    if step < 100 or step % 100 == 0 or evaluated:
        accuracy = f"  held-out accuracy {row['held_out_accuracy']:.3f}" if evaluated else ""
        speed = row["tokens"] / row["seconds"]
        print(
            f"{recipe.name} step {step:>6}/{recipe.last_step}  loss {row.get('loss', math.nan):.3f}  "
            f"{speed:,.0f} tokens/s{accuracy}",
            flush=True,
        )


def train_side_by_side(names: Sequence[str], options: argparse.Namespace) -> int:
    """Train each run in a process of its own, `jobs` at a time. Returns the number of failures.

    Two runs with one thread each are faster than one run with two threads.
    """
    from encoder.checkpoints import pick_device

    on_cpu = pick_device(options.device).type == "cpu"
    # A process needs its number of threads before it imports torch.
    environment = os.environ | {"OMP_NUM_THREADS": str(options.threads), "MKL_NUM_THREADS": str(options.threads)}
    jobs = options.jobs or (max(1, (os.cpu_count() or 1) // options.threads) if on_cpu else 1)
    waiting, failed = list(names), 0
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop(0)
                running[name] = subprocess.Popen(one_command(name, options), env=environment)
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
    command = [
        sys.executable,
        "-m",
        "recipes.twins",
        "--one",
        name,
        "--work",
        str(options.work),
        "--threads",
        str(options.threads),
        "--device",
        options.device,
    ]
    command += ["--save-at", *map(str, options.save_at)] if options.save_at else []
    return command + (["--wordnet", str(options.wordnet)] if options.wordnet else [])


if __name__ == "__main__":
    sys.exit(main())
