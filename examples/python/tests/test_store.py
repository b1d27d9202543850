import json
import unittest

from host import derive_request
from plugin import ROOT, Plugin, _snake
from store import Row, Store


def store(*sessions):
    made = Store()
    for i, session in enumerate(sessions):
        key = f"agent:main:{i}"
        session = {"key": key, "agentId": "main", "sessionId": "s", "updatedAt": i} | session
        made.rows[key] = Row(session, {"hidden": False, "kind": "other"})
    return made


class Cases(unittest.TestCase):
    """The cases of ../store.json, which are the same in every language."""

    @classmethod
    def setUpClass(cls):
        text = (ROOT / "examples/store.json").read_text(encoding="utf-8")
        cls.document = json.loads(text)
        plugin = Plugin()
        cls.store = Store()
        for row in cls.document["sessions"]:
            request = derive_request(row["session"], None, cls.document["config"])
            context = plugin.ask("derive", request, {})["result"]
            cls.store.rows[row["session"]["key"]] = Row(row["session"], context, row["messages"])

    def test_cases(self):
        self.assertTrue(self.document["cases"])
        for case in self.document["cases"]:
            with self.subTest(op=case["request"]["op"], name=case["name"]):
                self.assertEqual(self.reply(**case["request"]), self.expected(**case))

    def expected(self, name, request, **reply):
        return reply

    def reply(self, op, **request):
        """Return the keys and numbers of the store's reply."""
        members = {_snake(name): value for name, value in request.items()}
        reply = getattr(self.store, op)(**members)
        if "rows" in reply:
            rows = reply["rows"]
            reply["rows"] = [row["session"]["key"] for row in rows]
            if "messages" in request:
                reply["messages"] = [m for row in rows for m in row["messages"]]
        if "messages" in reply:
            reply["seqs"] = [m["seq"] for m in reply.pop("messages")]
        if "session" in reply:
            reply["session"] = reply["session"] and reply["session"]["key"]
        return reply


class List(unittest.TestCase):
    def listed(self, made, **request):
        rows = made.list(limit=10, **request)["rows"]
        return [row["session"]["updatedAt"] for row in rows]

    def test_scope(self):
        made = store({"agentId": "ops-1"}, {"spawnedBy": "agent:main:0"}, {})
        for scope, updated in [
            (None, [2, 1, 0]),
            ({}, []),
            ({"spawnedBy": ""}, []),
            ({"spawnedBy": "agent:main:0"}, [1]),
            ({"keys": ["agent:main:2"], "agents": ["ops-*"]}, [2, 0]),
            ({"agents": ["ops"]}, []),
            ({"agents": ["*"]}, [2, 1, 0]),
        ]:
            with self.subTest(scope=scope):
                self.assertEqual(self.listed(made, scope=scope), updated)

    def test_search(self):
        made = store({"label": "Straße"}, {"subject": "ΣΊΣΥΦΟΣ"}, {})
        for search, updated in [("", [2, 1, 0]), ("STRAẞE", [0]), ("ss", []), ("φος", [1])]:
            with self.subTest(search=search):
                self.assertEqual(self.listed(made, search=search), updated)

    def test_pages(self):
        made = store({}, {}, {"updatedAt": 1})
        first = made.list(limit=1)
        self.assertEqual(first["rows"][0]["session"]["key"], "agent:main:1")
        self.assertTrue(first["more"])
        after = {"updatedAt": 1, "key": "agent:main:1"}
        rest = made.list(limit=2, after=after)
        keys = [row["session"]["key"] for row in rest["rows"]]
        self.assertEqual((keys, rest["more"]), (["agent:main:2", "agent:main:0"], False))


class History(unittest.TestCase):
    def test_newest_first(self):
        made = store({})
        for role in ("user", "tool", "assistant", "user"):
            made.append("agent:main:0", role, "text")
        for request, seqs, more in [
            ({}, [4, 3, 2, 1], False),
            ({"exclude_roles": ["tool"], "skip": 1}, [3, 1], False),
            ({"before": 3, "limit": 1}, [2], True),
            ({"session_key": "agent:main:1"}, [], False),
        ]:
            with self.subTest(request=request):
                reply = made.history(**{"session_key": "agent:main:0", "limit": 10} | request)
                self.assertEqual([m["seq"] for m in reply["messages"]], seqs)
                self.assertEqual(reply["more"], more)
