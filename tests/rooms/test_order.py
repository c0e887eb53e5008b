"""The order in which a class is drawn."""

from __future__ import annotations

import threading
import time

from pages.core.teaching.rooms.order import Order


def test_runs_come_one_by_one_in_their_order_and_a_lost_place_is_free_again() -> None:
    order, came = Order(lease=60.0), []
    first = order.enter()

    def run(number: int) -> None:
        place = order.enter()
        came.append(number)
        order.leave(place)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(5)]
    for waiting, thread in enumerate(threads, 1):
        thread.start()
        while len(order._queue) < waiting:
            time.sleep(0.001)
    assert not came
    order.leave(first)
    for thread in threads:
        thread.join(timeout=20)
    assert came == [0, 1, 2, 3, 4]

    lost = Order(lease=0.05)
    lost.enter()  # and never left
    lost.leave(lost.enter())
    impatient = Order(lease=60.0, patience=0.05)
    impatient.enter()
    impatient.enter()
