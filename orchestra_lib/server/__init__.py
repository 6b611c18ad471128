"""The OpenAI-compatible server, and the workbench as an MCP server."""
