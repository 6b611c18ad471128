"""Stands in for `orchestra train` where tests start processes: its arguments, its folder, its manners, and no torch.

`python training_program.py CONFIG --set a=b …`, or `--resume FOLDER`, or `--measure FOLDER` for an evaluation. It makes
`grpo.steps` steps of `pace` seconds; with `refuse=1` it ends with a line of bad input before it has a folder, with
`die_at=N` it kills itself after step N.
"""

import json
import os
import random
import signal
import sys
import time
import tomllib
from itertools import pairwise
from pathlib import Path

from training_folders import CONFIG, add_checkpoint, add_evaluation, add_final, rollout_rows, step_of, write_status

from orchestra_lib.training.run_folder import RunFolder, State


def value(text):
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def settings(arguments):
    sets = dict(text.split("=", 1) for flag, text in pairwise(arguments) if flag == "--set")
    return {name: value(text) for name, text in sets.items()}


def main(arguments):
    if arguments[0] == "--measure":
        time.sleep(0.5)
        add_evaluation(arguments[1])
        return
    if arguments[0] == "--resume":
        folder = RunFolder(Path(arguments[1]))
        kept = json.loads((folder.path / "sets.json").read_text("utf-8"))
        first = max(folder.checkpoints(), default=0) + 1
        folder.forget_after(first - 1)
    else:
        kept, first = settings(arguments), 1
        if kept.get("refuse"):
            print("loading", file=sys.stderr)
            sys.exit("orchestra: configs/tiny.toml: grpo.lrr is no setting; did you mean grpo.learning_rate?")
        folder = RunFolder(Path(kept["output_dir"]))
    steps, pace = kept.get("grpo.steps", 6), kept.get("pace", 0.02)
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    with folder.held():
        folder.write_config(CONFIG.format(seed=1, steps=steps))
        (folder.path / "sets.json").write_text(json.dumps(kept), "utf-8")
        write_status(folder.path, State.RUNNING, first - 1, steps, pid=os.getpid())
        dice = random.Random(1)
        for number in range(first, steps + 1):
            time.sleep(pace)
            folder.add_step(step_of(number, steps, dice))
            if number == 1:
                folder.write_rollouts(1, rollout_rows(1, groups=1, size=2))
            write_status(folder.path, State.RUNNING, number, steps, pid=os.getpid())
            print(f"step {number}", flush=True)
            if kept.get("die_at") == number and arguments[0] != "--resume":
                os.kill(os.getpid(), signal.SIGKILL)
            if stop:
                add_checkpoint(folder.path, number)
                write_status(folder.path, State.STOPPED, number, steps, "stopped by a signal", pid=os.getpid())
                return
        add_final(folder.path, steps)
        write_status(folder.path, State.FINISHED, steps, steps, pid=os.getpid())


if __name__ == "__main__":
    main(sys.argv[1:])
