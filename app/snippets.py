"""A stored run as something to paste elsewhere: a request, a program, a notebook cell, a configuration file."""

import pprint
import shlex
from collections.abc import Callable, Mapping

from orchestra_lib.codec import dumps, to_data
from orchestra_lib.configuration import order_of, to_toml
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Order

_PROGRAM = '''"""Run the order of {run_id} again."""

import asyncio

from orchestra_lib.codec import from_data
from orchestra_lib.paths import home
from orchestra_lib.workbench import Order, Workbench

ORDER = {order}


async def main():
    workbench = Workbench(home())  # ORCHESTRA_HOME, or .orchestra in this folder
    try:
        async for event in workbench.play(from_data(ORDER, Order, where="ORDER")):
            if event.kind == "call_finished":
                print(event.turn, event.observation.status, event.observation.text[:200])
            elif event.kind == "run_finished":
                print(event.stop, event.answer)
    finally:
        await workbench.close()


asyncio.run(main())
'''

_CELL = """from orchestra_lib.paths import home
from orchestra_lib.store.store import Store

with Store.open(home()) as store:
    trajectory = store.get({run_id!r})

print(trajectory.status, trajectory.bill().cost_usd, trajectory.finished_s)
for turn in trajectory.turns:
    for call in turn.calls:
        print(turn.index, call.call.tool, call.call.arguments, call.observation and call.observation.status)
trajectory.answer
"""


def curl(trajectory: Trajectory, base: str) -> str:
    """A shell command that starts the same run again on the workbench at `base`."""
    body = shlex.quote(dumps(_plain(order_of(trajectory.setting))))
    return f"curl -X POST {shlex.quote(base + '/api/runs')} -H 'content-type: application/json' --data-raw {body}\n"


def program(trajectory: Trajectory, _base: str) -> str:
    """A Python program that runs the same order again with the library."""
    order = pprint.pformat(_plain(order_of(trajectory.setting)), width=100, sort_dicts=False)
    return _PROGRAM.format(run_id=trajectory.id, order=order)


def cell(trajectory: Trajectory, _base: str) -> str:
    """A notebook cell that opens the stored trajectory."""
    return _CELL.format(run_id=trajectory.id)


def toml(trajectory: Trajectory, _base: str) -> str:
    """The configuration file that `orchestra run --config` takes."""
    return to_toml(order_of(trajectory.setting))


def _plain(order: Order) -> dict[str, object]:
    return {name: value for name, value in to_data(order).items() if value is not None}


FORMS: Mapping[str, Callable[[Trajectory, str], str]] = {"curl": curl, "python": program, "cell": cell, "toml": toml}
"""What a run can be copied as, by name; each takes the trajectory and the address of this workbench."""
