"""Instances for training: a question or a task, with tools, prices, aliases and a preference drawn for it alone.

What an orchestrator should learn is to read its tools and what is wished, not to remember names; so every instance
has a subset of the tools, a price table of some regime, models behind shuffled aliases, and a preference over just
these tools. Everything follows from a seed: the same seed gives the same bytes.
"""
