import asyncio
import os

import pytest

from orchestra_lib.store.journal_sync import together


def test_of_files_that_wait_together_one_that_the_disk_refuses_costs_only_itself(tmp_path):
    async def run():
        files = [os.open(tmp_path / f"{number}", os.O_CREAT | os.O_WRONLY) for number in range(40)]
        reading, writing = os.pipe()  # no disk can make sure of a pipe
        waits = [together().sure((descriptor, tmp_path)) for descriptor in (*files, writing)]
        found = await asyncio.gather(*waits, return_exceptions=True)
        for descriptor in (*files, reading, writing):
            os.close(descriptor)
        return found

    *fine, refused = asyncio.run(run())
    assert fine == [None] * 40
    assert isinstance(refused, OSError)


def test_a_folder_that_is_gone_fails_those_that_are_new_in_it(tmp_path):
    async def run():
        with (tmp_path / "file").open("w") as file:
            known, new = together().sure((file.fileno(), None)), together().sure((file.fileno(), tmp_path / "gone"))
            await known
            with pytest.raises(FileNotFoundError):
                await new

    asyncio.run(run())
