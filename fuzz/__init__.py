"""Coverage-guided fuzzing of every boundary that reads what others wrote: `make fuzz`, or `python -m fuzz`."""
