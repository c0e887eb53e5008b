"""The order in which a class is drawn: slots that are taken and given back in different functions."""

from __future__ import annotations

import threading
import time

from pages.base.work.page_slots import Slots


def test_runs_come_one_by_one_in_their_order_and_a_lost_place_is_free_again() -> None:
    order, came = Slots(at_once=1, counts=60.0), []
    order.enter()

    def run(number: int) -> None:
        order.enter()
        came.append(number)
        order.leave()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(5)]
    for waiting, thread in enumerate(threads, 1):
        thread.start()
        while len(order._queue) < waiting:
            time.sleep(0.001)
    assert not came
    order.leave()
    for thread in threads:
        thread.join(timeout=20)
    assert came == [0, 1, 2, 3, 4]

    lost = Slots(at_once=1, counts=0.05)
    lost.enter()  # and never left
    lost.enter()
    lost.leave()
    impatient = Slots(at_once=1, counts=60.0, patience=0.05)
    impatient.enter()
    impatient.enter()
