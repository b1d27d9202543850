import asyncio
import contextlib
import io
import json
import unittest
from unittest import mock

import demo
import host
from plugin import ParleyError
from runs import Run
from tests.checked import CheckedPlugin, check

MAIN = "agent:main:main"
OPS = "agent:ops:main"


async def echo(run):
    return f"You said: {run.message}"


def until(event):
    """Return an agent that waits for the event, and skips its announce."""

    async def agent(run):
        if run.no_tools:
            return "ANNOUNCE_SKIP"
        await event.wait()
        return await echo(run)

    return agent


class Demo(unittest.IsolatedAsyncioTestCase):
    async def test_output_and_messages(self):
        plugin = CheckedPlugin()
        out = io.StringIO()
        with contextlib.redirect_stdout(out), mock.patch("host.Plugin", return_value=plugin):
            await demo.main()
        expected = demo.FIXTURE.with_name("demo.txt").read_text(encoding="utf-8")
        self.assertEqual(out.getvalue(), expected)
        seen = {name for name, text in plugin.messages}
        self.assertLessEqual(
            {
                "description",
                "call",
                "resume",
                "step",
                "derive",
                "facts",
                "store.list.reply",
                "store.history.reply",
                "store.create.reply",
                "store.delete.reply",
                "agent.run.reply",
                "deliver.send.reply",
            },
            seen,
        )
        self.tampered(plugin.messages)

    def tampered(self, messages):
        """Check that a message of each name with an extra member is refused."""
        for name, text in dict(messages).items():
            with self.subTest(name=name):
                message = json.loads(text)
                with self.assertRaises(ValueError):
                    check(name, json.dumps({**message, "tampered": 1}))


