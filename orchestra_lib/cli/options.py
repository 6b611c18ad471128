"""Options that many commands take in the same way."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="As JSON.")]

Tag = Annotated[str | None, typer.Option(help="With this tag.")]
Training = Annotated[bool, typer.Option("--training", help="Only rollouts of training, which are left out else.")]
TrainingRun = Annotated[str | None, typer.Option("--training-run", help="Only rollouts of this training run.")]
TrainingStep = Annotated[int | None, typer.Option("--training-step", help="Only rollouts of this step of training.")]
