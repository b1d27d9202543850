"""Runs of agents. The runs of one session are serial."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from store import Store, now, present


@dataclass(eq=False)
class Run:
    id: str
    session_key: str
    message: str
    context: str | None = None
    provenance: dict | None = None
    no_tools: bool = False
    timeout_seconds: float | None = None
    hops: int = 0
    parent: str | None = None  # the spawning session, for the first run of a child
    status: str = "queued"
    reply: str | None = None
    error: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    ahead: "Run | None" = None  # None once the run has started
    task: asyncio.Task | None = None

    def for_plugin(self):
        """Return the members that the plugin receives."""
        return present(
            id=self.id,
            status=self.status,
            reply=self.reply,
            error=self.error,
            startedAt=self.started_at,
            endedAt=self.ended_at,
        )


# Answers a run with a text.
Agent = Callable[[Run], Awaitable[str]]


class Runs:
    def __init__(self, store: Store, agents: dict[str, Agent]):
        self._store = store
        self._agents = agents
        self._runs: dict[str, Run] = {}
        self._last: dict[str, Run] = {}  # the last run of each session's queue

    def get(self, id: str) -> Run | None:
        return self._runs.get(id)

    def last(self, session_key: str) -> Run | None:
        return self._last.get(session_key)

    def queue(self, run: Run):
        run.ahead = self.last(run.session_key)
        self._runs[run.id] = self._last[run.session_key] = run
        run.task = asyncio.create_task(self._execute(run))

    def active(self, parent: str) -> int:
        """Return the number of active children of a session."""
        return sum(run.parent == parent and not run.ended_at for run in self._runs.values())

    def busy(self, session_key: str) -> bool:
        last = self.last(session_key)
        return last is not None and not last.ended_at

    async def _execute(self, run):
        if run.ahead:
            await asyncio.wait([run.ahead.task])
            run.ahead = None
        run.status = "running"
        run.started_at = now()
        row = self._store.rows.get(run.session_key)
        if row is None or row.session.get("archivedAt"):
            run.status = "failed"
            run.error = "the session was deleted or archived"
        else:
            await self._answer(run, row.session["agentId"])
        run.ended_at = now()

    async def _answer(self, run, agent_id):
        self._store.append(run.session_key, "user", run.message, provenance=run.provenance)
        limit = asyncio.timeout(run.timeout_seconds or None)
        try:
            async with limit:
                # In its own task an agent can cancel only itself.
                reply = await asyncio.ensure_future(self._agents[agent_id](run))
            run.reply = reply.strip() or None
            run.status = "done"
        except (Exception, asyncio.CancelledError) as failure:
            if asyncio.current_task().cancelling():
                raise  # the host was cancelled, not the agent
            run.status = "timeout" if limit.expired() else "failed"
            run.error = str(failure) or None
        if run.reply:
            self._store.append(run.session_key, "assistant", run.reply)
        row = self._store.rows.get(run.session_key)
        if row and not run.no_tools:
            row.session["status"] = run.status
