"""A plugin that validates all of its messages against the ABI's JSON Schema."""

import json

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from plugin import ROOT, Plugin

SCHEMA = json.loads((ROOT / "abi/schema/messages.json").read_text(encoding="utf-8"))
OUTPUTS = {"describe": "description", "derive": "facts", "call": "step", "resume": "step"}


def check(name, text):
    """Raise a ValueError unless the text is valid under the schema of that name."""
    definition = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})
    error = best_match(definition.iter_errors(json.loads(text)))
    if error:
        raise ValueError(f"{name}{error.json_path[1:]}: {error.message}")


class CheckedPlugin(Plugin):
    def __init__(self):
        super().__init__()
        self.messages = []  # (name, text)

    def call(self, export, text, handler):
        def checked(namespace, request):
            self._check(f"{namespace}.request", request)
            op = json.loads(request)["op"]
            self._check(f"{namespace}.{op}.request", request)
            reply = handler(namespace, request)
            self._check(f"{namespace}.{op}.reply", reply)
            return reply

        if text:
            self._check(export, text)
        output = super().call(export, text, checked)
        self._check(OUTPUTS[export], output)
        return output

    def _check(self, name, text):
        self.messages.append((name, text))
        check(name, text)
