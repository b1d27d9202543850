"""A recorded ABI conversation between host and plugin, and its replay."""

from dataclasses import dataclass

import exact
from source import elements, members


@dataclass
class Call:
    """A host call. The reply is text, so that the plugin gets the recorded bytes."""

    family: str
    request: object
    reply: str


@dataclass
class Exchange:
    """A step. The input is text, as in Call; `pointer` is its JSON Pointer in the recording."""

    pointer: str
    export: str
    input: str
    calls: list[Call]
    output: object


@dataclass
class Recording:
    id: str
    exchanges: list[Exchange]


def loads(text):
    """Parse the recordings of a file."""
    return [_recording(t) for t in elements(text)]


def _recording(text):
    parts = members(text)
    exchanges = [_exchange(i, t) for i, t in enumerate(elements(parts["exchanges"]))]
    return Recording(exact.loads(parts["id"]), exchanges)


def _exchange(i, text):
    parts = members(text)
    return Exchange(
        f"/exchanges/{i}",
        exact.loads(parts["export"]),
        parts["input"],
        [_call(t) for t in elements(parts["calls"])],
        exact.loads(parts["output"]),
    )


def _call(text):
    parts = members(text)
    return Call(exact.loads(parts["family"]), exact.loads(parts["request"]), parts["reply"])


def replay(plugin, recording):
    """Raise an exact.Difference at the first deviation of the plugin from the recording."""
    for exchange in recording.exchanges:
        _replay(plugin, exchange)


def _replay(plugin, exchange):
    made = 0

    def answer(namespace, request):
        nonlocal made
        pointer = f"{exchange.pointer}/calls/{made}"
        if made == len(exchange.calls):
            raise exact.Difference(pointer, exact.ABSENT, exact.loads(request))
        call = exchange.calls[made]
        exact.compare(call.family, namespace, f"{pointer}/family")
        exact.compare(call.request, exact.loads(request), f"{pointer}/request")
        made += 1
        return call.reply

    output = plugin.call(exchange.export, exchange.input, answer)
    if made < len(exchange.calls):
        missed = exchange.calls[made].request
        raise exact.Difference(f"{exchange.pointer}/calls/{made}", missed, exact.ABSENT)
    exact.compare(exchange.output, exact.loads(output), f"{exchange.pointer}/output")
