"""A file that holds a list of JSON objects, as a person wrote it by hand."""

import json
from pathlib import Path
from typing import Any

from orchestra_lib.errors import BadInput


def json_list(file: Path, *, form: str) -> list[Any]:
    """What the file lists. Raises `BadInput` naming the file, and `form`, what to write, where it is no list."""
    try:
        data = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file} is no JSON: {error}") from None
    if not isinstance(data, list) or not data:
        raise BadInput(f"{file}: write a list of {form}")
    return data
