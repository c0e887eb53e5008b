"""Record the runs that ship: `python -m recipes.tasks [runs] [blocks]`, by default both; blocks take eight minutes."""

import dataclasses
import datetime
import json
import sys

import torch

from encoder.model.device import use_one_thread
from encoder.train import blocks, recorded
from encoder.train.loop import TaskRun
from encoder.train.run_view import RunView
from encoder.train.settings import TaskSettings


def ended(settings: TaskSettings) -> RunView:
    """A run, trained to its end in this thread."""
    run = TaskRun(settings)
    run.run_here()
    return run.poll()


def record_runs(made: str) -> None:
    """Train the two runs of the first picture, which takes half a minute."""
    views = {name: ended(settings) for name, settings in recorded.RUNS.items()}
    recorded.FILE.write_bytes(recorded.to_bytes(views, made))


def record_blocks(made: str) -> None:
    """Train every preset on both tasks with every seed."""
    accuracy: dict[str, dict[str, list[float]]] = {task: {} for task in blocks.TASKS}
    for task, found in accuracy.items():
        for name, preset in blocks.PRESETS.items():
            settings = preset.settings(dataclasses.replace(blocks.BASE, task=task))
            trials = (dataclasses.replace(settings, trial=trial) for trial in range(blocks.SEEDS))
            found[name] = [round(ended(one).accuracy, 5) for one in trials]
    blocks.FILE.write_text(json.dumps({"accuracy": accuracy, "made": made}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    use_one_thread()
    today = datetime.datetime.now(tz=datetime.UTC).date()
    made = f"{today.isoformat()}, torch {torch.__version__.partition('+')[0]}"
    for name, record in {"runs": record_runs, "blocks": record_blocks}.items():
        if name in sys.argv[1:] or not sys.argv[1:]:
            record(made)


if __name__ == "__main__":
    main()
