"""Tools of MCP servers: which servers, what they offered when they were added, and how their tools are called."""
