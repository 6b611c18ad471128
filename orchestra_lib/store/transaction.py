"""All or nothing, on one DuckDB cursor."""

import contextlib
from collections.abc import Iterator

import duckdb


@contextlib.contextmanager
def transaction(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit what the block did, or undo it and let its error through."""
    cursor.begin()
    try:
        yield
        cursor.commit()
    except BaseException:
        with contextlib.suppress(duckdb.Error):  # a commit that failed has rolled back already
            cursor.rollback()
        raise
