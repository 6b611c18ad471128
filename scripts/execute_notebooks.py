"""Runs the notebooks and keeps what they say: `python -m scripts.execute_notebooks [NAME.ipynb …]`, all without names.

Outputs are the same every time, and `tests/test_notebooks.py` runs each notebook anew and compares.
"""

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
_STRICT, _LENIENT = "import warnings\nwarnings.simplefilter('error')", "warnings.resetwarnings()"
_TIMEOUT_S = 400


def executed(file: Path) -> Any:
    """The notebook with fresh outputs; a warning is an error. Raises nbclient's `CellExecutionError`."""
    notebook = nbformat.read(file, as_version=4)
    notebook.cells = [_cell(_STRICT), *notebook.cells, _cell(_LENIENT)]
    client = NotebookClient(
        notebook, timeout=_TIMEOUT_S, record_timing=False, resources={"metadata": {"path": str(file.parent)}}
    )
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # the kernel's debugger says so on stderr
    client.execute()
    notebook.cells = notebook.cells[1:-1]
    number = 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            number += 1
            cell.execution_count = number
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = number
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def _cell(source: str) -> Any:
    return nbformat.v4.new_code_cell(source)


def main(names: list[str]) -> None:
    """Run these notebooks, or all, and write them."""
    for file in [NOTEBOOKS / name for name in names] or sorted(NOTEBOOKS.glob("*.ipynb")):
        nbformat.write(executed(file), file)
        print(file.name)


if __name__ == "__main__":
    main(sys.argv[1:])
