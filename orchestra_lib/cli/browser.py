"""The command `orchestra app`: the workbench in the browser."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from orchestra_lib.cli.progress import WeightsProgress
from orchestra_lib.errors import BadInput
from orchestra_lib.paths import home
from orchestra_lib.workbench import Workbench


def app(
    host: Annotated[
        str, typer.Option(help="Address to listen on; the default is for this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 7860,
    browser: Annotated[bool, typer.Option(help="Open a browser on the page.")] = True,
    password_env: Annotated[
        str | None, typer.Option(help="Ask for a login; the password is in this environment variable.")
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="Ask for a login; the password is this file's text.")] = None,
    without_login: Annotated[bool, typer.Option("--without-login", help="Let others in without a login.")] = False,
) -> None:
    """Start the workbench in the browser."""
    password = _password(password_env, token_file)
    from app.main import serve  # gradio takes seconds to import, and only this command needs it

    serve(
        Workbench(home()), host, port, open_browser=browser, on_progress=WeightsProgress(),
        password=password, without_login=without_login,
    )  # fmt: skip


def _password(variable: str | None, file: Path | None, environ: Mapping[str, str] = os.environ) -> str | None:
    """What the login asks for; None without one. It is named nowhere, and an empty one is no password."""
    if variable is not None and file is not None:
        raise BadInput("give --password-env or --token-file, not both")
    if variable is not None:
        if not environ.get(variable):
            raise BadInput(f"the environment variable {variable} is empty or not set; put the password into it")
        return environ[variable]
    if file is None:
        return None
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"--token-file {file} cannot be read: {error}") from None
    if not text:
        raise BadInput(f"--token-file {file} is empty; write the password into it")
    return text


COMMANDS: dict[str, Callable[..., None]] = {"app": app}
