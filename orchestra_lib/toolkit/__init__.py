"""Tools that the orchestrator can call, and the check every call's arguments pass first."""
