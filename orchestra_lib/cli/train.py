"""`orchestra train`: train an orchestrator by a TOML file, or go on with a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib.cli.terminal import note, print_json
from orchestra_lib.errors import BadInput
from orchestra_lib.json_writing import spoken
from orchestra_lib.paths import home


def train(
    config: Annotated[Path | None, typer.Argument(help="The settings, a TOML file: configs/tiny.toml.")] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="A setting over the file's, a.b=c. Repeat it.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder, by its own settings.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan of a run on a cluster and what stands in its way.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="What it came to, as JSON.")] = False,
) -> None:
    """Train an orchestrator with GRPO; a line a step on stderr. Stop it with SIGTERM, go on with --resume."""
    # Torch takes seconds to import, so only who trains waits for it.
    from orchestra_lib.training import trackio_log
    from orchestra_lib.training.run_folder import CONFIG, RunFolder
    from orchestra_lib.training.settings import resolve

    if (config is None) == (resume is None):
        raise BadInput("name a file of settings (orchestra train configs/tiny.toml), or a run with --resume FOLDER")
    wanted = list(sets or ())
    if resume is not None:
        RunFolder(resume).config()
        wanted.append(f"output_dir={spoken(str(resume))}")
    settings = resolve(config or Path(str(resume)) / CONFIG, wanted, home=home())

    if dry_run:
        from orchestra_lib.cli.planning import dry_run as plan

        raise typer.Exit(plan(settings, as_json=json))

    trackio_log.bind(settings)
    from orchestra_lib.training.running import train as run

    summary = run(settings, resume=resume is not None, home=home())
    if json:
        print_json(summary)
    else:
        note(f"{summary['state']} at step {summary['step']} of {summary['steps']}  {summary['message']}".rstrip())
        print(summary["folder"])
    if summary["state"] not in ("finished", "stopped"):
        raise typer.Exit(1)


COMMANDS: dict[str, Callable[..., None]] = {"train": train}
