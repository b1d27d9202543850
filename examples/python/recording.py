"""A recorded conversation of a host with the plugin, and its replay."""

from dataclasses import dataclass

import exact
from source import elements, members


@dataclass
class Call:
    """A host call. The reply is text, so that the plugin gets it as it was recorded."""

    family: str
    request: object
    reply: str


@dataclass
class Exchange:
    """A step: its input is text, as in Call, and `place` is its JSON Pointer in the recording."""

    place: str
    export: str
    input: str
    calls: list[Call]
    output: object


@dataclass
class Recording:
    id: str
    exchanges: list[Exchange]


def loads(text):
    """The recordings of a file."""
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
    """Raise an exact.Difference at the first place where the plugin departs from the recording."""
    for exchange in recording.exchanges:
        _replay(plugin, exchange)


def _replay(plugin, exchange):
    made = 0

    def answer(family, request):
        nonlocal made
        place = f"{exchange.place}/calls/{made}"
        if made == len(exchange.calls):
            raise exact.Difference(place, exact.ABSENT, exact.loads(request))
        call = exchange.calls[made]
        exact.compare(call.family, family, f"{place}/family")
        exact.compare(call.request, exact.loads(request), f"{place}/request")
        made += 1
        return call.reply

    output = plugin.call(exchange.export, exchange.input, answer)
    if made < len(exchange.calls):
        missed = exchange.calls[made].request
        raise exact.Difference(f"{exchange.place}/calls/{made}", missed, exact.ABSENT)
    exact.compare(exchange.output, exact.loads(output), f"{exchange.place}/output")
