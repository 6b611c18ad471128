"""Retrieval as the expert tool `search` needs it: a query in, whole documents out, best first."""

import asyncio
from typing import Protocol

from orchestra_lib.pricing import Attempt
from orchestra_lib.record import record
from orchestra_lib.toolkit.local_search import LocalSearch


@record
class Retrieved:
    """Documents, best first; empty means that there are none, never that the search failed."""

    documents: tuple[str, ...]
    attempts: tuple[Attempt, ...] = ()


class Retriever(Protocol):
    """Finds documents. `priced_as` names its price row. Raises `WorldFault` when it could not search."""

    @property
    def priced_as(self) -> str: ...
    async def retrieve(self, query: str, k: int) -> Retrieved: ...


class LocalRetriever:
    """Passages of local search, each under its title."""

    def __init__(self, search: LocalSearch) -> None:
        self._search = search

    @property
    def priced_as(self) -> str:
        return self._search.spec.priced_as

    async def retrieve(self, query: str, k: int) -> Retrieved:
        loop = asyncio.get_running_loop()
        started = loop.time()
        found = await asyncio.to_thread(self._search.search, query, k)
        return Retrieved(
            documents=tuple(f"{hit.passage.title}\n{hit.passage.text}" for hit in found),
            attempts=(Attempt(priced_as=self.priced_as, wall_s=loop.time() - started),),
        )
