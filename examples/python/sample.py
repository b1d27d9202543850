"""A call of sessions_list, and a store with one session."""

import exact

NOW = 1780000000000
SESSION = "agent:main:main"

_SESSION = {
    "key": SESSION,
    "agentId": "main",
    "kind": "other",
    "sessionId": "s1",
    "updatedAt": NOW,
}
_LIST = {"rows": [{"session": _SESSION}], "more": False}
_REPLY = exact.dumps({"ok": _LIST})

FUNCTIONS = {"store.list": lambda **_: _LIST}


def store(namespace, request):
    """Answer a host call with the same list, as text."""
    return _REPLY


def call(tool="sessions_list", **args):
    return {
        "abi": 1,
        "flowId": "f1",
        "step": 1,
        "callId": "c1",
        "now": NOW,
        "acceptedAt": NOW,
        "tool": tool,
        "args": args,
        "caller": {
            "sessionKey": SESSION,
            "agentId": "main",
            "sandboxed": False,
            "depth": 0,
            "hops": 0,
        },
        "config": {},
    }
