"""JSON whose numbers keep their value: integers are int, all others Decimal."""

import json
from decimal import Decimal
from itertools import zip_longest

ABSENT = object()


class Difference(Exception):
    """Two JSON values differ. `pointer` is the JSON Pointer of the first difference."""

    def __init__(self, pointer, expected, actual):
        super().__init__(f"{pointer}: expected {_text(expected)}, got {_text(actual)}")
        self.pointer = pointer


def _text(value):
    return "nothing" if value is ABSENT else dumps(value)


def _refuse(name):
    raise ValueError(f"{name} is not JSON")


DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)
loads = DECODER.decode


def dumps(value):
    """The inverse of loads. json.dumps does not support Decimal, and a float would round it."""
    match value:
        case dict():
            return "{" + ",".join(f"{dumps(k)}:{dumps(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ",".join(map(dumps, value)) + "]"
        case Decimal():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False, allow_nan=False)


def compare(expected, actual, pointer=""):
    """Raise a Difference unless both are equal: numbers by value, members in any order."""
    match expected, actual:
        case dict(), dict():
            for name in expected | actual:
                token = name.replace("~", "~0").replace("/", "~1")
                compare(expected.get(name, ABSENT), actual.get(name, ABSENT), f"{pointer}/{token}")
        case list(), list():
            for i, (e, a) in enumerate(zip_longest(expected, actual, fillvalue=ABSENT)):
                compare(e, a, f"{pointer}/{i}")
        case _:
            # In Python True == 1, in JSON not.
            if isinstance(expected, bool) != isinstance(actual, bool) or expected != actual:
                raise Difference(pointer, expected, actual)
