"""Options that many commands take in the same way."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
