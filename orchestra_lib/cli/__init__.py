"""The command `orchestra`: runs, records, models and the app from a terminal.

Answers go to stdout, progress to stderr. Exit code 0: done; 1: a run ended without an answer,
or a check failed; 2: bad input, in one line that names the value and the remedy.
"""

import logging
import sys

import typer

from orchestra_lib.cli import (
    bias,
    browser,
    credit,
    describe,
    domains,
    evaluate,
    grade,
    groups,
    lab,
    machine,
    models,
    preferences,
    prices,
    profiles,
    records,
    reward,
    running,
    serve,
    synth,
    tasks,
    tools,
    train,
)
from orchestra_lib.cli.terminal import complain
from orchestra_lib.errors import BadInput, WorldFault
from orchestra_lib.play import expect_crowd

app = typer.Typer(
    name="orchestra",
    help="A small model conducts bigger models and tools under your preferences.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for room in (
    browser, running, records, reward, bias, describe, grade, lab, evaluate, credit, synth, train, models, machine,
    serve,
):  # fmt: skip
    for name, command in room.COMMANDS.items():
        app.command(name)(command)
for name, nouns in {
    **groups.COMMANDS,
    **prices.COMMANDS,
    **profiles.COMMANDS,
    **preferences.COMMANDS,
    **domains.COMMANDS,
    **tasks.COMMANDS,
    **tools.COMMANDS,
}.items():
    app.add_typer(nouns, name=name)


def main() -> None:
    """Run the command line; errors of people and of the world become one line."""
    expect_crowd()
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    try:
        app()
    except BadInput as error:
        complain(str(error))
        sys.exit(2)
    except WorldFault as error:
        complain(str(error))
        sys.exit(1)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        sys.exit(0)
