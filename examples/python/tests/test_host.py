import asyncio
import contextlib
import io
import json
import unittest
from unittest import mock

import demo
import host
from plugin import ParleyError
from tests.checked import CheckedPlugin, check

MAIN = "agent:main:main"
OPS = "agent:ops:main"


async def echo(run):
    return f"You said: {run.message}"


class Demo(unittest.IsolatedAsyncioTestCase):
    async def test_output_and_messages(self):
        plugin = CheckedPlugin()
        out = io.StringIO()
        with contextlib.redirect_stdout(out), mock.patch("host.Plugin", return_value=plugin):
            await demo.main()
        expected = demo.WORLD.with_name("demo.txt").read_text(encoding="utf-8")
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
        """One of each name with a member more is refused."""
        for name, text in dict(messages).items():
            with self.subTest(name=name):
                message = json.loads(text)
                with self.assertRaises(ValueError):
                    check(name, json.dumps({**message, "tampered": 1}))


class Host(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.plugin = CheckedPlugin()
        self.world = json.loads(demo.WORLD.read_text(encoding="utf-8"))

        self.delivered = []

    def start(self, ops, main=echo):
        async def deliver(place, text, id):
            self.delivered.append(text)

        agents = {"main": main, "ops": ops}
        sessions = self.world["sessions"]
        return host.Host(self.world["config"], sessions, agents, deliver, self.plugin)

    def send(self, host, message, **args):
        args = {"sessionKey": OPS, "message": message, **args}
        return host.call("sessions_send", args, MAIN)

    async def test_time_answers_a_run_that_waits(self):
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

    async def test_two_calls_at_once(self):
        at_work = 0

        async def agent(run):
            nonlocal at_work
            at_work += 1
            self.assertEqual(at_work, 1)
            await asyncio.sleep(0.01)
            at_work -= 1
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

    async def test_run_over_its_time(self):
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

    async def test_no_wait_in_a_circle(self):
        """The run in ops does not wait for one in main, behind the run that waits for it."""
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

    async def test_plugin_that_wants_more(self):
        description = self.plugin.describe()
        for change, text in [
            ({"abi": 2}, "version 2"),
            ({"capabilities": ["store.get", "store.patch"]}, "wants store.patch"),
        ]:
            with mock.patch.object(self.plugin, "describe", return_value=description | change):
                with self.assertRaisesRegex(ValueError, text):
                    self.start(echo)
