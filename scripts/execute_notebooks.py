"""Runs the notebooks and keeps what they say: `python -m scripts.execute_notebooks [NAME.ipynb …]`, all without names.

Outputs are the same every time but for cells tagged `varies` (seconds that passed, what is on this machine), and
`tests/test_notebooks.py` runs each notebook anew and compares. Runs go to a home folder of their own that is thrown
away; their ids are numbered as they are shown. With `BUDGET=full` in the environment the long form is run: its answer
is printed and nothing is kept.
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
TINY, VARIES = "tiny", "varies"
_STRICT, _LENIENT = "import warnings\nwarnings.simplefilter('error')", "warnings.resetwarnings()"
_TIMEOUT_S = {TINY: 400, "full": 7200}
_RUN_ID = re.compile(r"\b0[0-9A-HJKMNP-TV-Z]{9}-[0-9A-HJKMNP-TV-Z]{6}\b")


def executed(file: Path, budget: str = TINY) -> Any:
    """The notebook with fresh outputs; a warning is an error. Raises nbclient's `CellExecutionError`."""
    notebook = nbformat.read(file, as_version=4)
    notebook.cells = [_cell(_STRICT), *notebook.cells, _cell(_LENIENT)]
    client = NotebookClient(
        notebook,
        timeout=_TIMEOUT_S[budget],
        record_timing=False,
        resources={"metadata": {"path": str(file.parent)}},
    )

    def started(**_: Any) -> None:
        assert client.kc is not None, "a notebook has started with its kernel"
        for channel in (client.kc.shell_channel, client.kc.iopub_channel):
            _ask_each_second(channel)

    client.on_notebook_start = started
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # the kernel's debugger says so on stderr
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        client.execute(env={**os.environ, "ORCHESTRA_HOME": home, "BUDGET": budget, "OMP_NUM_THREADS": "1"})
    notebook.cells = notebook.cells[1:-1]
    _tidy(notebook)
    return notebook


def _cell(source: str) -> Any:
    return nbformat.v4.new_code_cell(source)


def _ask_each_second(channel: Any) -> None:
    """On a busy machine an asyncio socket of ZeroMQ may sleep on with a message waiting: whoever asks anew finds it."""
    get = channel.get_msg

    async def get_msg(timeout: float | None = None) -> Any:  # noqa: ASYNC109  # as the channel has it
        left = timeout
        while True:
            try:
                return await get(timeout=1.0 if left is None else min(1.0, left))
            except Empty:
                left = None if left is None else left - 1.0
                if left is not None and left <= 0:
                    raise

    channel.get_msg = get_msg


def _tidy(notebook: Any) -> None:
    """Number cells and runs in their order, and put a figure where a widget was: a file has no kernel to draw it."""
    ids: dict[str, str] = {}
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells, 1):
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
            if "saved" in output.get("metadata", {}):
                output.data = output.metadata.pop("saved")
            if output.output_type == "stream":
                output.text = _numbered(output.text, ids)
            elif "data" in output:
                output.data = {
                    kind: _numbered(data, ids) if isinstance(data, str) else data for kind, data in output.data.items()
                }
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}


def _numbered(text: str, ids: dict[str, str]) -> str:
    return _RUN_ID.sub(lambda found: ids.setdefault(found[0], f"0000000000-{len(ids) + 1:06}"), text)


def main(names: list[str]) -> None:
    """Run these notebooks, or all, and write them."""
    budget = os.environ.get("BUDGET", TINY)
    for file in [NOTEBOOKS / name for name in names] or sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = executed(file, budget)
        if budget == TINY:
            nbformat.write(notebook, file)
            print(file.name)
        else:
            print(file.name, "".join(output.text for output in notebook.cells[-1].outputs), sep=": ")


if __name__ == "__main__":
    main(sys.argv[1:])
