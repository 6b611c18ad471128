"""Policies: what chooses the next action of an episode."""
