"""The table of generated pipelines: `python -m tests.diagnose.table FIRST LAST` prints what is named of each."""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

from encoder import diagnose
from encoder.diagnose.verdict import Verdict
from tests.diagnose.pipelines import TEXTS, Case, cases


def outcome(case: Case, found: Verdict) -> str:
    """ "exact", "wrong" (a finding that is not true), or "missed" (an honest "unknown")."""
    if found.verdict != case.verdict:
        return "missed" if found.verdict in ("unknown", "not-repeatable") else "wrong"
    if case.verdict != "fault":
        return "exact"
    named = frozenset(fault.name for fault in found.faults)
    if named in case.expects:
        return "exact"
    others = {frozenset(fault.name for fault in faults) for faults in found.alternatives}
    return "both" if others & set(case.expects) else "wrong"


def main(first: int, last: int) -> None:
    """Diagnose the cases of a range, and print a line of each that is not exact, then the counts."""
    warnings.simplefilter("ignore")
    counts: dict[str, int] = {}
    for number, case in enumerate(cases()[first:last], first):
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            program = case.make(Path(folder))
            found = diagnose.find(program.folder, TEXTS, program.embed(), together=2)
        result = outcome(case, found)
        counts[result] = counts.get(result, 0) + 1
        names = "+".join(fault.name for fault in found.faults)
        alternatives = ["+".join(fault.name for fault in faults) for faults in found.alternatives]
        took = time.monotonic() - start
        said = f"{found.verdict} {names} {alternatives} {found.difference:.2g} {found.difference_without:.2g}"
        if result != "exact":
            sys.stdout.write(
                f"{number} {case.id}: {result}: {said} {[f.parameters for f in found.faults]} {took:.1f}s\n"
            )
        else:
            sys.stdout.write(f"{number} {case.id}: exact {took:.1f}s\n")
        sys.stdout.flush()
    sys.stdout.write(f"{counts}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
