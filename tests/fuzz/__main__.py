"""`python -m tests.fuzz [--cases 10000] [--seconds 600] [--seed 0]`: what is found is printed with its seed."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz import (
    addresses,
    checkpoints,
    files,
    folders,
    generation,
    inputs,
    lessons,
    maps,
    messages,
    own_functions,
    rooms,
    texts,
    traces,
    writing,
)
from tests.fuzz.checkpoints import Found

#: Share of the cases and of the time of each kind: an address is a whole page.
SHARES = {
    "folders": (0.03, 0.05), "checkpoints": (0.15, 0.1), "families": (0.05, 0.05), "tokenizers": (0.02, 0.05),
    "texts": (0.05, 0.05),
    "files": (0.1, 0.03), "messages": (0.05, 0.05), "addresses": (0.02, 0.2), "writing": (0.05, 0.1),
    "generation": (0.1, 0.12), "maps": (0.1, 0.03), "traces": (0.1, 0.03), "own": (0.04, 0.02), "lessons": (0.04, 0.02),
    "inputs": (0.05, 0.1), "rooms": (0.05, 0.01),
}  # fmt: skip


def main() -> int:
    """Run every kind until its share of the time or of the cases is used; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="cases in all (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=600.0, help="seconds in all (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first case; each next one has the next seed (default: %(default)s)"
    )
    parser.add_argument("--only", choices=list(SHARES), help="one kind only")
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity(50)
    transformers.logging.disable_progress_bar()
    # Pages run without a browser (AppTest): each asks the log for a session that it does not have.
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True
    _bound_memory()
    found: list[str] = []
    try:
        for one in _found(options):
            found.append(one)
            print(one[:1_000], flush=True)
    except Found as error:  # in the server's log, at its end
        found.append(f"messages: {error}")
        print(found[-1], flush=True)
    print(f"found: {len(found)}")
    return int(bool(found))


def _bound_memory() -> None:
    """Refuse this process more than twice what a case may take, so that a finding does not stop the machine."""
    if sys.platform == "linux":
        import resource

        now = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + 3 * checkpoints.MEMORY, resource.RLIM_INFINITY))


def _found(options: argparse.Namespace) -> Iterator[str]:
    """Run all cases, print their outcomes, and yield what is found."""
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as open_now:
        live = open_now.enter_context(messages.server()) if options.only in (None, "messages") else None
        pairs = generation.Pairs()
        open_now.callback(pairs.close)
        needs = options.only in (None, "checkpoints", "families", "tokenizers")
        originals = checkpoints.write_originals(Path(place)) if needs else {}
        families = checkpoints.write_families(Path(place)) if needs else {}
        changed = folders.write_originals(Path(place) / "folders") if options.only in (None, "folders") else {}
        kinds = {
            "checkpoints": lambda seed: checkpoints.case(originals, seed),
            "families": lambda seed: checkpoints.case(families, seed, config_only=True),
            "tokenizers": lambda seed: checkpoints.tokenizer_case(originals[checkpoints.WORD_PIECES], seed),
            "folders": lambda seed: folders.case(changed, seed),
            "texts": texts.case,
            "files": files.case,
            "addresses": addresses.case,
            "messages": lambda seed: live.case(seed) if live is not None else "",
            "writing": writing.case,
            "generation": lambda seed: generation.case(pairs, seed),
            "maps": maps.case,
            "traces": traces.case,
            "own": own_functions.case,
            "lessons": lessons.case,
            "inputs": inputs.case,
            "rooms": rooms.case,
        }
        for kind, case in kinds.items():
            if options.only not in (None, kind):
                continue
            of_cases, of_time = (1.0, 1.0) if options.only else SHARES[kind]
            deadline = time.monotonic() + of_time * options.seconds
            outcomes: Counter[str] = Counter()
            for number in range(round(of_cases * options.cases)):
                if time.monotonic() > deadline:
                    break
                try:
                    outcomes[case(options.seed + number)] += 1
                except Found as error:
                    outcomes["found"] += 1
                    yield f"{kind}: {error}"
            print(f"{kind}: {sum(outcomes.values()):,} cases: {dict(outcomes)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
