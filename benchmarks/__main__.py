"""`python -m benchmarks [--quick] [--only PART ...] [--json FILE]`: measure, print the table, write JSON.

A comparison is a ratio of medians, with both sides measured in turn. The output names what cannot be measured here: a
rival that is not installed, a missing browser.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import report, rivals
from benchmarks.memory import ROOT
from benchmarks.report import Figure

PARTS = (
    "engine", "similarity", "search", "corpus", "browser", "media", "load", "texts", "jobs", "rooms", "families",
    "live",
)  # fmt: skip
MINILM_LENGTHS, ROTARY_LENGTHS = (16, 64, 128, 256, 512), (2048, 8192)
QUICK_LENGTHS, QUICK_LONG = (16, 64, 128), (2048,)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 0 if everything was measured, even where a target is missed."""
    options = parser().parse_args(arguments)
    if options.lengths is None:
        options.lengths = QUICK_LENGTHS if options.quick else MINILM_LENGTHS
    if options.long is None:
        options.long = QUICK_LONG if options.quick else ROTARY_LENGTHS
    figures: list[Figure] = []
    failed = {}
    about = report.environment(quick=options.quick, clock=options.clock, not_installed=rivals.missing())
    for name in options.only or PARTS:
        try:
            for figure in part(name, options):
                figures.append(figure)
                print(report.line(figure), file=sys.stderr, flush=True)
        except Exception as error:  # the other parts are still measured
            # The results are shared: they do not contain this machine's paths.
            failed[name] = f"{type(error).__name__}: {error}".replace(f"{ROOT}{os.sep}", "")
            print(f"{name}: {failed[name]}", file=sys.stderr, flush=True)
    print(report.table(figures))
    for name in about["not_installed"]:
        print(f"- {name} is not installed: published figures are used (pip install -e '.[bench]').")
    for name, reason in failed.items():
        print(f"- {name} was not measured completely: {reason}")
    report.write_json(options.json, figures, about | {"failed": failed})
    print(f"\nwritten to {options.json}")
    return 1 if failed else 0


def part(name: str, options: argparse.Namespace) -> Iterator[Figure]:
    """The figures of one part, one by one."""
    lengths, long = tuple(options.lengths), tuple(options.long)
    if name == "engine":
        from benchmarks import engine

        seconds, imports = (3.0, 3) if options.quick else (20.0, 7)
        return engine.run(lengths=lengths, long=long, seconds=seconds, clock=options.clock, imports=imports)
    if name == "similarity":
        from benchmarks import similarity

        tokens, rounds = (12, 2) if options.quick else (24, 3)
        return similarity.run(tokens=tokens, rounds=rounds, clock=options.clock)
    if name == "search":
        from benchmarks import search

        texts, rounds = (200, 3) if options.quick else (2_000, 5)
        return search.run(texts=texts, rounds=rounds, clock=options.clock)
    if name == "corpus":
        from benchmarks import corpus

        if options.quick:
            return corpus.run(texts=200, rounds=3, clock=options.clock, large=500, tokens=100_000)
        return corpus.run(clock=options.clock)
    if name == "families":
        from benchmarks import families

        return families.run(seconds=0.5 if options.quick else 3.0, clock=options.clock)
    if name == "browser":
        from benchmarks import browser

        repeats, rounds = (3, 1) if options.quick else (7, 3)
        return browser.run(lengths=lengths, long=long, repeats=repeats, rounds=rounds)
    if name == "live":
        from benchmarks import live

        return live.run(rounds=5 if options.quick else 15)
    if name == "media":
        from benchmarks import media

        return media.run(repeats=2 if options.quick else 5)
    if name == "jobs":
        from benchmarks import jobs

        return jobs.run(visitors=3, seconds=10.0) if options.quick else jobs.run()
    if name == "rooms":
        from benchmarks import rooms

        return rooms.run(followers=6, many=0, changes=4) if options.quick else rooms.run()
    if name == "texts":
        from benchmarks import texts

        return texts.run(visitors=5, thinking=2.0, actions=3) if options.quick else texts.run()
    from benchmarks import load

    return load.run(visitors=5, thinking=2.0, actions=3) if options.quick else load.run()


def parser() -> argparse.ArgumentParser:
    """The options."""
    found = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[2])
    found.add_argument("--quick", action="store_true", help="short texts and few rounds")
    found.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    found.add_argument("--lengths", nargs="*", type=_length(512), help="T for MiniLM, up to 512")
    found.add_argument("--long", nargs="*", type=_length(8192), help="T for the random rotary encoder, up to 8192")
    found.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="of parts without a browser: wall time, or on a shared machine the time of its threads",
    )
    found.add_argument("--json", type=Path, default=report.RESULTS / "latest.json", metavar="FILE")
    return found


def _length(longest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isdecimal() and 8 <= int(text) <= longest):
            raise argparse.ArgumentTypeError(f"{text!r}: specify a number of tokens from 8 to {longest}")
        return int(text)

    return parse


if __name__ == "__main__":
    sys.exit(main())
