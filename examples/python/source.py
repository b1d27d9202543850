"""The source text of parts of a JSON document.

The plugin counts the bytes of stored messages. A value that is serialized again can have another
length: 1e-07 or 1E-7, é or \\u00e9.
"""

import re

from exact import DECODER

_BETWEEN = re.compile(r"[ \t\r\n,:]*")


def members(text):
    """Return the source texts of an object's members, by name. The text must be valid JSON."""
    found = {}
    at = _next(text, text.index("{") + 1)
    while text[at] != "}":
        name, at = DECODER.raw_decode(text, at)
        start = _next(text, at)
        end = _end(text, start)
        found[name] = text[start:end]
        at = _next(text, end)
    return found


def elements(text):
    """Return the source texts of an array's elements. The text must be valid JSON."""
    found = []
    at = _next(text, text.index("[") + 1)
    while text[at] != "]":
        end = _end(text, at)
        found.append(text[at:end])
        at = _next(text, end)
    return found


def _next(text, at):
    return _BETWEEN.match(text, at).end()


def _end(text, start):
    return DECODER.raw_decode(text, start)[1]
