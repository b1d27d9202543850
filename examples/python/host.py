"""A host of Parley.

A gateway keeps the store, the runs and the flows in its database: it writes the effects of a step
and the flow's new state in one transaction.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from plugin import ParleyError, Plugin
from runs import Agent, Run, Runs
from store import Row, Store, now, present

log = logging.getLogger(__name__)

# Posts a text: (destination, text, id). The destination is {allowed, target} or {allowed, reason};
# equal ids are one delivery.
Deliver = Callable[[dict, str, str], Awaitable[None]]


# The members of a session in version 1 (abi/README.md, section 4).
MEMBERS = frozenset(
    """
    key agentId kind sessionId updatedAt label displayName subject chatType channel
    deliveryContext lastChannel lastTo lastAccountId lastThreadId model modelOverride
    contextTokens totalTokens thinkingLevel verboseLevel systemSent abortedLastRun
    sendPolicy spawnedBy sandboxed status archivedAt transcriptPath
    """.split()
)


def derive_request(session, target, config):
    """Return the input of derive, which refuses unknown members of a session: those of later
    versions are omitted."""
    known = {name: value for name, value in session.items() if name in MEMBERS}
    return present(abi=1, session=known, target=target, config=config)


@dataclass(eq=False)
class Flow:
    """A call of a tool, from its first step to its last."""

    id: str
    tool: str
    caller: dict
    accepted_at: int
    answer: asyncio.Future
    step: int = 1
    wait: dict | None = None
    note: str | None = None
    error: Exception | None = None  # of the failed step, if the flow is parked


class Host:
    """A host for one event loop. Code without await is atomic; there are no locks."""

    def __init__(
        self,
        config: dict,
        sessions: list[dict],
        agents: dict[str, Agent],
        deliver: Deliver,
        plugin: Plugin | None = None,
    ):
        self.flows: dict[str, Flow] = {}  # waiting or parked flows, by id
        self.store = Store()
        self.runs = Runs(self.store, agents)
        self._config = config
        self._deliver = deliver
        self._plugin = plugin or Plugin()
        self._pending: set[asyncio.Task] = set()  # flows and deliveries
        self._calls = 0
        description = self._plugin.describe()
        self._check(description)
        self.tools: list[dict] = description["tools"]
        for row in sessions:
            self.add(**row)

    def add(self, session: dict, messages: list[dict] | None = None):
        """Store a new or changed session. Without messages it keeps its transcript."""
        if messages is None:
            row = self.store.rows.get(session["key"])
            messages = row.messages if row else []
        self.store.rows[session["key"]] = Row(session, self._derive(session), messages)

    async def call(self, tool: str, args, session_key: str, run: Run | None = None) -> dict:
        """Call a tool as a session, or as a run in it: {result, code?}. The flow continues."""
        self._calls += 1
        caller = self.store.rows[session_key].context["caller"]
        if run:
            caller = {**caller, "runId": run.id, "hops": run.hops}
        answer = asyncio.get_running_loop().create_future()
        flow = Flow(f"flow-{self._calls}", tool, caller, now(), answer)
        self._step(flow, "call", callId=flow.id, tool=tool, args=args)
        if flow.wait:
            self.flows[flow.id] = flow
            self._start_task(self._advance(flow))
        return await answer

    async def idle(self):
        """Wait until all flows and deliveries have ended."""
        while self._pending:
            await asyncio.wait(self._pending)

    def parked(self) -> list[Flow]:
        return [flow for flow in self.flows.values() if flow.error]

    def _start_task(self, work):
        task = asyncio.create_task(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    def _check(self, description):
        if description["abi"] != 1:
            raise ValueError(f"the plugin has version {description['abi']} of the ABI, not 1")
        missing = set(description["capabilities"]) - _Step(self, None).functions.keys()
        if missing:
            raise ValueError(f"the plugin requires {', '.join(sorted(missing))}")

    async def _advance(self, flow):
        try:
            while flow.wait:
                event = await self._event(**flow.wait)
                flow.step += 1
                wait = {name: flow.wait[name] for name in ("state", "stateVersion")}
                self._step(flow, "resume", event=event, **wait)
            del self.flows[flow.id]
        except Exception as error:
            log.exception("%s (%s) is parked at step %d", flow.id, flow.tool, flow.step)
            flow.error = error
            if not flow.answer.done():
                flow.answer.set_exception(error)

    async def _event(self, run=None, until=None, **_):
        """Wait for the end of the run or for the time. If both are due, the run wins."""
        seconds = None if until is None else max(0, until / 1000 - time.time())
        if run is None:
            await asyncio.sleep(seconds)
        else:
            run = self.runs.get(run)
            await asyncio.wait([run.task], timeout=seconds)
            if run.ended_at:
                return {"type": "run", "at": now(), "run": run.for_plugin()}
            if run.task.done():
                raise RuntimeError(f"the task of run {run.id} was cancelled")
        return {"type": "time", "at": now()}

    def _step(self, flow, export, **more):
        """Execute one step and commit its effects, before the state it has read can change."""
        step = _Step(self, flow)
        message = {
            "abi": 1,
            "flowId": flow.id,
            "step": flow.step,
            "now": now(),
            "acceptedAt": flow.accepted_at,
            "caller": flow.caller,
            "config": self._config,
        }
        out = self._plugin.ask(export, message | more, step.functions)
        for effect in step.effects:
            effect()
        flow.wait = out.get("wait")
        flow.note = out.get("note", flow.note)
        if "result" in out and not flow.answer.done():  # false if the caller was cancelled
            flow.answer.set_result({k: out[k] for k in ("result", "code") if k in out})

    def _would_block(self, session_key: str, caller: str | None) -> bool:
        """Deadlock check: whether a run of the session waits for the caller, also indirectly."""
        if caller is None:
            return False
        awaited = self._awaited()
        seen = set()
        found = [self.runs.last(session_key)]
        while found:  # a queue can exceed Python's recursion limit
            run = found.pop()
            if run is None or run.ended_at or run.id in seen:
                continue
            if run.id == caller:
                return True
            seen.add(run.id)
            found += [run.ahead, *awaited[run.id]]
        return False

    def _awaited(self):
        """Return the runs that unanswered calls wait for, by the id of the calling run."""
        awaited = defaultdict(list)
        for flow in self.flows.values():
            if not flow.answer.done():
                awaited[flow.caller.get("runId")].append(self.runs.get(flow.wait.get("run")))
        return awaited

    def _derive(self, session, target=None):
        request = derive_request(session, target, self._config)
        return self._plugin.ask("derive", request, {})["result"]

    async def _post(self, session_key, target, text, id):
        """Post a text. Destination and policy are determined now: they may have changed."""
        row = self.store.rows.get(session_key)
        session = row.session if row else {"key": session_key}
        await self._deliver(self._derive(session, target)["deliver"], text, id)


class _Step:
    """The host functions of one step. Reads answer; writes are checked, and recorded as effects."""

    def __init__(self, host, flow):
        self._host = host
        self._flow = flow
        self._children = set()  # keys of the sessions that this step creates
        self.effects = []
        self.functions = {
            "store.get": host.store.get,
            "store.resolve": host.store.resolve,
            "store.list": host.store.list,
            "store.history": host.store.history,
            "store.create": self._create,
            "store.archive": self._archive,
            "store.delete": self._delete,
            "agent.status": self._status,
            "agent.waits": self._waits,
            "agent.run": self._run,
            "deliver.send": self._send,
        }

    def _create(self, *, agent_id, label=None, model=None, thinking_level=None, max_active=None):
        caller = self._flow.caller
        active = self._host.runs.active(caller["sessionKey"]) + len(self._children)
        if max_active and active >= max_active:
            raise ParleyError("forbidden", "the limit of active children is reached")
        id = self._id()
        child = present(
            key=f"agent:{agent_id}:subagent:{id}",
            agentId=agent_id,
            sessionId=id,
            updatedAt=now(),
            spawnedBy=caller["sessionKey"],
            sandboxed=caller["sandboxed"],
            label=label,
            modelOverride=model,
            thinkingLevel=thinking_level,
        )
        self._children.add(child["key"])
        self.effects.append(partial(self._host.add, child))
        return {"sessionKey": child["key"], "sessionId": id}

    def _archive(self, *, session_key):
        session = self._idle(session_key)
        self.effects.append(partial(session.setdefault, "archivedAt", now()))
        return {}

    def _delete(self, *, session_key):
        self._idle(session_key)
        self.effects.append(partial(self._host.store.rows.pop, session_key))
        return {}

    def _status(self, *, run_id):
        run = self._host.runs.get(run_id)
        return {"run": run and run.for_plugin()}

    def _waits(self, *, session_key):
        return {"waits": self._host._would_block(session_key, self._flow.caller.get("runId"))}

    def _run(self, *, session_key, group, source=None, **task):
        caller = self._flow.caller
        if session_key not in self._children:
            row = self._row(session_key)
            if row.session.get("archivedAt"):
                raise ParleyError("not_found", f"session {session_key} is archived")
            if not row.context["receive"]["allowed"]:
                raise ParleyError("forbidden", row.context["receive"]["reason"])
        source = source or caller["sessionKey"]
        source_row = self._host.store.rows.get(source)  # None if it has been deleted
        provenance = present(
            kind="inter_session",
            sourceSessionKey=source,
            sourceChannel=source_row and source_row.context["channel"],
            sourceTool=self._flow.tool,
        )
        parent = caller["sessionKey"] if group == "subagent" else None
        hops = caller["hops"] + 1
        run = Run(self._id(), session_key, provenance=provenance, hops=hops, parent=parent, **task)
        self.effects.append(partial(self._host.runs.queue, run))
        return {"runId": run.id}

    def _send(self, *, session_key, text, at_call=False, **_):
        self._row(session_key)
        caller = self._flow.caller
        target = None
        if at_call:
            names = ("channel", "to", "accountId", "threadId")
            target = {name: caller[name] for name in names if name in caller}
        id = self._id()
        post = partial(self._host._post, session_key, target, text, id)
        self.effects.append(lambda: self._host._start_task(post()))
        return {"deliveryId": id}

    def _id(self):
        """Return the next id. A repeated step creates the same ids."""
        return f"{self._flow.id}-{self._flow.step}-{len(self.effects) + 1}"

    def _row(self, session_key):
        row = self._host.store.rows.get(session_key)
        if row is None:
            raise ParleyError("not_found", f"session {session_key} does not exist")
        return row

    def _idle(self, session_key):
        row = self._row(session_key)
        if self._host.runs.busy(session_key):
            raise ParleyError("conflict", f"a run of {session_key} has not ended")
        return row.session