class Host(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.plugin = CheckedPlugin()
        self.fixture = json.loads(demo.FIXTURE.read_text(encoding="utf-8"))

        self.delivered = []
        self.destinations = []

    def start(self, ops, main=echo):
        async def deliver(destination, text, id):
            self.delivered.append(text)
            self.destinations.append(destination)

        agents = {"main": main, "ops": ops}
        sessions = self.fixture["sessions"]
        return host.Host(self.fixture["config"], sessions, agents, deliver, self.plugin)

    def session(self, key):
        sessions = [row["session"] for row in self.fixture["sessions"]]
        return next(session for session in sessions if session["key"] == key)

    def step(self, the_host):
        """Return a step of a flow that MAIN called."""
        caller = the_host.store.rows[MAIN].context["caller"]
        flow = host.Flow("flow-0", "sessions_send", caller, 0, asyncio.Future())
        return host._Step(the_host, flow)

    def send(self, host, message, **args):
        args = {"sessionKey": OPS, "message": message, **args}
        return host.call("sessions_send", args, MAIN)

    async def test_send_times_out(self):
        go = asyncio.Event()

        async def slow(run):
            await go.wait()
            return "Yes."

        host = self.start(slow)
        answer = await self.send(host, "Are you there?", timeoutSeconds=1)
        self.assertEqual(answer["result"]["status"], "timeout")
        run = host.runs.get(answer["result"]["runId"])
        self.assertEqual(run.status, "running")
        go.set()
        await host.idle()
        self.assertEqual(run.status, "done")
        self.assertEqual((host.flows, host.parked()), ({}, []))

    async def test_unknown_tool(self):
        host = self.start(echo)
        with self.assertRaises(ParleyError) as caught:
            await host.call("sessions_lisp", {}, MAIN)
        self.assertEqual(caught.exception.code, "not_found")
        self.assertEqual(host.flows, {})

    async def test_concurrent_calls(self):
        running = 0

        async def agent(run):
            nonlocal running
            running += 1
            self.assertEqual(running, 1)
            await asyncio.sleep(0.01)
            running -= 1
            return "ANNOUNCE_SKIP" if run.no_tools else f"Done: {run.message}"

        host = self.start(agent)
        answers = await asyncio.gather(self.send(host, "one"), self.send(host, "two"))
        replies = [answer["result"]["reply"] for answer in answers]
        self.assertEqual(replies, ["Done: one", "Done: two"])
        await host.idle()
        self.assertEqual(host.parked(), [])

    async def test_agent_that_fails(self):
        async def failing(run):
            raise ValueError("no such disk")

        host = self.start(failing)
        answer = await self.send(host, "Is the disk full?")
        self.assertEqual(answer["result"]["status"], "error")
        self.assertIn("no such disk", answer["result"]["error"])
        await host.idle()
        self.assertEqual(host.parked(), [])

    async def test_later_step_that_fails(self):
        host = self.start(echo)
        step = host._step

        def fail_later(flow, export, **more):
            if export == "resume":
                flow.wait = {**flow.wait, "state": {"tampered": True}}
                more["state"] = flow.wait["state"]
            return step(flow, export, **more)

        with mock.patch.object(host, "_step", fail_later), self.assertLogs("host", "ERROR"):
            with self.assertRaises(ParleyError) as caught:
                await self.send(host, "Are you there?")
        self.assertEqual(caught.exception.code, "unsupported")
        (parked,) = host.parked()
        self.assertEqual((parked.tool, parked.step), ("sessions_send", 2))
        self.assertIs(parked.error, caught.exception)

    async def test_run_time_limit(self):
        async def slow(run):
            await asyncio.sleep(30 if run.timeout_seconds == 1 else 0)
            return "I was too slow."

        host = self.start(slow)
        spawn = {"task": "Look", "agentId": "ops", "runTimeoutSeconds": 1, "cleanup": "delete"}
        answer = await host.call("sessions_spawn", spawn, MAIN)
        await host.idle()
        self.assertEqual(host.runs.get(answer["result"]["runId"]).status, "timeout")
        self.assertRegex(self.delivered[0], "^Status: timeout")
        self.assertEqual(host.parked(), [])

    async def test_no_wait_in_a_cycle(self):
        """The run in ops does not wait for a run in main behind the run that waits for it."""
        answers = {}

        def caller(begin, session, message):
            async def agent(run):
                if run.message == begin:
                    own, args = run.session_key, {"sessionKey": session, "message": message}
                    answers[own] = (await the_host.call("sessions_send", args, own, run))["result"]
                return f"The answer to: {run.message}"

            return agent

        the_host = self.start(caller("Ask main", MAIN, "And?"), caller("Begin", OPS, "Ask main"))
        await the_host.call("sessions_send", {"sessionKey": MAIN, "message": "Begin"}, OPS)
        await the_host.idle()
        self.assertEqual(answers[OPS]["status"], "accepted")
        self.assertEqual(answers[MAIN]["reply"], "The answer to: Ask main")
        self.assertEqual(the_host.parked(), [])

    async def test_no_wait_behind_a_long_queue(self):
        the_host = self.start(echo)
        last = None
        for i in range(3000):
            last = Run(f"r{i}", OPS, "?", ahead=last)
        with mock.patch.object(the_host.runs, "last", return_value=last):
            self.assertTrue(the_host._would_block(OPS, "r0"))
            self.assertFalse(the_host._would_block(OPS, "another"))
            self.assertFalse(the_host._would_block(OPS, None))

    async def test_answered_call_does_not_wait(self):
        the_host = self.start(until(asyncio.Event()))
        for run in (Run("r1", MAIN, "?"), Run("r2", OPS, "?")):
            the_host.runs.queue(run)
        answer = asyncio.Future()
        flow = host.Flow("f", "sessions_send", {"runId": "r1"}, 0, answer, wait={"run": "r2"})
        the_host.flows[flow.id] = flow
        self.assertTrue(the_host._would_block(MAIN, "r2"))
        answer.set_result({})
        self.assertFalse(the_host._would_block(MAIN, "r2"))

    async def test_cancelled_agent(self):
        async def raises(run):
            raise asyncio.CancelledError("no more")

        async def cancels(run):
            asyncio.current_task().cancel("no more")
            await asyncio.sleep(30)

        for agent in (raises, cancels):
            with self.subTest(agent=agent.__name__):
                host = self.start(agent)
                answer = await asyncio.wait_for(self.send(host, "Are you there?"), 5)
                self.assertEqual(answer["result"]["status"], "error")
                await asyncio.wait_for(host.idle(), 5)
                self.assertEqual(host.runs.get(answer["result"]["runId"]).status, "failed")
                self.assertEqual(host.parked(), [])

    async def test_cancelled_run(self):
        """A run that the host cancels has not failed, and its flow does not resume."""
        running, ended = asyncio.Event(), asyncio.Event()

        async def agent(run):
            running.set()
            try:
                await asyncio.sleep(30)
            finally:
                ended.set()

        host = self.start(agent)
        asking = asyncio.create_task(self.send(host, "Are you there?"))
        await running.wait()
        run = host.runs.last(OPS)
        run.task.cancel()
        with self.assertLogs("host", "ERROR"), self.assertRaisesRegex(RuntimeError, run.id):
            await asyncio.wait_for(asking, 5)
        self.assertTrue(ended.is_set())
        self.assertTrue(run.task.cancelled())
        self.assertEqual(run.status, "running")
        self.assertEqual([flow.step for flow in host.parked()], [1])

    async def test_provenance(self):
        host = self.start(echo)
        await self.send(host, "Are you there?")
        await host.idle()
        asked = host.store.rows[OPS].messages[0]
        self.assertEqual((asked["role"], asked["content"][0]["text"]), ("user", "Are you there?"))
        provenance = {
            "kind": "inter_session",
            "sourceSessionKey": MAIN,
            "sourceChannel": "telegram",
            "sourceTool": "sessions_send",
        }
        self.assertEqual(asked["provenance"], provenance)

    async def test_provenance_of_a_deleted_session(self):
        the_host = self.start(echo)
        step = self.step(the_host)
        del the_host.store.rows[MAIN]
        run_id = step.functions["agent.run"](session_key=OPS, message="?", group="nested")["runId"]
        for effect in step.effects:
            effect()
        run = the_host.runs.get(run_id)
        provenance = {
            "kind": "inter_session",
            "sourceSessionKey": MAIN,
            "sourceTool": "sessions_send",
        }
        self.assertEqual(run.provenance, provenance)
        await run.task
        self.assertEqual(run.status, "done")

    async def test_limit_of_active_children(self):
        self.fixture["config"]["agents"]["defaults"] = {"subagents": {"maxChildrenPerAgent": 1}}
        go = asyncio.Event()
        host = self.start(until(go))
        spawn = {"task": "Look", "agentId": "ops", "cleanup": "delete"}
        statuses = []
        for _ in range(2):
            answer = await host.call("sessions_spawn", spawn, MAIN)
            statuses.append(answer["result"]["status"])
        go.set()
        await host.idle()
        answer = await host.call("sessions_spawn", spawn, MAIN)
        statuses.append(answer["result"]["status"])
        await host.idle()
        self.assertEqual(statuses, ["accepted", "forbidden", "accepted"])

    async def test_send_policy_denies(self):
        self.session(OPS)["sendPolicy"] = "deny"
        host = self.start(echo)
        answer = await self.send(host, "Are you there?")
        self.assertEqual(answer["result"]["status"], "forbidden")
        await host.idle()
        self.assertEqual(host.store.rows[OPS].messages, [])

    async def test_call_of_a_run(self):
        async def agent(run):
            if run.message == "Begin":
                await the_host.call("sessions_list", {}, OPS, run)
            return "ANNOUNCE_SKIP" if run.no_tools else "Done."

        the_host = self.start(agent)
        answer = await self.send(the_host, "Begin")
        calls = [json.loads(text) for name, text in self.plugin.messages if name == "call"]
        callers = [call["caller"] for call in calls]
        self.assertEqual([caller["hops"] for caller in callers], [0, 1])
        self.assertNotIn("runId", callers[0])
        self.assertEqual(callers[1]["runId"], answer["result"]["runId"])
        await the_host.idle()

    async def test_report_goes_to_the_destination_of_the_call(self):
        go = asyncio.Event()

        async def agent(run):
            await go.wait()
            return "All is well."

        host = self.start(agent)
        spawn = {"task": "Look", "agentId": "ops", "cleanup": "delete"}
        await host.call("sessions_spawn", spawn, MAIN)
        # Later texts of the session go to another destination, but not this report.
        host.add(self.session(MAIN) | {"deliveryContext": {"channel": "discord", "to": "8"}})
        go.set()
        await host.idle()
        target = {"channel": "telegram", "to": "7"}
        self.assertEqual(self.destinations, [{"allowed": True, "target": target}])
        self.assertIn("All is well.", self.delivered[0])

    async def test_writes_to_a_deleted_session(self):
        the_host = self.start(echo)
        step = self.step(the_host)
        del the_host.store.rows[OPS]
        for name, members in [
            ("store.archive", {}),
            ("store.delete", {}),
            ("deliver.send", {"text": "Hello"}),
            ("agent.run", {"message": "Hello", "group": "nested"}),
        ]:
            with self.subTest(name=name), self.assertRaises(ParleyError) as caught:
                step.functions[name](session_key=OPS, **members)
            self.assertEqual(caught.exception.code, "not_found")
        self.assertEqual(step.effects, [])

    async def test_delivery_for_a_deleted_session(self):
        the_host = self.start(echo)
        step = self.step(the_host)
        step.functions["deliver.send"](session_key=OPS, text="Hello")
        del the_host.store.rows[OPS]
        for effect in step.effects:
            effect()
        await the_host.idle()
        name, request = self.plugin.messages[-2]
        self.assertEqual((name, json.loads(request)["session"]), ("derive", {"key": OPS}))
        self.assertEqual(self.delivered, ["Hello"])
        self.assertNotIn("target", self.destinations[0])

    async def test_queued_run_of_a_deleted_or_archived_session(self):
        def archive(rows):
            rows[OPS].session["archivedAt"] = 1

        def delete(rows):
            del rows[OPS]

        for change in (archive, delete):
            with self.subTest(change=change.__name__):
                self.setUp()
                go = asyncio.Event()
                host = self.start(until(go))
                row = host.store.rows[OPS]
                asking = [asyncio.create_task(self.send(host, text)) for text in ("one", "two")]
                while len(row.messages) < 1:
                    await asyncio.sleep(0)
                change(host.store.rows)
                go.set()
                answers = await asyncio.gather(*asking)
                self.assertEqual([a["result"]["status"] for a in answers], ["ok", "error"])
                self.assertEqual(host.runs.get(answers[1]["result"]["runId"]).status, "failed")
                asked = [m["content"][0]["text"] for m in row.messages if m["role"] == "user"]
                self.assertEqual(asked, ["one"])

    async def test_empty_reply(self):
        async def agent(run):
            return " \n"

        host = self.start(agent)
        answer = await self.send(host, "Are you there?", announce="none")
        await host.idle()
        run = host.runs.get(answer["result"]["runId"])
        self.assertEqual((run.status, run.reply), ("done", None))
        self.assertEqual([m["role"] for m in host.store.rows[OPS].messages], ["user"])

    async def test_added_session(self):
        host = self.start(echo)
        self.assertIn("sessions_send", [tool["name"] for tool in host.tools])
        key = "agent:ops:telegram:group:9"
        session = {"key": key, "agentId": "ops", "sessionId": "s-9", "updatedAt": 1}
        host.add(session)
        answer = await self.send(host, "Are you there?", sessionKey=key)
        self.assertEqual(answer["result"]["status"], "ok")
        await host.idle()
        messages = host.store.rows[key].messages
        self.assertTrue(messages)
        host.add(session | {"sendPolicy": "deny"})
        self.assertIs(host.store.rows[key].messages, messages)
        answer = await self.send(host, "And now?", sessionKey=key)
        self.assertEqual(answer["result"]["status"], "forbidden")

    async def test_unsupported_plugin(self):
        description = self.plugin.describe()
        for change, text in [
            ({"abi": 2}, "version 2"),
            ({"capabilities": ["store.get", "store.patch"]}, "requires store.patch"),
        ]:
            with mock.patch.object(self.plugin, "describe", return_value=description | change):
                with self.assertRaisesRegex(ValueError, text):
                    self.start(echo)
