"""Environments: domains as data, their state, their operations as tools, the user, and how success is checked."""
