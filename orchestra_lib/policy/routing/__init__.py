"""Routers as others build them, to compare with: what a tool's chance is on a task is learned from recorded outcomes.

A router knows each tool by its name and by what it solved; one that no outcome tells of is never chosen before one that
is known. After RouteLLM (arXiv 2406.18665), which routes between two models: similarity-weighted neighbours, and matrix
factorisation. Both estimate here the chance that a tool solves a task, for any number of tools, and the choice is made
by the rule of the oracle, under the preference of the run. What sets a router apart from the oracle is thus only what
it knows. The cascade learns nothing: it goes from cheap to dear until two answers agree.
"""
