"""What the notebooks share: a home for their runs, figures for light and dark, sliders, links into the app."""

import html
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import ipywidgets
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
from IPython.display import HTML, display

from orchestra_lib.calibration import Share
from orchestra_lib.event import fold
from orchestra_lib.paths import home
from orchestra_lib.trajectory import Trajectory
from orchestra_lib.workbench import Order, Workbench

ROOT = Path(__file__).resolve().parent.parent
HOME = home() if os.environ.get("ORCHESTRA_HOME") else ROOT / ".orchestra"
"""Where runs are kept: the folder that `make app` shows."""
APP = os.environ.get("ORCHESTRA_APP", "http://127.0.0.1:7860")

ACCENT, GREY, LIGHT = "#6f6af0", "#7d8696", "#a9a6f5"
SERIES = ("#1f7fc9", "#d9791a", "#b8569c", "#17a583")
"""Marks that stand out by 3:1 on a light and on a dark page."""

_GRID, _ZERO = "rgba(125,140,165,.20)", "#7a8599"
_AXIS = {"automargin": True, "gridcolor": _GRID, "zerolinecolor": _ZERO, "ticks": ""}
_PICTURE, _WIDGET = "application/vnd.plotly.v1+json", "application/vnd.jupyter.widget-view+json"

sys.path.append(str(ROOT))  # benchmarks/ are scripts and not installed
pio.templates["orchestra"] = go.layout.Template(
    layout={
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "IBM Plex Sans, system-ui, sans-serif", "size": 13, "color": "#7c8798"},
        "title": {"font": {"size": 15}, "x": 0.01, "xanchor": "left"},
        "colorway": list(SERIES),
        "bargap": 0.3,
        "height": 320,
        "margin": {"l": 60, "r": 24, "t": 56, "b": 44},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "legend": {"orientation": "h", "y": -0.2},
    }
)
pio.templates.default = "orchestra"
pio.renderers.default = "plotly_mimetype"
pd.set_option("display.max_colwidth", 240)


async def run(workbench: Workbench, order: Order) -> Trajectory:
    """Play an order to its end; the trajectory is in the store then, as any run of the app is."""
    return fold([event async for event in workbench.play(order)])


async def runs(workbench: Workbench, orders: Iterable[Order]) -> list[Trajectory]:
    """`run` for several, one after the other."""
    return [await run(workbench, order) for order in orders]


def spent_s(trajectory: Trajectory) -> float:
    """Seconds that the calls took, one after the other; simulated experts state theirs."""
    return sum(call.took_s(trajectory.setting) or 0.0 for call in trajectory.calls)


def told(share: Share) -> str:
    """A share in per cent with its interval of 95 %; a dash where nothing is known."""
    if share.rate is None or share.low is None or share.high is None:
        return "—"
    return f"{share.rate * 100:.0f} [{share.low * 100:.0f}, {share.high * 100:.0f}]"


def link(path: str, words: str) -> HTML:
    """A link to a page of the app, which `make app` starts."""
    return HTML(f'<a href="{APP}{path}" target="_blank" rel="noopener">{words}</a>')


def linked(trajectories: Sequence[Trajectory]) -> HTML:
    """Each of these runs as a link to its page in the app."""
    rows = (
        f'<li><a href="{APP}/trajectories?run={one.id}" target="_blank" rel="noopener">{one.id}</a> '
        f"{one.setting.orchestrator}{', simulated' if one.simulated else ''}</li>"
        for one in trajectories
    )
    return HTML(f"<ul>{''.join(rows)}</ul>")


def linked_table(table: pd.DataFrame) -> HTML:
    """A table in which every `run_id` leads to its run; all else, which models may have written, is shown as text."""
    to_run = '<a href="{app}/trajectories?run={id}" target="_blank" rel="noopener">{id}</a>'
    cells = {
        name: (lambda one: to_run.format(app=APP, id=html.escape(one)))
        if name == "run_id"
        else (lambda one: html.escape(str(one)))
        for name in table.columns
    }
    return HTML(table.to_html(escape=False, index=False, formatters=cells))


def slider(value: float, low: float = 0.0, high: float = 1.0, step: float = 0.05) -> ipywidgets.FloatSlider:
    """A slider that redraws while it is dragged."""
    return ipywidgets.FloatSlider(
        value=value, min=low, max=high, step=step, readout_format=".2f", layout={"width": "420px"}
    )


def explore(draw: Callable[..., go.Figure], **sliders: ipywidgets.FloatSlider) -> None:
    """Show `draw` of the sliders' values, drawn anew while one is dragged.

    A saved notebook has no kernel to draw with, so it keeps the figure as it is at the start.
    """
    for name, one in sliders.items():
        one.description = name.replace("_", " ")
        one.style.description_width = "150px"
    start = draw(**{name: one.value for name, one in sliders.items()})
    drawn = ipywidgets.interactive_output(lambda **values: display(draw(**values)), sliders)
    box = ipywidgets.VBox([*sliders.values(), drawn])
    view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
    saved = {_PICTURE: json.loads(start.to_json()), "text/plain": "run the cell for sliders"}
    display({_WIDGET: view, "text/plain": saved["text/plain"]}, metadata={"saved": saved}, raw=True)


def boxes(rows: Sequence[dict[str, Any]], index: str) -> pd.DataFrame:
    """A table with one row a name."""
    return pd.DataFrame(list(rows)).set_index(index).rename_axis(index=None, columns=index)
