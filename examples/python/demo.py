"""Makes the calls of ../fixture.json in a host, and prints results, runs and deliveries."""

import asyncio
import json
import re
from pathlib import Path

from host import Host

FIXTURE = Path(__file__).resolve().parents[1] / "fixture.json"


def summarize(tool, result):
    """Summarize a tool's result in one line."""
    match tool:
        case "sessions_list":
            return ", ".join(f"{s['key']} ({s['kind']})" for s in result["sessions"])
        case "sessions_history":
            return ", ".join(f'{m["role"]} "{spoken(m["content"])}"' for m in result["messages"])
        case "sessions_send":
            return f"{result['status']}: {result.get('reply') or result.get('error')}"
        case "sessions_spawn":
            return f"{result['status']}: {result['childSessionKey']}"


def spoken(content):
    return content if isinstance(content, str) else content[0]["text"]


def first(text, end=r"[.\n]"):
    return re.split(end, text, maxsplit=1)[0]


def scripted(replies, events):
    """Return an agent that gives the listed replies in order."""
    replies = iter(replies)

    async def agent(run):
        reply = next(replies)
        await asyncio.sleep(reply.get("seconds", 0))
        said = first(reply["text"], r"\n")
        events.append(f"run in {run.session_key}: {first(run.message)} -> {said}")
        return reply["text"]

    return agent


async def main():
    fixture = json.loads(FIXTURE.read_text(encoding="utf-8"))
    events = []

    async def deliver(destination, text, id):
        if destination["allowed"]:
            where = f"{destination['target']['channel']} {destination['target']['to']}"
            events.append(f"delivered to {where}: " + text.replace("\n", " | "))
        else:
            events.append(f"not delivered: {destination['reason']}")

    agents = {id: scripted(replies, events) for id, replies in fixture["replies"].items()}
    host = Host(fixture["config"], fixture["sessions"], agents, deliver)
    for call in fixture["calls"]:
        answer = await host.call(call["tool"], call["args"], "agent:main:main")
        print(f"{call['tool']}: {summarize(call['tool'], answer['result'])}")
        await host.idle()
        for line in events:
            print(f"  {line}")
        events.clear()


if __name__ == "__main__":
    asyncio.run(main())
