"""Runs for callers that speak OpenAI's chat API: requests read, runs that wait for their caller, and their answers."""
