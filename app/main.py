"""The app put together: routes, static files and Gradio's pages on one FastAPI, and how to serve it."""

import asyncio
import os
import sys
import threading
import warnings
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import FrameType

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported

import gradio as gr
import uvicorn
from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from app import (
    api,
    bias_api,
    description_api,
    docs,
    documents,
    evaluation_api,
    notebooks,
    sql_api,
    tools_api,
    toolscale_api,
    training_api,
)
from app.login import Login, check_password
from app.lost import Lost
from app.pages import bias, compare, evaluation, live, reward, shell, sql, tools, toolscale, training, trajectories
from app.runs import RunManager
from app.security import Guard
from app.synth_job import SynthJob
from orchestra_lib.errors import BadInput
from orchestra_lib.hosts import LOOPBACK
from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.server.door import check_free
from orchestra_lib.training import conducting
from orchestra_lib.training.launching import Launcher
from orchestra_lib.workbench import Workbench

STATIC = Path(__file__).parent / "static"


Progress = Callable[[WeightsStatus], None] | None
"""Hears how far the weights are; the terminal prints it."""


def create_app(
    workbench: Workbench,
    *,
    host: str = "127.0.0.1",
    on_progress: Progress = None,
    password: str | None = None,
    launcher: Launcher | None = None,
) -> FastAPI:
    """The whole app around one workbench. `host` is the address it will be served on: it decides
    which Host headers are answered. With a `password` nothing is served before the login. `launcher` starts training.
    """
    runs = RunManager(workbench)
    job = SynthJob(workbench.assignments.folder)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        # Weights may take minutes: the page is there meanwhile and tells how far they are.
        background = asyncio.create_task(workbench.start_background(on_progress))
        await asyncio.to_thread(workbench.store.purge, workbench.artefacts)
        yield
        background.cancel()
        await asyncio.wait({background}, timeout=2)
        await job.stop()
        await runs.close()
        await workbench.close()

    app = FastAPI(title="Orchestra Workbench", lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)
    app.state.runs = runs
    api.install(app, workbench, runs)
    for router in (
        tools_api.router(workbench),
        description_api.router(workbench),
        bias_api.router(workbench),
        evaluation_api.router(workbench),
        sql_api.router(workbench),
        toolscale_api.router(workbench, runs, job),
        training_api.router(workbench, launcher or Launcher(workbench.home)),
    ):
        app.include_router(router, prefix="/api")
    docs.install(app)
    app.include_router(documents.router())
    app.include_router(notebooks.router())
    app.mount("/wb", StaticFiles(directory=STATIC))  # /static is Gradio's own
    _mount_pages(app, login=password is not None)
    app.add_middleware(Lost)
    if password is not None:
        app.add_middleware(Login, password=password)
    app.add_middleware(Guard, host=host)
    return app


def _mount_pages(app: FastAPI, *, login: bool) -> None:
    with warnings.catch_warnings():
        # Several pages on a FastAPI app exclude server-side rendering; we never asked for it.
        warnings.filterwarnings("ignore", message="SSR mode is not supported", category=UserWarning)
        gr.mount_gradio_app(
            app,
            _pages(),
            path="/",
            theme=shell.theme(),
            head=shell.head(login=login),
            favicon_path=str(STATIC / "mark.svg"),
            footer_links=[],
            run_history=False,
            enable_monitoring=False,
            ssr_mode=False,
            mcp_server=False,
        )


def _pages() -> gr.Blocks:
    others = {
        "trajectories": ("Trajectories", trajectories),
        "compare": ("Compare", compare),
        "reward": ("Reward", reward),
        "bias": ("Bias", bias),
        "evaluation": ("Evaluation", evaluation),
        "toolscale": ("ToolScale", toolscale),
        "training": ("Training", training),
        "tools": ("Tools & prices", tools),
        "sql": ("SQL", sql),
    }
    with gr.Blocks(title="Live · Orchestra Workbench", fill_width=True, analytics_enabled=False) as pages:
        live.build()
        for path, (name, page) in others.items():
            # What `pages.route` does, but within one context: Gradio makes a whole app at the end of each.
            pages.pages.append((path, name, True))
            pages.current_page = path
            page.build()
    return pages


def serve(
    workbench: Workbench,
    host: str = "127.0.0.1",
    port: int = 7860,
    *,
    open_browser: bool = True,
    on_progress: Progress = None,
    password: str | None = None,
    without_login: bool = False,
) -> None:
    """Serve until interrupted. Raises `BadInput` when the port is taken, for a password that is too short, and
    for an address that others reach without a password, unless `without_login` says that this is meant.
    """
    _check_doors(host, password, without_login=without_login)
    check_free(host, port)
    shown = "127.0.0.1" if host in LOOPBACK or host in {"0.0.0.0", "::"} else host  # noqa: S104  # compared, not bound
    address = f"http://{shown}:{port}/"
    if open_browser:
        opener = threading.Timer(1.5, webbrowser.open, [address])
        opener.daemon = True
        opener.start()
    conducting.join(workbench.roster, workbench.home)
    app = create_app(workbench, host=host, on_progress=on_progress, password=password)
    print(f"Orchestra Workbench: {address}   (Ctrl+C stops it)", file=sys.stderr, flush=True)
    server = _Server(uvicorn.Config(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=3))
    with suppress(KeyboardInterrupt):  # uvicorn has stopped in order, and raises it again to say why
        server.run()
    if not server.started:
        raise SystemExit(3)


class _Server(uvicorn.Server):
    """Stops the runs before it waits for the pages that follow them, or it would wait for them in vain."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        dropped = self.config.app.state.runs.stop_all()  # type: ignore[union-attr]  # the app that `serve` made
        if dropped:
            print(not_started([ticket.order.title for ticket in dropped]), file=sys.stderr, flush=True)
        super().handle_exit(sig, frame)


def not_started(tasks: list[str]) -> str:
    """What the terminal says of runs that waited when the workbench was stopped."""
    shown = "; ".join(" ".join(task.split())[:60] for task in tasks[:3])
    more = f" and {len(tasks) - 3:,} more" if len(tasks) > 3 else ""
    return f"{len(tasks):,} queued {'run was' if len(tasks) == 1 else 'runs were'} not started: {shown}{more}"


def _check_doors(host: str, password: str | None, *, without_login: bool) -> None:
    if password is not None:
        check_password(password)
    elif host not in LOOPBACK and not without_login:
        raise BadInput(
            f"--host {host} lets others in, and there is no login: whoever reaches it runs tools and spends your keys. "
            "Give it a password with --password-env NAME or --token-file FILE, or say --without-login"
        )
