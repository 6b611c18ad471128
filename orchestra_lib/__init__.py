"""Orchestra Workbench: a small model conducts bigger models and tools under your preferences."""
