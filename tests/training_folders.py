"""Run folders of training as a trainer would leave them: through its own writer, with rollouts that were really played.

What the figures come to is a made-up curve; only its shape matters here.
"""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from simulating import played

from orchestra_lib.codec import to_data
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.profilelist import load_profiles
from orchestra_lib.simulated_tasks import simulated_task
from orchestra_lib.toolkit.simulated import SimulatedExpert
from orchestra_lib.training.run_folder import EVALUATION, STEPS, RunFolder, State, Status
from orchestra_lib.training.steps import Step

STARTED = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
CONFIG = """# A tiny policy from scratch over simulated experts.
name = "tiny-grpo"
scale = "tiny"
seed = {seed}

[grpo]
steps = {steps}
lr = 4e-4
beta = 0.02
prompts = 12
rollouts = 8
"""
TOOLS = ("sim_strongest", "sim_mid", "sim_small", "sim_code", "sim_maths", "sim_search")


def step_of(number, steps, dice, **fields):
    """A step of a run that learns: cost and time fall, compliance rises, the format slips a little on the way."""
    done = number / steps
    noise = lambda size: dice.gauss(0, size)  # noqa: E731  # one line each below
    samples, flat = 96, min(11, max(0, round(1 + 5 * done + noise(1))))
    malformed, silent = (max(0, round(96 * (0.02 + (0.1 if 0.5 < done < 0.56 else 0)) + noise(0.7))), 2)
    kept = max(0, samples - 8 * flat - malformed - silent)
    strong = 0.6 - 0.38 * done
    rest = [0.05 + 0.13 * done, 0.12 + 0.06 * done, 0.07 + 0.06 * done, 0.08 + 0.07 * done]
    shares = [strong, *rest, 1 - strong - sum(rest)]
    given = {
        "step": number,
        "at": STARTED + timedelta(seconds=2.3 * number),
        "cpu_s": 2.1 + noise(0.1),
        "rollout_cpu_s": 0.65 + noise(0.05),
        "wall_s": 2.3,
        "samples": samples,
        "kept": kept,
        "excluded": {"flat_group": 8 * flat, "malformed": malformed, "no_answer": silent, "fault": 0, "ungraded": 0},
        "groups": 12,
        "flat_groups": flat,
        "accuracy": min(1, 0.775 + noise(0.03)),
        "cost_usd": max(0.002, 0.016 - 0.009 * done + noise(0.001)),
        "latency_s": max(0.5, 8.3 - 3.8 * done + noise(0.4)),
        "reward": 0.5 + noise(0.05),
        "compliance": {
            "cost": min(1, 0.56 + 0.36 * done + noise(0.03)), "latency": min(1, 0.55 + 0.33 * done + noise(0.03)),
            "tool": min(1, 0.65 + 0.3 * done + noise(0.03)), "outcome": None,
        },
        "malformed_rate": malformed / samples,
        "strongest_share": strong,
        "tool_shares": dict(zip(TOOLS, shares, strict=True)),
        "calls": 1.6 - 0.2 * done + noise(0.03),
        "completion_tokens": 31 - 4 * done + noise(0.6),
        "entropy": 0.42 - 0.15 * done + noise(0.01),
        "kl": 0.06 * done + abs(noise(0.004)),
        "loss": noise(0.02),
        "grad_norm": 0.9 + noise(0.15),
        "lr": 4e-4,
        "alarms": ("format drift: 12 % of the turns are malformed, over 8 %",) if malformed > 7 else (),
        **fields,
    }  # fmt: skip
    return Step(**given)


