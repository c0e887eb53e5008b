"""`python -m tests.fuzz [--cases 10000] [--seconds 600] [--seed 0]`: what is found is printed with its seed."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz import addresses, checkpoints, files, folders, messages, texts
from tests.fuzz.checkpoints import Found

#: Share of the cases and of the time of each kind: an address is a whole page.
SHARES = {
    "checkpoints": (0.3, 0.2), "families": (0.1, 0.1), "tokenizers": (0.1, 0.05), "folders": (0.05, 0.05),
    "texts": (0.15, 0.1), "files": (0.2, 0.05), "messages": (0.07, 0.05), "addresses": (0.03, 0.4),
}  # fmt: skip


def main() -> int:
    """Run every kind until its share of the time or of the cases is used; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="cases in all (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=600.0, help="seconds in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
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
    with tempfile.TemporaryDirectory() as place, messages.server() as live:
        originals = checkpoints.write_originals(Path(place))
        families = checkpoints.write_families(Path(place))
        changed = folders.write_originals(Path(place) / "folders")
        kinds = {
            "checkpoints": lambda seed: checkpoints.case(originals, seed),
            "families": lambda seed: checkpoints.case(families, seed, config_only=True),
            "tokenizers": lambda seed: checkpoints.tokenizer_case(originals[checkpoints.WORD_PIECES], seed),
            "folders": lambda seed: folders.case(changed, seed),
            "texts": texts.case,
            "files": files.case,
            "addresses": addresses.case,
            "messages": live.case,
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
