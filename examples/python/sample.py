"""A call of sessions_list, and a store with one session in it."""

import exact

NOW = 1780000000000
SESSION = "agent:main:main"

_LIST = exact.dumps(
    {
        "ok": {
            "rows": [
                {
                    "session": {
                        "key": SESSION,
                        "agentId": "main",
                        "kind": "other",
                        "sessionId": "s1",
                        "updatedAt": NOW,
                    }
                }
            ],
            "more": False,
        }
    }
)


def store(family, request):
    return _LIST


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
