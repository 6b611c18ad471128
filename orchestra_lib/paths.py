"""Where shipped data lies, and where a user's own things are kept."""

import os
from collections.abc import Mapping
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
"""What ships with the workbench: prices, weights catalogue, examples, corpus; each with a README."""


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of everything a user makes: `ORCHESTRA_HOME`, or `.orchestra` in the working folder."""
    return Path(environ.get("ORCHESTRA_HOME") or ".orchestra").expanduser().resolve()
