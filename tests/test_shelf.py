import asyncio

import pytest

from orchestra_lib.errors import StoreFault
from orchestra_lib.store.shelf import Shelf


class Kept:
    """Stands for a store: what went in, a batch at a time; `bad` is what no disk takes."""

    def __init__(self, bad=None):
        self.batches, self.bad = [], bad

    def add_many(self, runs):
        if self.bad in runs:
            raise StoreFault("the disk is full")
        self.batches.append(runs)


def test_every_run_goes_in_once_and_in_order_whether_somebody_waits_or_not():
    async def mixed(shelf):
        for run in range(60):
            await (shelf.put(run) if run % 20 == 7 else shelf.leave(run))
            await asyncio.sleep(0)
        await shelf.settled()

    asyncio.run(mixed(Shelf(kept := Kept())))
    assert [run for batch in kept.batches for run in batch] == [*range(60)]


def test_all_that_wait_hear_of_a_run_that_was_left_and_could_not_be_stored():
    async def both(shelf):
        await shelf.leave(13)
        return await asyncio.gather(shelf.settled(), shelf.settled(), return_exceptions=True)

    found = asyncio.run(both(Shelf(Kept(bad=13))))
    assert [type(one) for one in found] == [StoreFault, StoreFault]


def test_the_next_run_that_is_left_tells_of_one_that_could_not_be_stored():
    async def later(shelf):
        await shelf.leave(13)
        await asyncio.wait(shelf._left)
        await shelf.leave(14)

    with pytest.raises(StoreFault, match="full"):
        asyncio.run(later(Shelf(Kept(bad=13))))


def test_a_run_that_no_disk_takes_costs_those_beside_it_nothing():
    async def at_once(shelf):
        return await asyncio.gather(*map(shelf.put, (12, 11, 13, 14)), return_exceptions=True)

    found = asyncio.run(at_once(Shelf(kept := Kept(bad=13))))
    assert [type(one) for one in found] == [type(None), type(None), StoreFault, type(None)]
    assert sorted(run for batch in kept.batches for run in batch) == [11, 12, 14]
