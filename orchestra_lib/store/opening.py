"""One way to open what holds trajectories, whatever it is."""

from pathlib import Path

from orchestra_lib.errors import BadInput
from orchestra_lib.store.partition_folder import is_url
from orchestra_lib.store.partitions import Partitions
from orchestra_lib.store.queries import StoreQueries
from orchestra_lib.store.store import Store


def open_store(where: Path | str) -> StoreQueries:
    """A home folder of the workbench, or a folder or URL of Parquet partitions; the same can be asked of both.

    Raises `BadInput` for what is neither, and what opening either raises.
    """
    if is_url(where):
        return Partitions(where)
    folder = Path(where)
    if (folder / "trajectories").is_dir():
        return Partitions(folder)
    if (folder / "journals").is_dir() or (folder / "rollouts").is_dir():
        return Store(folder)
    raise BadInput(
        f"{where} holds no trajectories: it has neither journals nor partitions; name a folder that "
        "`orchestra export FOLDER --format partitions` wrote, or a workbench's home"
    )
