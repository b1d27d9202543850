"""Makes the calls of ../world.json in a host, and prints what happened."""

import asyncio
import json
import re
from pathlib import Path

from host import Host

WORLD = Path(__file__).resolve().parents[1] / "world.json"


def brief(tool, result):
    """What of a tool's result is worth a line."""
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


def scripted(replies, happened):
    """An agent that says what is written down, one text after the other."""
    replies = iter(replies)

    async def agent(run):
        reply = next(replies)
        await asyncio.sleep(reply.get("seconds", 0))
        said = first(reply["text"], r"\n")
        happened.append(f"run in {run.session_key}: {first(run.message)} -> {said}")
        return reply["text"]

    return agent


async def main():
    world = json.loads(WORLD.read_text(encoding="utf-8"))
    happened = []

    async def deliver(place, text, id):
        if place["allowed"]:
            where = f"{place['target']['channel']} {place['target']['to']}"
            happened.append(f"delivered to {where}: " + text.replace("\n", " | "))
        else:
            happened.append(f"not delivered: {place['reason']}")

    agents = {id: scripted(replies, happened) for id, replies in world["replies"].items()}
    host = Host(world["config"], world["sessions"], agents, deliver)
    for call in world["calls"]:
        answer = await host.call(call["tool"], call["args"], "agent:main:main")
        print(f"{call['tool']}: {brief(call['tool'], answer['result'])}")
        await host.idle()
        for line in happened:
            print(f"  {line}")
        happened.clear()


if __name__ == "__main__":
    asyncio.run(main())
