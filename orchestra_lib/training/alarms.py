"""When training goes wrong while its loss looks well: one tool takes all calls, or moves lose their form."""

from collections.abc import Sequence

from orchestra_lib.training.settings import AlarmSettings
from orchestra_lib.training.steps import Step


def alarms(steps: Sequence[Step], settings: AlarmSettings) -> tuple[str, ...]:
    """What to warn of after the last of these steps, over the window that ends with it; none before it is full.

    Tools that an exercise renames share no name between exercises, so the share of strongest tools is watched too.
    """
    window = steps[-settings.window :]
    found = [] if len(window) < settings.window else [*_collapse(window, settings), *_drift(window, settings)]
    if steps and steps[-1].kept == 0:
        found.append("no rollout of this step is in the loss: nothing is learnt from it")
    return tuple(found)


def _collapse(window: Sequence[Step], settings: AlarmSettings) -> list[str]:
    found = []
    names = sorted({name for step in window for name in step.tool_shares})
    if len(names) > 1:
        shares = {name: sum(step.tool_shares.get(name, 0.0) for step in window) / len(window) for name in names}
        name = max(shares, key=lambda one: shares[one])
        if shares[name] > settings.share:
            found.append(f"collapse: {name} takes {shares[name]:.0%} of the calls of the last {len(window)} steps")
    strongest = [step.strongest_share for step in window if step.strongest_share is not None]
    if len(strongest) == len(window) and (share := sum(strongest) / len(window)) > settings.share:
        found.append(f"collapse: a strongest tool takes {share:.0%} of the calls of the last {len(window)} steps")
    return found


def _drift(window: Sequence[Step], settings: AlarmSettings) -> list[str]:
    rates = [step.malformed_rate for step in window if step.malformed_rate is not None]
    rate = sum(rates) / len(rates) if rates else 0.0
    if rate <= settings.malformed:
        return []
    return [
        f"format drift: {rate:.0%} of the turns of the last {len(window)} steps are no well-formed move; "
        'pay them with grpo.malformed = "penalise", or add grpo.kl'
    ]
