"""The scenarios of `benchmarks.soak`."""
