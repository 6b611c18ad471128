"""Synthesis: records of domains, tasks with golden calls, and the filters that a task must pass."""
