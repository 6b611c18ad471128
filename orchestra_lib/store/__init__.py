"""What was run, kept: journals are the truth, DuckDB answers questions about them."""
