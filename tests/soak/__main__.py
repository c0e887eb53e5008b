"""`python -m tests.soak [--minutes 10] [--visitors 30]`: a school for an hour, and a process that dies now and then.

`--class 4`: instead of visitors by Streamlit's protocol a desk, a wall and four phones in a real Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from tests.soak.classroom import Classroom
from tests.soak.people import people
from tests.soak.served import serve
from tests.soak.soak import Soak


async def run(soak: Soak, every: float) -> None:
    """Everybody until the end of the time; then what they were promised is looked at."""
    others = [asyncio.create_task(one) for one in (soak.watch(), soak.kill(every), soak.stop_store(1.5 * every))]
    async with asyncio.TaskGroup() as group:
        for person in people(soak):
            group.create_task(person.live())
    await soak.check_room()
    for one in others[1:]:
        one.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def main() -> int:
    """Print what happened; 1 if a promise did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for how long (default: %(default)s)")
    parser.add_argument("--visitors", type=int, default=30, help="how many, two at least (default: %(default)s)")
    parser.add_argument(
        "--class", dest="phones", type=int, default=0, help="so many phones, a wall and a desk in real browsers instead"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes of the server (default: %(default)s)")
    parser.add_argument("--thinking", type=float, default=5.0, help="seconds between actions (default: %(default)s)")
    parser.add_argument("--kill-every", type=float, default=60.0, help="seconds, on average (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of what everybody does (default: %(default)s)")
    options = parser.parse_args()

    async def whole() -> Soak | Classroom:
        if options.phones:
            classroom = Classroom(served, 60 * options.minutes, options.phones, options.kill_every, options.seed)
            await classroom.play()
            return classroom
        soak = Soak(served, options.visitors, 60 * options.minutes, options.thinking, options.seed)
        await run(soak, options.kill_every)
        return soak

    with serve(options.workers) as served:
        soak = asyncio.run(whole())
    print(soak.table())
    print(f"load of the machine in the last 15 minutes: {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores")
    for fault in soak.faults():
        print(f"FAULT {fault}")
    return int(bool(soak.faults()))


if __name__ == "__main__":
    sys.exit(main())
