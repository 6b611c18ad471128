"""The face: FastAPI owns the runs, Gradio's pages are mounted on it, and both talk to a `Workbench` only."""