def rollout_rows(step, groups=2, size=4, *, answer=None):
    """Rollouts of a step as their lines: groups of one simulated task each, played with simulated experts."""
    profiles = load_profiles(Path("nowhere"))
    rows = []
    for group in range(groups):
        task = simulated_task(7, 8 * step + group).task
        for member in range(size):
            names = ("strongest", "small") if member % 2 else ("small",)
            experts = [SimulatedExpert(profiles[name]) for name in ("strongest", "small", "mid")]
            script = [[(f"sim_{name}", {"question": task.text})] for name in names]
            policy = Scripted([*script, answer or task.reference], name="tiny-grpo")
            run = played(
                policy, experts, task, run_id=f"train-{step}-{group}-{member}", seed=member,
                group=f"step-{step}-group-{group}", origin=None,
            )  # fmt: skip
            kept = group != 1
            rows.append(
                {
                    "group": group, "kind": "seen", "reward": 0.25 * member, "advantage": (member - 1.5) / 1.2,
                    "kept": kept, "why": None if kept else "flat_group", "trajectory": to_data(run),
                }
            )  # fmt: skip
    return rows


def run_folder(path, *, steps=110, done=84, state=State.RUNNING, message="", seed=1, rollouts=(1, 84), pid=1, odd=()):
    """A folder of a run with `done` of `steps` steps; the loss of the steps in `odd` is no number."""
    folder, dice = RunFolder(path), random.Random(seed)
    folder.write_config(CONFIG.format(seed=seed, steps=steps))
    for number in range(1, done + 1):
        step = step_of(number, steps, dice)
        if number not in odd:
            folder.add_step(step)
            continue
        with (Path(path) / STEPS).open("a", encoding="utf-8") as file:  # our own writer refuses what is no number
            file.write(json.dumps({**to_data(step), "loss": float("nan"), "grad_norm": float("inf")}) + "\n")
    for number in rollouts:
        folder.write_rollouts(number, rollout_rows(number))
    write_status(path, state, done, steps, message, pid=pid)
    return folder


def write_status(path, state, done, steps, message="", *, pid=1):
    """Say how the run stands, as of now."""
    RunFolder(path).write_status(
        Status(
            state=state,
            pid=pid,
            step=done,
            steps=steps,
            message=message,
            started_at=STARTED,
            heartbeat_at=datetime.now(UTC),
        )
    )


def add_checkpoint(path, step):
    """A checkpoint that looks like one; nothing can be resumed from it."""
    (Path(path) / f"checkpoint-{step}").mkdir(parents=True)


def add_final(path, step=110, **card):
    """What a finished run leaves to conduct with, without its weights."""
    final = Path(path) / "final"
    final.mkdir(parents=True, exist_ok=True)
    said = {"dialect": "tiny", "stage": "grpo", "trained_on": "simulated experts", "step": step, **card}
    (final / "orchestra.json").write_text(json.dumps(said), "utf-8")


def add_evaluation(path):
    """What an evaluation would write: a policy that holds its claims on seen draws, and loses on uniform ones."""

    def figures(kept, accuracy, cost, seconds, strongest):
        given = {
            **{f"{aim} compliance": (kept, 0.03) for aim in ("all", "cost", "latency", "tool", "outcome")},
            **{f"{aim} accuracy": (accuracy, 0.01) for aim in ("all", "cost")},
            **{f"{aim} cost_usd": (cost, cost / 10) for aim in ("all", "cost")},
            **{f"{aim} latency_s": (seconds, seconds / 10) for aim in ("all", "latency")},
            "all malformed": (0.04, 0.03),
            "all strongest_share": (strongest, 0.02),
            "reward": (kept, 0.02),
        }
        return {key: {"mean": at, "low": at - by, "high": at + by, "of": 400} for key, (at, by) in given.items()}

    after = {"seen": 0.95, "uniform": 0.7}
    found = {
        kind: {
            "always strongest": figures(0.3, 0.93, 0.02, 9.0, 1.0),
            "oracle": figures(1.0, 0.94, 0.004, 3.0, 0.2),
            "trained": figures(kept, 0.9, 0.005, 3.5, 0.25),
            "warm start": figures(0.4, 0.9, 0.016, 8.0, 0.6),
        }
        for kind, kept in after.items()
    }
    whole = {"simulated": True, "markets": 400, "over": "markets", "figures": found}
    (Path(path) / EVALUATION).write_text(json.dumps(whole), "utf-8")
