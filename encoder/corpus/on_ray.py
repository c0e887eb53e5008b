"""Blocks on several processes or machines, by Ray Data: an actor holds the model, and takes one block after another.

Ray (Apache 2.0) is the extra `corpus`. Its actors restart when a process dies, and their blocks run again. A result
that comes twice is counted once (`building`). Workers need this package and the model under the same name; whether they
have the same weights is checked. The texts travel from the machine that builds: it has to be a node of the cluster.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from encoder import own
from encoder.checkpoints import load
from encoder.corpus.block import BlockResult, Survey, survey_block
from encoder.corpus.plan import Block, Plan, model_about
from encoder.corpus.staging import read_blocks
from encoder.corpus.totals import Totals
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.trace import gradual

#: Memory for results that wait, where Ray is started here.
STORE_BYTES = 1 << 30


@dataclass(frozen=True)
class Cluster:
    """Where blocks run. model: what `encoder.load` accepts; workers: actors, each with the model; threads: of each;
    address: of a running cluster ("auto", "HOST:PORT"), None: Ray is started on this machine and ended afterwards;
    survey: what is done with a block.

    Calling it runs blocks (`building.Runner`).
    """

    model: str
    workers: int = 2
    threads: int = 1
    device: str = "cpu"
    address: str | None = None
    survey: Survey = survey_block

    def check(self) -> None:
        """Raise EncoderError without Ray, and for no worker."""
        if find_spec("ray") is None:
            raise EncoderError(
                'Several workers need Ray: pip install "encoderscope[corpus]". One process needs nothing: leave '
                "--workers and --ray out."
            )
        if self.workers < 1 or self.threads < 1:
            raise EncoderError("A build needs at least one worker with one thread: specify 1 or more.")

    def __call__(self, model: TextEncoder, plan: Plan, texts: Path, numbers: list[int]) -> Iterator[BlockResult]:
        """Run the blocks `numbers` of the staged texts; results in the order in which they are done."""
        self.check()
        ray = _quiet_ray()
        try:
            with _environment({} if self.address else self._environment()):
                ray.init(**self._init_options())
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            raise EncoderError(f"No Ray at {self.address}: {quoted(str(error))}. Start it first.") from None
        try:
            sha256 = str(model_about(model)["sha256"])
            yield from self._results(
                ray, (self.model, self.device, self.threads, sha256, self.survey, plan), texts, numbers
            )
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            why = str(cause) if isinstance(cause, EncoderError) else quoted(str(error).strip().splitlines()[-1])
            raise EncoderError(
                f"A worker cannot go on: {why} Repeat the command to go on from the checkpoint."
            ) from None
        finally:
            ray.shutdown()

    def _environment(self) -> dict[str, str]:
        """Variables of the workers."""
        threads = {"OMP_NUM_THREADS": str(self.threads), "OMP_WAIT_POLICY": "PASSIVE"}
        threads |= {own.FILE: os.environ[own.FILE]} if own.FILE in os.environ else {}
        if self.address is not None:
            return threads
        root = str(Path(__file__).parents[2])  # workers import the same code as this process
        return threads | {"PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}

    def _init_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
        if self.address is not None:
            return options | {"address": self.address, "runtime_env": {"env_vars": self._environment()}}
        # Without a runtime_env: processes that Ray starts in advance would not fit it, and be started twice.
        return options | {
            "num_cpus": self.workers,
            "include_dashboard": False,
            "object_store_memory": STORE_BYTES,
        }

    def _results(self, ray: Any, setup: tuple[Any, ...], texts: Path, numbers: list[int]) -> Iterator[BlockResult]:
        blocks = _Blocks(texts.absolute(), setup[-1])
        reader = blocks if self.address is None else _Reader(_actor_here(ray, blocks))
        gpu = {"num_gpus": 1} if self.device == "cuda" else {}
        # One block waits at each worker, so that it need not pause. In a small build it could be another worker's.
        waiting = None if gpu else 2 if len(numbers) >= 8 * self.workers else 1
        rows = ray.data.from_items([{"number": number} for number in numbers], override_num_blocks=len(numbers)).map(
            _Worker,
            fn_constructor_args=(*setup, reader),
            compute=ray.data.ActorPoolStrategy(
                size=min(self.workers, len(numbers)), max_tasks_in_flight_per_actor=waiting
            ),
            num_cpus=1,
            **gpu,
        )
        for row in rows.iter_rows():
            files = dict(zip(row["names"], row["contents"], strict=True))
            yield BlockResult(int(row["number"]), Totals.from_bytes(row["totals"]), files)


def _quiet_ray() -> Any:
    """Ray without its reports to its makers, and without progress bars."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its log files have the rest
    import ray
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.verbose_progress = False
    return ray


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Variables that processes started meanwhile inherit."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@dataclass(frozen=True)
class _Blocks:
    """Blocks of the staged texts in a file of this machine."""

    texts: Path
    plan: Plan

    def block(self, number: int) -> Block:
        return next(read_blocks(self.texts, self.plan, [number]))


@dataclass(frozen=True)
class _Reader:
    """The same from any machine of a cluster. actor: that has `_Blocks`, on the building machine."""

    actor: Any

    def block(self, number: int) -> Block:
        import ray

        return ray.get(self.actor.block.remote(number))


def _actor_here(ray: Any, blocks: _Blocks) -> Any:
    """An actor on this machine."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": here}
    return ray.remote(**options)(_Blocks).remote(blocks.texts, blocks.plan)


class _Worker:
    """An actor with the model."""

    def __init__(
        self, model: str, device: str, threads: int, sha256: str, survey: Any, plan: Plan, blocks: _Blocks | _Reader
    ) -> None:
        torch.set_num_threads(threads)
        own.load()
        loaded = next(iter(load(model, device=device).towers.values()))  # of a pair, the encoder of texts
        if not isinstance(loaded, TextEncoder) or model_about(loaded)["sha256"] != sha256:
            raise EncoderError(f"A worker has other weights under the name {model}: install the same model everywhere.")
        self._model, self._survey, self._plan, self._blocks = loaded, survey, plan, blocks

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Survey the block row["number"]."""
        block = self._blocks.block(int(row["number"]))
        result = gradual.result(self._survey(self._model, block, self._plan))
        return {
            "number": result.number,
            "totals": result.totals.to_bytes(),
            "names": list(result.files),
            "contents": list(result.files.values()),
        }
