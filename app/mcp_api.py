"""The routes of MCP servers: which there are, asking one how it is, forgetting one. No page can add one."""

import asyncio
from typing import Any

from fastapi import APIRouter

from orchestra_lib.codec import to_data
from orchestra_lib.workbench import Workbench


def router(workbench: Workbench) -> APIRouter:
    """Everything under `/mcp`."""
    made = APIRouter(tags=["tools and prices"])
    servers = workbench.roster.mcp

    @made.get("/mcp")
    def listed() -> dict[str, Any]:
        """Every MCP server with its tools, and what was wrong when it was asked last; `broken`: of the whole file."""
        return {"servers": [to_data(one) for one in servers.health()], "broken": servers.broken}

    @made.post("/mcp/{name}/check")
    async def check(name: str) -> dict[str, Any]:
        """Ask a server what it offers now, and whether that is what it was."""
        data: dict[str, Any] = to_data(await servers.check(name))
        return data

    @made.delete("/mcp/{name}")
    async def remove(name: str) -> dict[str, str]:
        """Take a server out of the user's file, and its tools out of the catalogue."""
        await asyncio.to_thread(servers.remove, name)
        return {"removed": name}

    return made
